"""Messages, their parts, documents' parts and facts on a page.

Written here and not in templates: a page has hundreds of them, and templates are slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from runs.messages.loose import clean
from runs.messages.parts import (
    Call,
    Data,
    Fact,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
)
from runs.messages.turns import opened
from runs.templatetags.message_tags import (
    more_of,
    portion,
    recorded_text,
    recorded_value,
    value_address,
)

register = template.Library()

FACTS, CITATIONS = 200, 200
"""So many are on a page; the rest is under JSON."""


@register.simple_tag(takes_context=True)
def messages_of(
    context: template.Context, messages: Sequence[Message], name: str, mark: str = ""
) -> SafeString:
    """The messages of a list that are on this page, and the way to its others."""
    shown = portion(context, messages, name)
    others = more_of(context, shown, "messages")
    said = "".join(message_of(context, message, mark) for message in shown.items)
    return mark_safe(f"{others}{said}{others}")


@register.simple_tag(takes_context=True)
def message_of(context: template.Context, message: Message, mark: str = "") -> SafeString:
    """One message. `mark` says what it is beside another request: `new` or `gone`."""
    name = f' <span class="muted">{escape(clean(message.name))}</span>' if message.name else ""
    heading = escape(clean(message.heading))
    with context.push(mark=mark):
        parts = parts_of(context, message.parts, message.pointer, "no content")
    head = f'<div class="role">{heading}{name}</div>'
    return mark_safe(f'<div class="msg {mark}">{head}{parts}</div>\n')


@register.simple_tag(takes_context=True)
def parts_of(
    context: template.Context, parts: Sequence[Any], name: str, empty: str = ""
) -> SafeString:
    """The parts of a list that are on this page, and the way to its others. A part may come with
    the position of the effect that served it."""
    shown = portion(context, parts, name)
    others = more_of(context, shown, "parts")
    served = (one if isinstance(one, tuple) else (one, None) for one in shown.items)
    said = "".join(part_of(context, part, seq) for part, seq in served)
    if not said and empty:
        said = f'<span class="muted">{empty}</span>'
    return mark_safe(f"{others}{said}{others}")


@register.simple_tag
def facts_of(facts: Sequence[Fact]) -> SafeString:
    """Facts as entries of a list of them."""
    shown = [_fact(escape(fact.label), clean(fact.value)) for fact in facts[:FACTS]]
    if len(facts) > FACTS:
        more = f"{len(facts) - FACTS:,} more, under JSON"
        shown.append(f'<div class="full"><dt>and more</dt><dd>{more}</dd></div>')
    return mark_safe("".join(shown))


def _fact(label: str, value: str) -> str:
    width = ' class="full"' if len(value) > 28 else ' class="wide"' if len(value) > 14 else ""
    return f"<div{width}><dt>{label}</dt><dd>{escape(value)}</dd></div>"


# --- Parts, by kind ------------------------------------------------------------------------------


@register.simple_tag(takes_context=True)
def part_of(context: template.Context, part: Part, served: int | None = None) -> SafeString:
    """One part; a call with the way to the effect that served it."""
    if isinstance(part, Call):
        return mark_safe(f"{_call(context, part, served)}\n")
    return mark_safe(f"{_SHOWN[part.kind](context, part)}\n")


def _text(context: template.Context, part: Text) -> str:
    label = f'<span class="label">{escape(part.label)}</span>' if part.label else ""
    inner = opened(part.text)
    if not part.text and not part.pointer:  # nothing was recorded, and the label says so
        return label
    if inner is None:
        return f"{label}{recorded_text(context, part.text, part.pointer)}{_citations(part)}"
    told = _LABEL.format(f"JSON in a text, opened{_as_it_came(context, part, 'as it came')}")
    return f"{label}{recorded_value(context, inner, part.pointer)}{told}{_citations(part)}"


def _as_it_came(context: template.Context, part: Part, words: str) -> str:
    if context.get("offline"):
        return ""
    address = escape(value_address(context, part.pointer))
    return f' · <a class="more-link" hx-boost="false" href="{address}">{words}</a>'


def _citations(part: Text) -> str:
    if not part.citations:
        return ""
    shown = "".join(f"<li>{escape(clean(cite))}</li>" for cite in part.citations[:CITATIONS])
    if len(part.citations) > CITATIONS:
        more = f"{len(part.citations) - CITATIONS:,}"
        shown += f'<li class="muted">and {more} more, under JSON</li>'
    return f'<ol class="cites">{shown}</ol>'


def _reasoning(context: template.Context, part: Reasoning) -> str:
    redacted = ' <span class="tag muted">redacted</span>' if part.redacted else ""
    said = recorded_text(context, part.text, part.pointer) if part.text else ""
    return f'<details class="thought" open><summary>reasoning{redacted}</summary>{said}</details>'


def _call(context: template.Context, part: Call, served: int | None) -> str:
    to = "#e" if context.get("offline") else "?at="
    link = f'<a class="to" data-key="Enter" href="{to}{served}">answered in #{served} →</a>'
    answered, body = link if served else "", ""
    if part.opened:
        came = _as_it_came(context, part, "as they came")
        body += _LABEL.format(f"arguments were JSON in a text once more, opened one level{came}")
    if part.invalid is not None:
        body += '<span class="label bad">arguments that are no JSON object, as they came</span>'
        body += recorded_text(context, part.invalid, part.pointer)
    if part.arguments is not None:
        body += recorded_value(context, part.arguments, part.pointer)
    name, call_id = escape(clean(part.name) or "unnamed tool"), escape(clean(part.id))
    return _CALL.format(name=name, id=call_id, answered=answered, body=body)


def _result(context: template.Context, part: Result) -> str:
    body = parts_of(context, part.parts, part.pointer, "empty")
    return _RESULT.format(
        css=" err" if part.is_error else "",
        name=escape(clean(part.name) or "a tool"),
        error='<span class="tag bad">error</span>' if part.is_error else "",
        id=escape(clean(part.call_id)),
        body=body,
    )


def _media(context: template.Context, part: Media) -> str:
    media: Any = get_template("runs/_media.html")
    with context.push(part=part):
        shown: str = media.template.render(context)
    return shown.rstrip("\n")


def _data(context: template.Context, part: Data) -> str:
    unknown = ' <span class="tag muted">shown as it is</span>' if part.unknown else ""
    label = f"{escape(clean(part.label))}{unknown}"
    said = recorded_value(context, part.value, part.pointer)
    return f"{_LABEL.format(label) if label else ''}{said}"


_SHOWN: dict[str, Callable[[template.Context, Any], str]] = {
    "text": _text,
    "reasoning": _reasoning,
    "result": _result,
    "media": _media,
    "data": _data,
}
_LABEL = '<span class="label">{}</span>'
_CALL = (
    '<div class="call"><div class="head"><i class="dot f-tool"></i><span class="name">{name}</span>'
    '<span class="muted mono id" title="{id}">{id}</span>{answered}</div>'
    '<div class="body">{body}</div></div>'
)
_RESULT = (
    '<div class="call{css}"><div class="head"><span class="muted">result of</span>'
    '<span class="name">{name}</span>{error}<span class="muted mono id" title="{id}">{id}</span>'
    '</div><div class="body">{body}</div></div>'
)
