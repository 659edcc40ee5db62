"""Rows of the run list. Written here and not in a template: a page has fifty of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from html import escape
from urllib.parse import urlencode

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from runs import display
from runs.addresses import address_of
from runs.lists.filters import MORE_SHOWN, SHOWN, RunListForm
from runs.messages.loose import clean, plural
from runs.models import LabelKind, Run, RunLabel, heading_of
from runs.templatetags.runs_tags import status_tag, time_tag

register = template.Library()

_ROW = (
    '<tr data-row><td class="pick"><input type="checkbox" data-pick name="run" value="{id}"'
    ' aria-label="Select {short}"></td><td class="state">{status}</td>'
    '<td class="title"><a href="{address}">{title}</a>{below}</td>'
)
_CELLS = {
    "agent": '<td class="clip">{agent}{version}{replay}</td>',
    "environment": '<td class="muted clip roomier">{environment}</td>',
    "model": '<td class="muted clip roomy" title="{models}">{models}</td>',
    "effects": '<td class="num" data-of="effects">{effects}</td>',
    "duration": '<td class="num" data-of="duration">{took}</td>',
    "tokens": '<td class="num" data-of="tokens">{tokens}</td>',
    "cost": '<td class="num" data-of="cost">{cost}</td>',
    "started": '<td class="muted started">{started}</td>',
    "comments": '<td class="num">{comments}</td>',
    "session": '<td class="clip">{session}</td>',
    "user": '<td class="muted clip">{user}</td>',
    "tags": '<td class="clip">{tags}</td>',
}
_RUNNING = '<span class="muted">running</span>'
_RECEIVED = '<small title="The log does not say when it started">received</small> '
_DOUBTED = (
    '<small class="warn" title="The log says it started {}">clock in doubt, received</small> '
)
_REPLAY = ' <span class="tag muted">replay</span>'


@register.simple_tag
def received(stated: datetime | None = None) -> SafeString:
    """Said before a time that is when a run came in. `stated` is the start that the log has, which
    no clock that was set can have shown."""
    if stated is None:
        return mark_safe(_RECEIVED)
    return format_html(_DOUBTED, display.instant(stated))


@register.simple_tag
def run_rows(runs: Sequence[Run], slug: str, columns: tuple[str, ...] = tuple(SHOWN)) -> SafeString:
    """Runs (whole, or the columns `OF_A_ROW` of them) as table rows, each linked to its page."""
    shape, home, now = _shape(columns), address_of("runs:list", slug), timezone.now()
    tags = _tags(runs) if "tags" in columns else {}
    session = address_of("runs:session", slug) if "session" in columns else ""
    cells = (_cells(run, home, now) | _more(run, session, tags) for run in runs)
    return mark_safe("".join(map(shape.format_map, cells)))


@lru_cache(64)
def _shape(columns: tuple[str, ...]) -> str:
    return "".join((_ROW, *(_CELLS[name] for name in columns), "</tr>"))


def _tags(runs: Sequence[Run]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    labels = RunLabel.objects.filter(run__in=[run.id for run in runs], kind=LabelKind.TAG)
    for key, value in labels.order_by("pk").values_list("run_id", "value"):
        found.setdefault(key, []).append(value)
    return found


def _more(run: Run, session: str, tags: dict[int, list[str]]) -> dict[str, str]:
    """The cells of columns that are not there unless somebody wants them."""
    link = ""
    if session and run.session_id:
        address = f"{session}?{urlencode({'id': run.session_id})}"
        link = f'<a href="{escape(address)}">{escape(clean(run.session_id))}</a>'
    shown = "".join(
        f'<span class="tag muted">{escape(clean(tag))}</span> ' for tag in tags.get(run.id, ())
    )
    return {"session": link, "tags": shown, "user": escape(clean(run.end_user))}


def _cells(run: Run, home: str, now: datetime) -> dict[str, str]:
    title = clean(heading_of(run))
    return {
        "id": escape(run.external_id),
        "short": escape(_shortened(title)),
        "status": status_tag(run, now),
        "address": f"{home}/{escape(run.external_id)}",
        "title": escape(title),
        "below": _below(run),
        "agent": _told(run.agent),
        "version": _version(run),
        "replay": _REPLAY if run.is_replay else "",
        "environment": _told(run.environment),
        "models": _told(run.models_used),
        "effects": f"{run.effect_count:,}",
        "took": _took(run),
        "tokens": escape(display.tokens(run.total_tokens, run.tokens_complete)),
        "cost": escape(display.cost(run.cost, run.cost_complete)),
        "started": _started(run, now),
        "comments": f"{run.comment_count:,}" if run.comment_count else "",
    }


@lru_cache(4096)
def _told(text: str) -> str:
    """What many rows say alike."""
    return escape(clean(text))


def _shortened(title: str) -> str:
    if len(title) <= 60:
        return title
    return f"{title[:59]}…" if _EACH_A_LETTER.fullmatch(title) else Truncator(title).chars(60)


_EACH_A_LETTER = re.compile("[\0-\u02ff\u2010-\u20cf\u4e00-\u9fff]*")
"""Characters none of which stands on the one before it: for them a slice does what Django does."""


def _started(run: Run, now: datetime) -> str:
    """When it started; when it came in, and said so, where the log has no time to be believed."""
    told = time_tag(run.sort_at, now)
    return told if run.started_at == run.sort_at else f"{received(run.started_at)}{told}"


def _took(run: Run) -> str:
    return _RUNNING if run.status == "running" else escape(display.duration(run.duration_ms))


@register.simple_tag
def heading(form: RunListForm, name: str) -> str:
    """The head of a column: a link that sorts by it, or turns the order around, where one can."""
    label = (SHOWN | MORE_SHOWN)[name]
    css = {"environment": "roomier", "model": "roomy", "comments": "num"}.get(name, "")
    if name in FIGURES or name == "started":
        least, most = name, None if name == "started" else f"-{name}"
        sort = form.values.get("sort")
        now = {least: "ascending", most: "descending"}.get(sort, "")
        mark = {"ascending": " ↑", "descending": " ↓"}.get(now, "")
        query = form.query(sort=least if now == "descending" else most)
        shape = '<th class="{}"{}><a href="?{}" title="{}">{}{}</a></th>'
        state = mark_safe(f' aria-sort="{now}"') if now else ""
        css = "num" if name in FIGURES else ""
        told = "Turn the order around" if now else f"Sort by {label.lower()}"
        return format_html(shape, css, state, query or "view=all", told, label, mark)
    return format_html('<th class="{}">{}</th>', css, label)


FIGURES = ("effects", "duration", "tokens", "cost")


def _below(run: Run) -> str:
    """What stands under the title: why it failed, what waits for review, and comments."""
    said = _trouble(run)
    if run.to_review:
        said += f'<small class="warn">{plural(run.to_review, "divergence")} to review</small>'
    if run.comment_count:
        said += f'<small class="muted">{plural(run.comment_count, "comment")}</small>'
    return said


def _trouble(run: Run) -> str:
    if run.error_text:
        place = f" at #{run.error_seq}" if run.error_seq else ""
        return f'<small class="bad">{escape(clean(run.error_text))}{place}</small>'
    if run.error_count:
        return f'<small class="bad">{plural(run.error_count, "failed effect")}</small>'
    return ""


def _version(run: Run) -> str:
    version = _told(run.agent_version)
    return f' <span class="muted">v{version}</span>' if version else ""
