"""Pages of runs: the list, one run, one effect, and what was recorded as files."""

from django.urls import URLPattern, URLResolver, include, path, register_converter
from django.urls.converters import IntConverter, StringConverter

from runs.views import (
    comments,
    effect_files,
    groups,
    imports,
    leaps,
    palette,
    patterns,
    run_export,
    run_growth,
    run_list,
    run_page,
    saved_views,
    search,
    selection,
)

app_name = "runs"


class RunIdConverter(StringConverter):
    """What ingest takes as a run's id; anything else is no address of ours."""

    regex = "[A-Za-z0-9._:-]{1,200}"


class SeqConverter(IntConverter):
    regex = "[0-9]{1,9}"


class DigestConverter(StringConverter):
    regex = "[0-9a-f]{64}"


register_converter(RunIdConverter, "run_id")
register_converter(DigestConverter, "digest")
register_converter(SeqConverter, "seq")

effect_urls = [
    path("", run_page.effect_detail, name="effect"),
    path("/raw", effect_files.raw, name="effect-raw"),
    path("/value", effect_files.value, name="effect-value"),
    path("/media", effect_files.media, name="effect-media"),
    path("/comments", comments.thread, name="comments"),
]

run_urls: list[URLPattern | URLResolver] = [
    path("", run_page.run_detail, name="detail"),
    path("/log", effect_files.log, name="log"),
    path("/envelope", run_export.envelope, name="envelope"),
    path("/offline", run_export.offline, name="offline"),
    path("/find", search.find_in, name="find"),
    path("/costliest", leaps.costliest, name="costliest"),
    path("/changed", leaps.changed_prompt, name="changed"),
    path("/steps", run_page.step_window, name="steps"),
    path("/steps/new", run_growth.growth, name="growth"),
    path("/effects/<seq:seq>", include(effect_urls)),
]

list_urls = [
    path("/list/news", run_list.news, name="news"),
    path("/list/rows", run_list.rows, name="rows"),
    path("/filters/<slug:field>", run_list.filter_values, name="values"),
    path("/costliest", leaps.costliest_of_all, name="costliest-of-all"),
    path("/views", saved_views.views, name="views"),
    path("/views/<int:view_id>", saved_views.view, name="view"),
    path("/selection/replay", selection.replay, name="selection-replay"),
    path("/selection/tags", selection.tags, name="selection-tags"),
    path("/selection/export", selection.export, name="selection-export"),
    path("/selection/deletion", selection.deletion, name="selection-deletion"),
    path("/selection/undo", selection.undo, name="selection-undo"),
    path("/comments/<int:comment_id>", comments.comment, name="comment"),
    path("/comments/<int:comment_id>/deletion", comments.deletion, name="comment-deletion"),
    path("/people", comments.people, name="people"),
    path("/mentions", comments.mentions, name="mentions"),
    path("/palette", palette.palette, name="palette"),
    path("/sessions", groups.sessions, name="sessions"),
    path("/session", groups.session, name="session"),
    path("/agents", groups.agents, name="agents"),
    path("/agent", groups.agent, name="agent"),
]

project_urls: list[URLPattern | URLResolver] = [
    path("/runs", run_list.run_list, name="list"),
    path("/runs/<run_id:run_id>", include(run_urls)),
    path("/search", search.search, name="search"),
    *list_urls,
    path("/attachments/<digest:digest>", effect_files.attachment, name="attachment"),
    path("/import", imports.import_logs, name="import"),
]

urlpatterns = [
    path("p/<slug:slug>", include(project_urls)),
    path("patterns", patterns.patterns, name="patterns"),
]
