"""The API: ingest and read."""

from django.urls import URLPattern, path, re_path

from runs.api import comments, ingest, read, redaction, schema, search

app_name = "api"
_RUN = r"^v1/runs/(?P<run_id>[A-Za-z0-9._:-]{1,200})"
urlpatterns: list[URLPattern] = [
    path("schema", schema.SchemaView.as_view(), name="schema"),
    path("docs/", schema.DocsView.as_view(), name="docs"),
    path("v1/me", read.MeView.as_view(), name="me"),
    path("v1/runs", read.RunsView.as_view(), name="runs"),
    path("v1/search", search.SearchView.as_view(), name="search"),
    path("v1/redaction", redaction.RedactionView.as_view(), name="redaction"),
    path("v1/redaction/preview", redaction.PreviewView.as_view(), name="redaction-preview"),
    path("v1/effect-logs", ingest.LogsIn.as_view(), name="effect-logs"),
    re_path(rf"{_RUN}$", read.RunView.as_view(), name="run"),
    re_path(rf"{_RUN}/effects$", read.EffectsView.as_view(), name="effects"),
    re_path(rf"{_RUN}/effects/(?P<seq>[0-9]{{1,9}})$", read.EffectView.as_view(), name="effect"),
    re_path(
        rf"{_RUN}/effects/(?P<seq>[0-9]{{1,9}})/comments$",
        comments.CommentsView.as_view(),
        name="comments",
    ),
    re_path(rf"{_RUN}/finish$", ingest.FinishIn.as_view(), name="finish"),
    re_path(rf"{_RUN}/log$", read.LogView.as_view(), name="log"),
    re_path(rf"{_RUN}/export$", read.ExportView.as_view(), name="export"),
]
