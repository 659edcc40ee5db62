"""How replays are put on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import mark_safe

from replay.comparison import figures
from replay.comparison.differences import Difference
from replay.comparison.figures import Shift
from replay.comparison.sides import Block, Piece
from replay.models import Answered, Replay, ReplayEffect, ReplayMode, ReplaySample
from replay.review.clusters import general
from replay.waiting import asked_again
from runs import display
from runs.messages.loose import clean
from runs.steps.timeline import lane_of

register = template.Library()


@register.simple_tag(takes_context=True)
def wrong_at(context: template.Context, control: str) -> str:
    """What is wrong with a control of a form, to stand beside it; by itself (`oob`) it takes the
    place of the one on the page."""
    told = ticked(" ".join(context["wrong"].get(control, ())))
    swap = mark_safe(' hx-swap-oob="true"') if context.get("oob") else ""
    return format_html('<div class="wrong" id="wrong-{}"{}>{}</div>', control, swap, told)


@register.filter
def ticked(message: str) -> str:
    """A message of the API on a page: what stands in `ticks` is code."""
    return mark_safe(_TICKED.sub(r"<code>\1</code>", escape(clean(message))))


_TICKED = re.compile(r"`([^`]+)`")


_STATUS_TONES = {"succeeded": "ok", "failed": "bad", "partial": "warn", "cancelled": "warn"}
CLASS_TONES = {
    Difference.SAME: "ok",
    Difference.EQUIVALENT: "ok",
    Difference.WORDING: "muted",
    Difference.FACTS: "warn",
    Difference.ARGUMENTS: "warn",
}
_PROVEN_TONES = {"proven": "ok", "explained": "warn", "contradicted": "bad", "broken": "bad"}
_STATES = {"in_flight": "in flight", "interrupted": "interrupted"}


@register.simple_tag
def replay_status(replay: Replay) -> str:
    tone = _STATUS_TONES.get(replay.status, "muted")
    return format_html('<span class="tag {}">{}</span>', tone, replay.status)


@register.simple_tag
def class_tag(row: ReplayEffect | ReplaySample, is_over: bool = False) -> str:
    """The class of a row; where there is none yet, how far its call is, or was when the replay was
    over."""
    if isinstance(row, ReplaySample):
        return difference_tag(row.difference)
    if row.proven and row.difference == Difference.SAME:
        return format_html(
            '<span class="tag {}">{}</span>', _PROVEN_TONES.get(row.proven, "muted"), row.proven
        )
    if not row.difference:
        tone = "warn" if row.state == "interrupted" else "muted"
        told = _STATES.get(row.state) or _waits(row, is_over)
        return format_html('<span class="tag {}">{}</span>', tone, told)
    return difference_tag(row.difference)


def _waits(row: ReplayEffect, is_over: bool) -> str:
    if is_over:
        return "no answer" if row.calls else "not asked"
    return asked_again(row) or ("waits to be asked again" if row.calls else "waits")


def difference_tag(name: str) -> str:
    difference = Difference(name)
    tone = CLASS_TONES.get(difference, "bad")
    return format_html('<span class="tag {}">{}</span>', tone, difference.label)


@register.filter
def ended(said: str) -> str:
    """A provider's words as a sentence that another may follow."""
    bare = said.rstrip()
    return bare if bare.endswith((".", "!", "?", "…", "。")) else f"{bare}."


@register.filter
def spread_told(row: ReplayEffect) -> str:
    """`4 same, 1 facts`: the classes of a row's samples, from mild to severe."""
    counts = [(name, row.spread.get(name)) for name in Difference]
    return ", ".join(f"{count} {name.label}" for name, count in counts if count)


@register.simple_tag(takes_context=True)
def replay_row(context: template.Context, row: ReplayEffect) -> str:
    """One row. Written here: a page has hundreds, and templates are slow."""
    replay, selected, effect = context["replay"], context.get("row"), row.effect
    here = selected is not None and row.seq == selected.seq
    money, time = row_cost(row), row_latency(row)
    return format_html(
        _ROW,
        row.seq,
        mark_safe(' aria-current="true"') if here else "",
        _address(context, replay, row),
        lane_of(effect.family) if effect else "custom",
        clean(effect.name or effect.key) if effect else "",
        _says(row),
        format_html(_INTERRUPTED, row.interruptions) if row.interruptions else "",
        class_tag(row, replay.is_final),
        money.tone,
        money.by,
        time.tone,
        time.by,
    )


def _says(row: ReplayEffect) -> str:
    told = clean(row.summary or row.error_text)
    if not row.spread:
        return told
    return f"{told} · of {sum(row.spread.values())} samples {spread_told(row)}"


def _address(context: template.Context, replay: Replay, row: ReplayEffect) -> str:
    """The row's pair of answers; of a reconstruction, which has one side, the effect in its run."""
    if replay.mode != ReplayMode.RECONSTRUCT:
        return f"?at={row.seq}{context['place'].narrowed}"
    if "run_address" not in context:
        names = [replay.project.slug, replay.run.external_id]
        context["run_address"] = reverse("runs:detail", args=names)
    return f"{context['run_address']}?at={row.seq}"


@register.simple_tag(takes_context=True)
def ignore_link(context: template.Context, path: str) -> str:
    """The way to a rule about a place that changed: in any call, at any place of a list."""
    page = reverse("replay:ignore-rules", args=[context["project"].slug])
    return f"{page}?{urlencode({'path': general(path)})}"


