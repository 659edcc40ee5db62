"""The transport, the step list and the tape of a run.

Written here and not in templates: a page has hundreds of rows and marks, and templates are slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from runs import display
from runs.comments.threads import counts
from runs.messages.loose import clean, plural
from runs.steps import timeline
from runs.steps.stretch import Row

register = template.Library()

ROW_HEIGHT = 28
"""Pixels of a row of the step list; `--row` in tokens.css says the same."""


@register.filter
def percent(units: float) -> str:
    """Units of the tape as a share of its width."""
    return f"{units / timeline.WIDTH * 100:.3f}%"


@register.simple_tag(takes_context=True)
def way(context: template.Context, name: str, seq: int | None, what: str = "") -> str:
    """A button of the transport that leads to effect `seq`, or leads nowhere and says so."""
    key, label, icon, nowhere = _WAYS[name]
    text = label if not what else f"{label} {escape(clean(what))}"
    face = f'<span class="ellipsis">{text}</span> <kbd>{key}</kbd>'
    if icon:
        face = _ICON.format(static("icons.svg"), icon)
    css = "btn" if icon else "btn quiet"
    if seq is None:
        says = f'data-key="{key}" data-says="{nowhere}"'
        return mark_safe(f'<span class="{css}" aria-disabled="true" {says}>{face}</span>')
    to, says = f"?at={seq}{escape(context['state'].query)}", f'aria-label="{text}"'
    return mark_safe(
        f'<a class="{css}" id="way-{name}" href="{to}" data-key="{key}" {says}'
        f' title="{text} ({key})">{face}</a>'
    )


@register.simple_tag(takes_context=True)
def step_rows(context: template.Context, rows: Iterable[Row]) -> str:
    """Rows of the step list, the one of effect `at` marked, parents with a way to fold them."""
    state, at = context["state"], int(context.get("at") or 0)
    folded, parents = context["folded"] or {}, context["parents"]
    query = escape(state.query)
    rows = list(rows)
    said = counts(context["run"], rows[0].seq, rows[-1].seq) if rows else {}
    shown = []
    for row in rows:
        is_parent = row.seq in parents
        if is_parent:
            turned = escape(state.turned(row.seq).query)
            shown.append(_fold_html(row, at, folded.get(row.seq, 0), turned))
        remarks = _remarks(said.get(row.seq, 0))
        shown.append(_step_html(row, query, remarks, here=row.seq == at, is_parent=is_parent))
    return mark_safe("".join(shown))


def _fold_html(row: Row, at: int, hidden: int, turned: str) -> str:
    label = f"{'Show' if hidden else 'Fold'} what #{row.seq} made"
    shown, face = ("false", f"▸ {hidden:,}") if hidden else ("true", "▾")
    return _FOLD.format(
        seq=row.seq, at=at or row.seq, query=turned, shown=shown, label=label, face=face
    )


def _remarks(count: int) -> str:
    """The mark of a row that people have said something about."""
    told = plural(count, "comment")
    return f'<span class="remarks" title="{told}">✎{count:,}</span>' if count else ""


def _step_html(row: Row, query: str, remarks: str, *, here: bool, is_parent: bool) -> str:
    failed = row.status in ("error", "cancelled")
    name = clean(row.name or row.key)
    did = row.summary.removeprefix(f"{name} ")
    if failed and " → " in did:
        did = did.partition(" → ")[2]  # why it failed must be seen before what it was asked
    # Hundreds of rows: html.escape is several times faster than format_html.
    return _ROW.format(
        indent=min(timeline.indent(row.family, row.depth), 5),
        kind=(" err" if failed else "") + (" has" if is_parent else ""),
        here=' aria-current="true"' if here else "",
        seq=row.seq,
        query=query,
        lane=timeline.lane_of(row.family),
        whole=escape(row.summary),
        name=escape(name),
        did=escape(did),
        remarks=remarks,
        took="" if row.duration_ms is None else display.duration(row.duration_ms),
    )


@register.simple_tag(takes_context=True)
def waiting(context: template.Context, window: timeline.Window, address: str) -> str:
    """A window not loaded: the room its rows take, where they come from (`address`), and a way to
    them without scripts. A very long run has hundreds."""
    state = context["state"]
    return mark_safe(
        _WAITING.format(
            first=window.first,
            last=window.last,
            room=(window.rows - 1) * ROW_HEIGHT,
            address=escape(address),
            of_windows=escape(state.of_windows),
            query=escape(state.query),
        )
    )


@register.simple_tag
def tape_svg(tape: timeline.Tape) -> str:
    marks = "".join(map(_nest_html, tape.nests)) + "".join(map(_mark_html, tape.marks))
    gaps = "".join(_gap_html(gap, tape.height) for gap in tape.gaps)
    lack = "too few times" if tape.axis.has_times else "no times"
    basis = "by time" if tape.axis.by_time else f"by position, {lack} recorded"
    failed = sum(mark.failed for mark in tape.marks)
    label = f"The run {basis}, a lane for each of {', '.join(tape.lanes)}; {failed} marks failed"
    note = "" if tape.axis.by_time else format_html(_BY_POSITION, tape.height - 3, basis)
    shape = '<svg class="tape" role="img" aria-label="{}" width="100%" height="{}">{}</svg>'
    return format_html(shape, label, tape.height, mark_safe(gaps + marks + note))


def _mark_html(mark: timeline.Mark) -> str:
    failed = " err" if mark.failed else ""
    return (
        f'<rect class="f-{mark.lane}{failed}" data-seq="{mark.seq}" x="{percent(mark.x)}"'
        f' y="{mark.y:g}" width="{percent(mark.width)}" height="{mark.height}" rx="3"'
        f' data-fact="{escape(mark.fact)}"/>'
    )


def _nest_html(nest: timeline.Nest) -> str:
    x, width = percent(nest.x), percent(nest.width)
    return f'<rect class="nest" x="{x}" y="{2 * nest.depth - 1}" width="{width}" height="1.5"/>'


def _gap_html(gap: timeline.Gap, height: int) -> str:
    middle, width = percent(gap.x + timeline.GAP_WIDTH / 2), percent(timeline.GAP_WIDTH)
    label = timeline.elapsed(gap.ms, 1000)
    return (
        f'<rect class="gap" x="{percent(gap.x)}" y="0" width="{width}" height="{height}"/>'
        f'<text x="{middle}" y="{height - 3}" text-anchor="middle">{label}</text>'
    )


@register.simple_tag
def tape_ruler(tape: timeline.Tape) -> str:
    ticks = "".join(
        f'<text x="{percent(t.x)}" y="12" text-anchor="{_anchor(t.x)}">{escape(t.label)}</text>'
        for t in tape.ticks
    )
    return mark_safe(f'<svg class="ruler" aria-hidden="true">{ticks}</svg>')


def _anchor(x: float) -> str:
    return "start" if x < 1 else "end" if x > timeline.WIDTH - 20 else "middle"


_BY_POSITION = '<text x="99.5%" y="{}" text-anchor="end">{}</text>'
"""In the strip under the lanes, which only the labels of gaps use, and those need times."""
_WAYS = {
    "first": ("[", "First effect", "first", ""),
    "back": ("k", "Previous effect", "back", ""),
    "forward": ("j", "Next effect", "forward", ""),
    "last": ("]", "Last effect", "last", ""),
    "error": ("e", "Next error", "", "No error in this list"),
    "model": ("m", "Next model call", "", "No later model call"),
    "same": ("t", "Next", "", "No later call of this tool"),
}
"""Name → key, label, icon, what is said where it leads nowhere."""
_ICON = '<svg class="icon" width="12" height="12" aria-hidden="true"><use href="{}#{}"/></svg>'
_WAITING = (
    '<div class="window waiting" data-first="{first}" data-last="{last}"'
    ' hx-get="{address}?at={first}&amp;until={last}{of_windows}"'
    ' hx-trigger="intersect once, wanted once"'
    ' hx-target="this" hx-include="unset" hx-sync="this:drop">'
    '<a class="more" href="?at={first}{query}">{first} to {last}'
    '</a><svg class="spacer" width="1" height="{room}"></svg></div>'
)
_ROW = (
    '<a class="step in{indent}{kind}" id="s{seq}" href="?at={seq}{query}" title="{whole}"'
    " data-row{here}>"
    '<span class="n">{seq}</span><i class="dot f-{lane}"></i>'
    '<span class="t">{name}{remarks}<small>{did}</small></span><span class="d">{took}</span></a>'
)
_FOLD = (
    '<a class="fold-it" id="f{seq}" href="?at={at}{query}" aria-expanded="{shown}"'
    ' role="button" aria-label="{label}" title="{label} (← →)" hx-target="#list">{face}</a>'
)
