"""How rows, figures and recorded values are put on a page."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from runs import display, timeline
from runs.messages import exact
from runs.messages.loose import clean

register = template.Library()

TEXT_SHOWN = 16_000
"""Characters of one text on a page; the rest is one click away, with its true size said."""
JSON_SHOWN = 120_000
"""Characters of the JSON tab, likewise."""
_TOKEN_TAGS = {"key": "b", "number": "i", "literal": "i", "string": "s"}

register.filter("duration", display.duration)
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
    """How long ago, with the exact instant on hover."""
    if moment is None:
        return display.UNKNOWN
    iso = moment.isoformat(timespec="milliseconds")
    shown = display.ago(moment, timezone.now())
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, iso, shown)


@register.filter
def cleaned(text: str) -> str:
    return clean(text)


@register.filter
def shorten(text: str) -> exact.Shown:
    return display.shorten(text, TEXT_SHOWN)


@register.filter
def pretty(value: object) -> exact.Shown:
    """A recorded value as indented JSON, exact to the digit."""
    shown = exact.pretty(value, TEXT_SHOWN)
    return exact.Shown(clean(shown.text), shown.size, shown.cut)


@register.filter
def unwrapped(text: str) -> object:
    """The object or list that a text holds as JSON, else None."""
    if text[:1] not in ("{", "[") or len(text) > 1_000_000:
        return None
    try:
        return exact.loads(text)
    except ValueError:
        return None


@register.simple_tag
def json_bytes(data: bytes) -> dict[str, Any]:
    """Recorded bytes as coloured JSON: `html`, and `cut` when that is only its start."""
    tokens, whole = exact.reindent(data, JSON_SHOWN)
    return {"html": mark_safe("".join(map(_token_html, tokens))), "cut": not whole}


def _token_html(token: exact.Token) -> str:
    tag = _TOKEN_TAGS.get(token.kind)
    # Thousands of tokens: html.escape is several times faster than format_html.
    text = escape(clean(token.text))
    return f"<{tag}>{text}</{tag}>" if tag else text


@register.filter
def percent(units: float) -> str:
    """Units of the tape as a share of its width."""
    return f"{units / timeline.WIDTH * 100:.3f}%"


@register.simple_tag
def indent(family: str, depth: int) -> int:
    return min(timeline.indent(family, depth), 5)


@register.simple_tag
def url_or_nothing(name: str, *args: object) -> str:
    """The address of a page another app may or may not have."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


@register.simple_tag(takes_context=True)
def rail(context: template.Context, label: str, name: str) -> str:
    """A link of the rail, where that page exists; marked when one is on it or below."""
    address = url_or_nothing(name, context["project"].slug)
    if not address:
        return ""
    here = context["request"].path
    current = here == address or here.startswith(f"{address}/")
    mark = mark_safe(' aria-current="page"') if current else ""
    return format_html('<a class="item" href="{}"{}>{}</a>', address, mark, label)


@register.simple_tag
def facts(*pairs: Any) -> SafeString:
    """`{% facts "Input" row.input_tokens "Output" … %}`: what is unknown is left out."""
    known = [(a, b) for a, b in zip(pairs[::2], pairs[1::2], strict=True) if b not in (None, "")]
    return format_html_join("", "<div><dt>{}</dt><dd>{}</dd></div>", known)