_ROW = (
    '<a class="row-div" id="r{0}" data-row{1} href="{2}"><span class="muted num">{0}</span>'
    '<i class="dot f-{3}"></i><span class="ellipsis">{4}</span>'
    '<span class="ellipsis">{5}{6}</span><span>{7}</span>'
    '<span class="num {8}">{9}</span><span class="num {10}">{11}</span></a>'
)
_INTERRUPTED = ' <span class="warn">was interrupted {}×</span>'


@register.filter
def yes_no(value: bool | None) -> str:
    return "—" if value is None else "yes" if value else "no"


@register.filter
def tone_of(value: bool | None) -> str:
    return "muted" if value is None else "ok" if value else "bad"


@register.filter
def cost_of(replay: Replay) -> Shift:
    known = (replay.original_cost_complete, replay.cost_complete)
    return figures.cost_shift(replay.original_cost, replay.cost, known=known)


@register.filter
def latency_of(replay: Replay) -> Shift:
    return figures.time_shift(replay.original_latency_ms, replay.latency_ms)


@register.filter
def tokens_of(replay: Replay) -> Shift:
    before = _sum(replay.original_input_tokens, replay.original_output_tokens)
    after = _sum(replay.input_tokens, replay.output_tokens)
    known = (replay.original_tokens_complete, replay.tokens_complete)
    return figures.token_shift(before, after, known=known)


def _sum(asked: int | None, said: int | None) -> int | None:
    return None if asked is None and said is None else (asked or 0) + (said or 0)


def row_cost(row: ReplayEffect, came: Answered | None = None) -> Shift:
    """What it costs of what it did; a row of several samples is held against as many recordings."""
    before = row.effect.cost if row.effect else None
    times = _times(row, came)
    return figures.cost_shift(None if before is None else before * times, (came or row).cost)


def row_latency(row: ReplayEffect, came: Answered | None = None) -> Shift:
    before = row.effect.duration_ms if row.effect else None
    return figures.time_shift(before, (came or row).latency_ms)


def row_tokens(row: ReplayEffect, came: Answered | None = None) -> Shift:
    sides = ([one.input_tokens, one.output_tokens] for one in (row.effect, came or row) if one)
    before, after = sides if row.effect else ([None, None], next(sides))
    old = _sum(*before)
    known = (None not in before, None not in after)
    old = None if old is None else old * _times(row, came)
    return figures.token_shift(old, _sum(*after), known=known)


def _times(row: ReplayEffect, came: Answered | None) -> int:
    """How many answers a row's sums are of: of one sample it is one."""
    return sum(row.spread.values()) if row.spread and came in (None, row) else 1


@register.simple_tag
def pair_figures(row: ReplayEffect, came: Answered) -> str:
    """What an answer took beside the recorded one, also where a baseline stands beside it."""
    times, sides = _times(row, came), ", recorded → replayed" if came.baseline_id else ""
    sums = f" of {times} samples, recorded × {times} → replayed" if times > 1 else sides
    told = (
        (f"Cost{sums}", row_cost(row, came)),
        (f"Latency{sides}", row_latency(row, came)),
        (f"Tokens{sums}", row_tokens(row, came)),
    )
    return figures_told(told)


def figures_told(told: Iterable[tuple[str, Shift]]) -> str:
    """Figures beside each other, those of which neither side is known left out."""
    known = ((name, shift(change)) for name, change in told if _is_known(change))
    items = format_html_join("", "<div><dt>{}</dt><dd>{}</dd></div>", known)
    if not items:
        return ""
    return format_html('<dl class="facts figures" aria-label="What it took">{}</dl>', items)


def _is_known(change: Shift) -> bool:
    return (change.before, change.after) != (display.UNKNOWN, display.UNKNOWN)


@register.simple_tag
def shift(change: Shift) -> str:
    """`before → after` and by how much, in absolute and percent."""
    by = f"{change.by} ({change.percent})" if change.percent else change.by
    small = format_html(' <small class="{}">{}</small>', change.tone, by) if by else ""
    return format_html("{} → {}{}", change.before, change.after, small)


@register.simple_tag
def short_shift(change: Shift) -> str:
    """`before → after` and by how much in percent, the absolute behind it: for lists."""
    small = format_html(' <small class="{}" title="{}">{}</small>', change.tone, change.by,
                        change.percent or change.by) if change.by else ""  # fmt: skip
    return format_html("{} → {}{}", change.before, change.after, small)


@register.simple_tag
def pieces(block: Block) -> str:
    """A block's body with what left and what came marked."""
    return format_html_join("", "{}", ([_piece(piece)] for piece in block.body))


@register.simple_tag
def change(pieces: Sequence[Piece]) -> str:
    """A text with what left and what came in it; nothing where nothing is changed."""
    if not pieces:
        return ""
    inside = format_html_join("", "{}", ([_piece(piece)] for piece in pieces))
    return format_html('<div class="reworded" dir="auto">{}</div>', inside)


@register.simple_tag
def title(block: Block) -> str:
    return format_html_join("", "{}", ([_piece(piece)] for piece in block.title))


def _piece(piece: Piece) -> str:
    if not piece.mark:
        return escape(piece.text)
    return format_html("<{0}>{1}</{0}>", piece.mark, piece.text)


@register.filter
def plainly(value: object) -> str:
    """A recorded value as a person reads it: texts in quotes, nothing as an em dash."""
    if value is None:
        return "nothing"
    return f"“{clean(value)}”" if isinstance(value, str) else str(value)


@register.filter
def seqs(numbers: list[int]) -> str:
    """`#2 to #4, #9`: positions with neighbours drawn together."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    told = [f"#{a}" if a == b else f"#{a} to #{b}" for a, b in spans[:12]]
    return ", ".join(told) + (f" and {len(spans) - 12} more" if len(spans) > 12 else "")
