"""How experiments are put on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe

from replay.comparison import figures
from replay.comparison.differences import Difference
from replay.comparison.figures import Shift
from replay.experiments.gate import Check
from replay.experiments.models import Cell
from replay.experiments.summary import Column
from replay.templatetags.replay_tags import CLASS_TONES
from runs import display
from runs.messages.loose import clean

register = template.Library()

_WAITING = {"queued": "waits", "running": "runs", "cancelling": "is stopped"}


@register.simple_tag
def outcome_bar(column: Column) -> str:
    """A candidate's calls by class, from mild to severe; what has no class yet is left free. Each
    class has a mark beside its colour, other than its neighbours'."""
    total, at, parts = column.calls or 1, 0.0, []
    for difference in Difference:
        calls = column.classes[difference]
        share = calls * 100 / total
        if share:
            said = f"{calls:,} {difference.label}"
            parts.append((difference, f"{at:.3f}", f"{share:.3f}", f"{at + share:.3f}", said))
            at += share
    shape = (
        '<rect class="c-{0}" x="{1}%" width="{2}%" height="8"><title>{4}</title></rect>'
        '<line class="m-{0}" x1="{1}%" x2="{3}%" y1="4" y2="4"/>'
    )
    return format_html(
        '<svg class="meter classes" width="100%" height="8" role="img" aria-label="{}">{}</svg>',
        told(column),
        format_html_join("", shape, parts),
    )


@register.simple_tag
def outcome_legend(columns: Sequence[Column]) -> str:
    """The classes in these candidates' bars, in the order they stand there."""
    there = [one for one in Difference if any(column.classes[one] for column in columns)]
    key = (
        '<li><svg class="meter classes" width="8" height="8" aria-hidden="true">'
        '<rect class="c-{0}" width="8" height="8"/>'
        '<line class="m-{0}" x2="8" y1="4" y2="4"/></svg>{1}</li>'
    )
    return format_html_join("", key, ((one, one.label) for one in there))


@register.simple_tag
def status_tone(status: str) -> str:
    return {"succeeded": "ok", "failed": "bad", "running": "muted"}.get(status, "warn")


@register.filter
def told(column: Column) -> str:
    """`12 same, 3 wording, 1 error, of 20`."""
    some = [f"{n:,} {Difference(name).label}" for name, n in column.classes.items() if n]
    return f"{', '.join(some) or 'nothing yet'}, of {column.calls:,}"


def tone(difference: Difference) -> str:
    return CLASS_TONES.get(difference, "bad")


@register.filter
def share(value: float | None) -> str:
    """`61 %`; between all and nothing it is neither."""
    if value is None:
        return display.UNKNOWN
    percent = value * 100
    whole = round(percent)
    if 0 < percent < 100:
        whole = min(max(whole, 1), 99)
    return f"{whole} %"


@register.filter
def column_cost(column: Column) -> Shift:
    sums, known = column.sums, column.complete
    return figures.cost_shift(
        sums.get("original_cost"),
        sums.get("cost"),
        known=(known.get("original_cost", False), known.get("cost", False)),
    )


@register.filter
def column_p50(column: Column) -> Shift:
    return _latency(column, column.original_latency.p50, column.latency.p50)


@register.filter
def column_p95(column: Column) -> Shift:
    return _latency(column, column.original_latency.p95, column.latency.p95)


def _latency(column: Column, before: float | None, after: float | None) -> Shift:
    """Held against each other only where they are of as many calls."""
    recorded, calls = column.original_latency.calls, column.latency.calls
    if recorded == calls:
        return figures.time_shift(before, after)
    some = f"{display.duration(before)} ({recorded:,} of {calls:,} calls have a recorded latency)"
    return Shift(some if recorded else display.UNKNOWN, display.duration(after))


@register.filter
def column_tokens(column: Column) -> str:
    asked, said = column.sums.get("input_tokens"), column.sums.get("output_tokens")
    total = None if asked is None and said is None else (asked or 0) + (said or 0)
    return display.tokens(total, column.complete.get("tokens", False))


