"""How two runs beside each other are put on a page."""

from __future__ import annotations

from functools import cache
from html import escape

from django import template
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from replay.comparison import figures
from replay.comparison.differences import Difference
from replay.comparison.figures import Shift
from replay.templatetags.replay_tags import CLASS_TONES, figures_told
from replay.two_runs.kept import Compared, Row
from replay.two_runs.lines import Line
from replay.views.compare import Place
from runs.messages.loose import clean
from runs.steps.timeline import lane_of

register = template.Library()

_ONLY = {Difference.NOT_RECORDED: "only in B", Difference.NOT_ASKED: "only in A"}


@register.simple_tag
@cache
def difference_tag(name: str) -> str:
    """A class in the words of two runs; `` where there is none."""
    if not name:
        return mark_safe('<span class="tag warn">not classed</span>')
    difference = Difference(name)
    tone = CLASS_TONES.get(difference, "bad")
    return format_html(
        '<span class="tag {}">{}</span>', tone, _ONLY.get(difference, difference.label)
    )


@register.simple_tag(takes_context=True)
def compare_row(context: template.Context, line: Line) -> str:
    """One row. Written here: a page has hundreds, and templates are slow. What is no text of a log
    is a number or a name of ours, and needs no escaping."""
    row, shown = line.row, context.get("row")
    effect = line.a or line.b
    money, time = line_cost(line), line_time(line)
    whole = _ROW.format(
        row.place,
        ' aria-current="true"' if shown and shown.place == row.place else "",
        _base(context) + row.place,
        "—" if row.a is None else row.a,
        "—" if row.b is None else row.b,
        lane_of(effect.family) if effect else "custom",
        escape(clean(effect.name or effect.key)) if effect else "",
        escape(clean(row.summary or (effect.summary if effect else ""))),
        _asked(line),
        difference_tag(row.difference),
        money.tone,
        escape(money.by),
        time.tone,
        escape(time.by),
    )
    return mark_safe(whole)


def _base(context: template.Context) -> str:
    """The address of a row but for its name, for HTML."""
    if "row_base" not in context:
        narrowed = context["place"].query(at=None, show=None)
        context["row_base"] = escape(f"{narrowed}&at=")
    return str(context["row_base"])


def _asked(line: Line) -> str:
    """A model call that was asked otherwise; of others the class tells it."""
    if not line.row.asked or line.a is None or line.a.family != "completion":
        return ""
    return format_html(' <span class="muted">asked otherwise: {}</span>', clean(line.row.asked))


_ROW = (
    '<a class="row-div two" id="r{0}" data-row{1} href="?{2}"><span class="muted num">{3}</span>'
    '<span class="muted num">{4}</span><i class="dot f-{5}"></i><span class="ellipsis">{6}</span>'
    '<span class="ellipsis">{7}{8}</span><span>{9}</span>'
    '<span class="num {10}">{11}</span><span class="num {12}">{13}</span></a>'
)


def line_cost(line: Line) -> Shift:
    return figures.cost_shift(line.a.cost if line.a else None, line.b.cost if line.b else None)


def line_time(line: Line) -> Shift:
    return figures.time_shift(
        line.a.duration_ms if line.a else None, line.b.duration_ms if line.b else None
    )


def line_tokens(line: Line) -> Shift:
    sides = (line.a, line.b)
    a, b = ([one.input_tokens, one.output_tokens] if one else [None, None] for one in sides)
    before, after = (None if one == [None, None] else sum(n or 0 for n in one) for one in (a, b))
    return figures.token_shift(before, after, known=(None not in a, None not in b))


@register.simple_tag
def line_figures(line: Line) -> str:
    """What an effect took in each run."""
    told = (("Cost", line_cost(line)), ("Latency", line_time(line)), ("Tokens", line_tokens(line)))
    return figures_told(told)


@register.filter
def run_cost(both: Compared) -> Shift:
    known = both.a.cost_complete, both.b.cost_complete
    return figures.cost_shift(both.a.cost, both.b.cost, known=known)


@register.filter
def run_time(both: Compared) -> Shift:
    return figures.time_shift(both.a.duration_ms, both.b.duration_ms)


@register.filter
def run_tokens(both: Compared) -> Shift:
    known = both.a.tokens_complete, both.b.tokens_complete
    return figures.token_shift(both.a.total_tokens, both.b.total_tokens, known=known)


@register.filter
def at_row(row: Row, place: Place) -> str:
    """The query of the page with this row on show, whatever it was narrowed to."""
    return place.query(at=row.place, of=None, changed=None)
