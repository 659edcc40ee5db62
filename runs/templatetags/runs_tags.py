"""How rows, figures and recorded values are put on a page."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from html import escape
from typing import Any

from django import forms, template
from django.conf import settings
from django.forms import BoundField
from django.http import QueryDict
from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import mark_safe

from runs import display
from runs.addresses import address_of
from runs.lists.filters import RunListForm
from runs.lists.matching import COLUMNS
from runs.messages import exact, facts
from runs.messages.loose import clean
from runs.messages.media import content, sniff
from runs.messages.parts import Media
from runs.models import Run
from runs.steps import timeline

register = template.Library()

WHOLE = 2**31
TEXT_SHOWN = 16_000
"""Characters of one text on a page; the rest is one click away, with its true size said."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JSON_STRING = re.compile(r'("(?:[^"\\]|\\.)*"?)')

register.filter("duration", display.duration)
register.filter("instant", display.instant)
register.filter("bytesize", display.size)
register.filter("lane", timeline.lane_of)


@register.simple_tag
def tokens(count: int | None, complete: bool = True) -> str:
    return display.tokens(count, complete)


@register.simple_tag
def cost(dollars: Decimal | None, complete: bool = True) -> str:
    return display.cost(dollars, complete)


@register.simple_tag
def when(moment: datetime | None) -> str:
    """When it was, with the exact instant on hover; `times.js` says it in the reader's zone."""
    return display.UNKNOWN if moment is None else mark_safe(time_tag(moment, timezone.now()))


@register.simple_tag
def clock(moment: datetime) -> str:
    """A time that is a bound and no event: never said as how long ago."""
    iso, shown = moment.isoformat(timespec="milliseconds"), f"{moment:%Y-%m-%d %H:%M} UTC"
    shape = '<time datetime="{}" title="{}" data-clock>{}</time>'
    return format_html(shape, iso, display.instant(moment), shown)


def time_tag(moment: datetime, now: datetime) -> str:
    iso, exact = moment.isoformat(timespec="milliseconds"), display.instant(moment)
    shown = escape(display.ago(moment, now))
    return f'<time datetime="{iso}" title="{exact}">{shown}</time>'


@register.filter
def cleaned(text: str) -> str:
    return clean(text)


@register.filter
def breakable(name: str) -> str:
    """A name of several parts, which a narrow column breaks behind one of them, not within."""
    return mark_safe(_BETWEEN_PARTS.sub("<wbr>", escape(name)))


_BETWEEN_PARTS = re.compile(r"(?<=[:/_@=])(?=\w)|(?<=\.)(?=[^\W\d])")


@register.filter
def shorten(text: str, limit: int = TEXT_SHOWN) -> exact.Shown:
    return display.shorten(text, limit)


@register.filter
def isolated(text: str) -> str:
    """JSON as HTML, its strings isolated where one is written from right to left: without that,
    a line of JSON changes sides with its first letter, and a key its place with its value."""
    if not _RIGHT_TO_LEFT.search(text):
        return text
    pieces = (_isolated_piece(piece) for piece in _JSON_STRING.split(text))
    return mark_safe("".join(pieces))


def _isolated_piece(piece: str) -> str:
    shown = escape(piece)
    return f"<bdi>{shown}</bdi>" if piece.startswith('"') else shown


@register.filter
def unwrapped(text: str) -> object:
    """The object or list that a text holds as JSON, else None."""
    if text[:1] not in ("{", "[") or len(text) > 1_000_000:
        return None
    try:
        return exact.loads(text)
    except ValueError:
        return None


@register.filter
def group(count: int) -> str:
    return f"{count:,}"


@register.filter
def said(value: object) -> str:
    """A recorded scalar as text, any other value as JSON."""
    return "" if value is None else facts.say(value)


@register.simple_tag(takes_context=True)
def media_url(context: template.Context, part: Media) -> str:
    """The address of recorded media: its own, or until it has one, that of its place in a record.

    A reader's right to it is checked there.
    """
    effect, view = context["effect"], context.get("view")
    slug, run_id = effect.run.project.slug, effect.run.external_id
    if view is not None and (digest := view.attached.digest(part)):
        return address_of("runs:attachment", slug, digest)
    is_gone = view is not None and view.previous and context.get("mark") == "gone"
    seq = view.previous.seq if view is not None and is_gone else effect.seq
    address = address_of("runs:effect-media", slug, run_id, seq)
    return f"{address}?{urlencode({'at': part.pointer, 'of': context.get('of') or 'record'})}"


@register.simple_tag
def drawn(part: Media) -> str:
    """An image as an address that holds it; empty for what is not safe to draw."""
    data = content(part) if part.media == "image" else None
    kind = sniff(data) if data else None
    if data is None or kind is None or not kind.startswith("image/"):
        return ""
    return f"data:{kind};base64,{b64encode(data).decode()}"


@register.simple_tag
def url_or_nothing(name: str, *args: object) -> str:
    """The address of a page another app may or may not have."""
    try:
        return address_of(name, *args)
    except NoReverseMatch:
        return ""


@register.simple_tag(takes_context=True)
def rail(context: template.Context, label: str, name: str, *also: str) -> str:
    """A link of the rail, where that page exists; marked when one is on it or below, or on one of
    the pages it leads to (`also`)."""
    address = url_or_nothing(name, context["project"].slug)
    if not address:
        return ""
    here = context["request"].path
    names = (url_or_nothing(one, context["project"].slug) for one in also)
    led = (address, *filter(None, names))
    on = any(here == one or here.startswith(f"{one}/") for one in led)
    return _rail_item(label, address, on)


@lru_cache(1024)
def _rail_item(label: str, address: str, current: bool) -> str:
    mark = mark_safe(' aria-current="page"') if current else ""
    return format_html('<a class="item" href="{}"{}>{}</a>', address, mark, label)


@register.simple_tag(takes_context=True)
def tab(context: template.Context, side: str, name: str, chosen: str, *label: object) -> str:
    """One tab of a pane: the same address with another `req` or `tab`."""
    said = context["request"].GET.lists()
    params = {key: values for key, values in said if key not in ("all", "more")} | {side: [name]}
    mark = ' aria-current="true"' if name == chosen else ""
    address, text = escape(urlencode(params, doseq=True)), escape("".join(map(str, label)))
    return mark_safe(f'<a id="tab-{side}-{name}" href="?{address}"{mark}>{text}</a>')


@register.simple_tag
def run_status(run: Run) -> str:
    return mark_safe(status_tag(run, timezone.now()))


def status_tag(run: Run, now: datetime) -> str:
    stalled = ""
    if run.status == "running":
        silent_since = now - timedelta(seconds=settings.RUN_STALLED_AFTER_SECONDS)
        stalled = ", stalled" if run.updated_at < silent_since else ""
    tone = _RUN_TONES.get(run.status, "muted")
    return f'<span class="tag {tone}">{escape(run.status)}{stalled}</span>'


@register.simple_tag(takes_context=True)
def filter_field(context: template.Context, field: BoundField) -> str:
    """One control of a filter, with the values that runs here have offered where there are some."""
    form: Any = field.form
    slug, sent = context["project"].slug, tuple(form.sent(field.name))
    control = _control if sum(map(len, sent)) < _KEPT_CHARACTERS else _control.__wrapped__
    return control(slug, field.name, sent)


_KEPT_CHARACTERS = 200


@lru_cache(1024)
def _control(slug: str, name: str, sent: tuple[str, ...]) -> str:
    """Nineteen controls of a list mostly say the same as they did last time."""
    data = QueryDict(mutable=True)
    data.setlist(name, list(sent))
    field = RunListForm(data)[name]
    if name not in OFFERED:
        shape = '<label class="{}">{} {}</label>'
        kind = "row" if isinstance(field.field, forms.MultipleChoiceField) else "stack"
        return format_html(shape, kind, field.label, field.as_widget(attrs={"class": "field"}))
    address = address_of("runs:values", slug, name)
    values = f"values-{name}"
    control = field.as_widget(attrs={"class": "field", "list": values, "autocomplete": "off"})
    return format_html(_OFFERING, field.label, control, values, address)


OFFERED = {*COLUMNS, "model", "tool", "tag"}
_OFFERING = (
    '<label class="stack">{} {}</label><datalist id="{}" hx-get="{}" hx-swap="innerHTML"'
    ' hx-trigger="toggle from:closest details once"></datalist>'
)
_RUN_TONES = {"succeeded": "ok", "failed": "bad", "cancelled": "warn"}