@register.filter
def of_candidate(checks: dict[int, list[Check]], column: Column) -> list[Check]:
    return checks.get(column.candidate.pk, [])


_CHECKS = {"min_same": ("same", "<", "≥"), "max_cost_ratio": ("cost", ">", "≤")}
"""A check → what it is of, and how the value stands to the limit: failed, passed."""
_NAMED = {"finished": "not finished", "answers": "no answers"}


@register.simple_tag
def check_said(check: Check, is_finished: bool) -> str:
    """`same 61 % < 90 %`; only what is asked for while the answer is not out."""
    if check.check == "no_errors":
        return f"{check.value or 'no'} error{'' if check.value == 1 else 's'}"
    if check.check == "runs":
        return f"{check.value} of {check.limit} runs"
    if check.check not in _CHECKS:
        return _NAMED.get(check.check, check.check)
    name, failed, passed = _CHECKS[check.check]
    value, limit = check.value, check.limit
    asked = f"{limit * 100:.6g} %"
    if not is_finished:
        return f"{name} {passed} {asked}"
    if value is None:
        return f"{name} unknown ({passed} {asked})"
    holds = value >= limit if name == "same" else value <= limit
    return f"{name} {_beside(value, limit)} {passed if holds else failed} {asked}"


def _beside(value: float, limit: float) -> str:
    """In percent, with as many digits as it takes to stand on its side of the limit, and to be all
    or nothing only where it is."""
    for digits in range(7):
        said = f"{value * 100:.{digits}f}"
        if all(
            ((value > one), (value < one)) == ((float(said) > one * 100), (float(said) < one * 100))
            for one in (0, limit, 1)
        ):
            break
    return f"{said} %"


@register.simple_tag
def after(change: Shift) -> str:
    """What it is now, and by how much that is another than what was recorded."""
    text = change.percent or change.by
    if not text and change.before != display.UNKNOWN:
        return format_html('<span title="recorded {}">{}</span>', change.before, change.after)
    if not text:
        return change.after
    told = f"{change.by}, recorded {change.before}"
    small = format_html('<small class="{}" title="{}">{}</small>', change.tone, told, text)
    return format_html("{} {}", change.after, small)


@register.simple_tag(takes_context=True)
def matrix_cell(context: template.Context, cell: Cell | None) -> str:
    """One cell. Written here: a page has hundreds, and templates are slow."""
    if cell is None:
        return mark_safe('<td class="cell muted" data-cell>—</td>')
    replay = cell.replay
    address = reverse("replay:detail", args=[context["project"].slug, replay.public_id])
    said = _class(cell), _figures(cell)
    return format_html('<td class="cell" data-cell><a href="{}">{}{}</a></td>', address, *said)


def _class(cell: Cell) -> str:
    if not cell.ended:
        status = cell.replay.status
        far = f" {cell.replay.done:,} of {cell.total:,}" if cell.replay.done else ""
        return format_html('<span class="tag muted">{}{}</span>', _WAITING.get(status, status), far)
    end = ""
    if cell.ended != "succeeded":
        look = "bad" if cell.ended == "failed" else "warn"
        why = clean(cell.replay.error_text)
        end = format_html(' <span class="tag {}" title="{}">{}</span>', look, why, cell.ended)
    if cell.difference is None or (cell.ended == "failed" and not cell.changed):
        return end
    found = cell.difference
    return format_html('<span class="tag {}">{}</span>{}', tone(found), found.label, end)


def _figures(cell: Cell) -> str:
    if cell.difference is None:
        return ""
    known = (cell.original_cost_complete, cell.cost_complete)
    money = figures.cost_shift(cell.original_cost, cell.cost, known=known)
    time = figures.time_shift(cell.original_latency_ms, cell.latency_ms)
    parts: list[tuple[Any, Any]] = []
    if cell.changed:
        parts.append(("", f"{cell.changed:,} of {cell.total:,}"))
    parts += [(shift.tone, shift.by) for shift in (money, time) if shift.by]
    return format_html(
        "<small>{}</small>", format_html_join(" ", '<span class="{}">{}</span>', parts)
    )
