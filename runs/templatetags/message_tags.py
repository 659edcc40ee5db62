"""Recorded texts and values on a page: folded, coloured, as a table, or as Markdown on demand.

Written here and not in templates: a page has hundreds of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from django import template
from django.http import QueryDict
from django.urls import NoReverseMatch
from django.utils.html import conditional_escape, format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe

from runs.addresses import address_of
from runs.messages import exact, markup
from runs.messages.loose import clean
from runs.messages.pieces import Piece, language_of, pieces, split
from runs.messages.portions import Portion, Room
from runs.messages.tables import Cell, Table, table
from runs.messages.turns import opened
from runs.search.places import NOTHING, LookedFor, Window, cut
from runs.search.texts import texts_in
from runs.templatetags.runs_tags import TEXT_SHOWN, WHOLE, isolated

register = template.Library()

JSON_SHOWN = 800_000
"""Characters of the JSON tab: it is text, and a script draws only what is unfolded."""
FOLDED_OVER, HEAD = 4_000, 2_400
"""A text of more characters than this shows its head, the rest folded."""
LINES_OVER, HEAD_LINES = 80, 40
"""So does one of more lines."""
COLOURED = 10_000
"""Characters of code coloured on one page: colouring is the dearest part of it."""
VALUES_OF_LINES = 6
"""Texts of several lines inside a value that are shown a second time, as lines."""


@register.simple_tag(takes_context=True)
def recorded_text(context: template.Context, text: str, pointer: str) -> SafeString:
    """A text as it was said; as Markdown if the address asks for that one (`md`)."""
    if not text:
        return mark_safe('<div class="said"><span class="muted">empty text</span></div>')
    if context.get("offline"):
        return mark_safe(f'<div class="spoken">{_whole(context, text)}</div>')
    params = context["request"].GET
    offered = bool(pointer) and markup.looks_like_markdown(text)
    as_markdown = offered and pointer in params.getlist("md")
    shown = _start(context, text)
    if as_markdown:
        body = f'<div class="prose md" dir="auto">{markup.markdown(shown)}</div>'
    else:
        body = _said(context, shown, len(text))
    switch = _switch(params, pointer, as_markdown) if offered else ""
    behind = _behind(context, (text,), pointer, len(shown), len(text))
    name = f' id="{_name(pointer)}"' if offered else ""
    return mark_safe(f'<div class="spoken"{name}>{body}{behind}{switch}</div>')


def _start(context: template.Context, text: str) -> str:
    room = _room(context)
    shown = text[: room.most(TEXT_SHOWN, HEAD)]
    room.spend(len(shown))
    return shown


@register.simple_tag(takes_context=True)
def recorded_plain(context: template.Context, text: str, pointer: str) -> SafeString:
    """A text that is never Markdown: why something failed, what a provider said of it."""
    if context.get("offline"):
        return mark_safe(_whole(context, text))
    shown = _start(context, text)
    behind = _behind(context, (text,), pointer, len(shown), len(text))
    return mark_safe(_said(context, shown, len(text)) + behind)


@register.simple_tag(takes_context=True)
def recorded_value(context: template.Context, value: Any, pointer: str) -> SafeString:
    """JSON: as a table where it is rows, else indented; its texts of several lines as lines."""
    rows = table(value)
    inner = _json(context, value, pointer)
    if rows is not None:
        opened = _only_in_json(_looked(context), rows, value)
        return mark_safe(_table(rows) + _FOLDED_JSON.format(" open" if opened else "", inner))
    return mark_safe(inner + "".join(_as_lines(context, value, pointer)))


@register.simple_tag(takes_context=True)
def recorded_json(context: template.Context, value: Any, pointer: str) -> SafeString:
    """JSON, indented, whatever it holds."""
    return mark_safe(_json(context, value, pointer))


@register.simple_tag(takes_context=True)
def portion(context: template.Context, items: Sequence[Any], name: str) -> Portion:
    """What of a list is on this page; `more_of` leads to the rest."""
    looked = _looked(context)
    found = (lambda item: looked.is_in(texts_in(_bare(item)))) if looked else None
    return _room(context).take(name, items, found)


def _bare(item: Any) -> Any:
    """A part of an answer comes with the effect that served it."""
    return item[0] if isinstance(item, tuple) else item


@register.simple_tag(takes_context=True)
def more_of(context: template.Context, shown: Portion, noun: str) -> str:
    """Which of how many items are on the page, and the ways to the others."""
    if shown.is_whole:
        return ""
    said = f"{noun} {shown.first + 1:,} to {shown.end:,} of {shown.total:,}"
    if context.get("offline"):
        return format_html('<p class="portion"><span class="cut">only {}</span></p>', said)
    ways = ((shown.previous, "← before"), (shown.next, "show more →"))
    links = [_way(context, shown, start, word) for start, word in ways if start is not None]
    links.append(_whole_list(context, shown.name))
    return format_html(_PORTION, said, mark_safe(" ".join(filter(None, links))))


def _way(context: template.Context, shown: Portion, start: int, word: str) -> str:
    params = context["request"].GET.copy()
    others = [one for one in params.getlist("more") if one.partition(".")[2] != shown.name]
    params.setlist("more", [*others, f"{start}.{shown.name}"])
    return format_html('<a href="?{}">{}</a>', params.urlencode(), word)


def _whole_list(context: template.Context, name: str) -> str:
    address = value_address(context, name) if name.startswith("/") else ""
    return format_html('<a hx-boost="false" href="{}">all as JSON</a>', address) if address else ""


@register.simple_tag(takes_context=True)
def json_document(context: template.Context, data: bytes) -> dict[str, Any]:
    """Recorded bytes as indented JSON, exact to the digit: `text`, `cut` when that is only its
    start, and what was looked for behind it. A script folds it; without one it is this text."""
    shown = exact.indented(data, JSON_SHOWN)
    found = _found_in_json(_looked(context), data) if shown.cut else ""
    text = _strings_apart(clean(shown.text))
    return {"text": text, "cut": shown.cut, "shown": JSON_SHOWN, "found": mark_safe(found)}


def _found_in_json(looked: LookedFor, data: bytes) -> str:
    if not looked:
        return ""
    if exact.is_roomy(data):  # then as it came: indented it would fill memory
        whole = data.decode("utf-8", "replace")
        return _found(looked, (whole,), 0, len(whole), escaped=True)
    whole = exact.indented(data, WHOLE).text
    return _found(looked, (whole,), JSON_SHOWN, len(whole), escaped=True)


@register.filter
def opened_json(text: str) -> object:
    """The object or list that a text holds as JSON, else None."""
    return opened(text)


def _said(context: template.Context, shown: str, size: int) -> str:
    found = pieces(shown)
    if _short(shown):
        return f'<div class="said" dir="auto">{_html(context, found)}</div>'
    head, rest = split(found, _head(shown))
    more = sum(len(piece.text) for piece in rest)
    label = f"{more:,} more characters of {size:,}, {shown.count(chr(10)) + 1:,} lines"
    if size > len(shown):
        label = _up_to(more, len(shown))
    return (
        f'<div class="said" dir="auto">{_html(context, head)}</div>'
        f'<details class="more"{_opened(context, shown, len(shown) - more)}>'
        f'<summary>{label}</summary><div class="said" dir="auto">{_html(context, rest)}</div>'
        "</details>"
    )


def _up_to(more: int, end: int) -> str:
    return f"{more:,} more characters, up to character {end:,}"


def _opened(context: template.Context, text: str, at: int, escaped: bool = False) -> str:
    """What is folded comes open where it has what was looked for, and the head has not."""
    return " open" if _looked(context).is_behind((text,), at, escaped=escaped) else ""


def _looked(context: template.Context) -> LookedFor:
    found: LookedFor = getattr(context.get("view"), "looked", NOTHING)
    return found


def _room(context: template.Context) -> Room:
    room: Room | None = getattr(context.get("view"), "room", None)
    return room or context.dicts[0].setdefault("_room", Room())


def _behind(
    context: template.Context,
    texts: Iterable[str],
    pointer: str,
    shown: int,
    size: int,
    escaped: bool = False,
) -> str:
    """Where the rest of a text is that is not all here, and what of it was looked for."""
    if shown >= size:
        return ""
    found = _found(_looked(context), texts, shown, size, escaped=escaped)
    return _cut(context, pointer, shown, size) + found


def _found(looked: LookedFor, texts: Iterable[str], shown: int, size: int, *, escaped: bool) -> str:
    windows = looked.windows(texts, shown, size, escaped=escaped) if looked else []
    said = zip(windows, cut(texts, windows), strict=True)
    return "".join(_window(looked, window, text, size, escaped) for window, text in said)


def _window(looked: LookedFor, window: Window, text: str, size: int, escaped: bool) -> str:
    pieces = looked.marked(clean(text), escaped=escaped)
    said = "".join(
        f"<mark>{escape(one.text)}</mark>" if one.is_hit else escape(one.text) for one in pieces
    )
    place = f"characters {window.start + 1:,} to {window.end:,} of {size:,}"
    said = f"{_MORE}{said}{_MORE if window.end < size else ''}"
    asked = escape(clean(looked.said[:60]))
    return (_FOUND_DATA if escaped else _FOUND).format(place, asked, said)


def _only_in_json(looked: LookedFor, rows: Table, value: Any) -> bool:
    """A table may leave out the row, the column or the end of the text that was looked for."""
    shown = [cell.text for row in rows.rows for cell in row]
    if not looked or looked.is_in([*shown, *(fact.value[:80] for fact in rows.facts[:12])]):
        return False
    return any(looked.places(exact.Indented(value), escaped=True))


def _whole(context: template.Context, text: str) -> str:
    """All of a text, for a page that cannot lead to the rest; what is long comes folded."""
    body = _said(context, text[:TEXT_SHOWN], min(len(text), TEXT_SHOWN))
    rest = text[TEXT_SHOWN:]
    if not rest:
        return body
    label = f"{len(rest):,} more characters, of {len(text):,} in all"
    return (
        f'{body}<details class="more"><summary>{label}</summary>'
        f'<div class="said" dir="auto">{escape(clean(rest))}</div></details>'
    )


def _short(text: str) -> bool:
    return len(text) <= FOLDED_OVER and text.count("\n") <= LINES_OVER


def _head(text: str) -> int:
    """How many characters the head may have: whichever bound is met first."""
    lines = "\n".join(text[:HEAD].split("\n", HEAD_LINES)[:HEAD_LINES])
    return min(len(lines) + 1, HEAD)


def _html(context: template.Context, found: list[Piece]) -> str:
    code = sum(len(piece.text) for piece in found if piece.language)
    return markup.pieces_html(found, _may_colour(context, code))


def _may_colour(context: template.Context, characters: int) -> bool:
    """Takes from what of the page's code may still be coloured."""
    left = context.dicts[0].setdefault("_coloured_left", COLOURED)
    if characters > left:
        return False
    context.dicts[0]["_coloured_left"] = left - characters
    return True


def _json(context: template.Context, value: Any, pointer: str) -> str:
    room = _room(context)
    shown = exact.pretty(value, WHOLE if context.get("offline") else room.most(TEXT_SHOWN, HEAD))
    room.spend(len(shown.text))
    text = clean(shown.text)
    whole = exact.Indented(value)
    behind = _behind(context, whole, pointer, len(text), shown.size, escaped=True)
    if _short(text):
        return f'<pre class="data">{_strings_apart(text)}</pre>{behind}'
    head = _head(text)
    at = text.rfind("\n", 0, head) + 1 or head
    more = len(text) - at
    label = _up_to(more, len(text)) if shown.cut else f"{more:,} more characters of {shown.size:,}"
    return (
        f'<pre class="data">{_strings_apart(text[:at])}</pre>'
        f'<details class="more"{_opened(context, text, at, escaped=True)}>'
        f'<summary>{label}</summary><pre class="data">{_strings_apart(text[at:])}</pre>'
        f"</details>{behind}"
    )


def _strings_apart(text: str) -> SafeString:
    return conditional_escape(isolated(text))


def _as_lines(context: template.Context, value: Any, pointer: str) -> list[str]:
    """Members that are texts of several lines (code, SQL, a patch), as JSON hard to read."""
    members = value.items() if isinstance(value, dict) else ()
    texts = [(key, one) for key, one in members if isinstance(one, str) and "\n" in one.strip()]
    return [_lines(context, key, text, pointer) for key, text in texts[:VALUES_OF_LINES]]


def _lines(context: template.Context, key: str, text: str, pointer: str) -> str:
    shown = text[:TEXT_SHOWN]
    language = language_of(shown, key)
    found = [Piece(shown, language)] if language else pieces(shown)
    more = (
        f", the first {TEXT_SHOWN:,} characters of {len(text):,}" if len(text) > TEXT_SHOWN else ""
    )
    return (
        f'<span class="label">{escape(clean(key))}, as lines{more}</span>'
        f'<div class="said lines" dir="auto">{_html(context, found)}</div>'
    )


def _table(rows: Table) -> str:
    head = "".join(f"<th>{escape(clean(name[:80]))}</th>" for name in rows.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows.rows)
    facts = "".join(
        f'<span class="chip">{escape(fact.label)} <b>{escape(clean(fact.value[:80]))}</b></span>'
        for fact in rows.facts[:12]
    )
    label = f"{escape(clean(rows.label[:80]))}: " if rows.label else ""
    return _TABLE.format(f"{label}{_counted(rows)} {facts}", head, body)


def _counted(rows: Table) -> str:
    said = f"{rows.row_count:,} rows"
    if rows.row_count > len(rows.rows):
        said += f", the first {len(rows.rows):,} shown"
    if rows.column_count > len(rows.columns):
        said += f"; {rows.column_count:,} columns, the first {len(rows.columns):,} shown"
    return said


def _cell(cell: Cell) -> str:
    text = escape(clean(cell.text)) + ("…" if cell.cut else "")
    if cell.kind == "number":
        return f'<td class="num">{text}</td>'
    if cell.kind == "text":
        return f'<td dir="auto">{text}</td>'
    return f'<td class="muted">{text}</td>'


def _switch(params: QueryDict, pointer: str, on: bool) -> str:
    changed = params.copy()
    chosen = [one for one in params.getlist("md") if one != pointer]
    changed.setlist("md", chosen if on else [*chosen, pointer])
    name = _name(pointer)
    label = "as text, as it came" if on else "as Markdown"
    return format_html(_SWITCH, changed.urlencode(), name, label)


def _cut(context: template.Context, pointer: str, shown: int, size: int) -> str:
    said = f"only the start of {size:,} characters, up to {shown:,}"
    address = value_address(context, pointer) if pointer else ""
    link = format_html(' <a hx-boost="false" href="{}">the whole</a>', address) if address else ""
    return f'<span class="cut">{said}{link}</span>'


@register.simple_tag(takes_context=True)
def value_address(context: template.Context, pointer: str) -> str:
    """Where the whole of a recorded value is, as plain text."""
    place = context["project"].slug, context["run"].external_id, context["effect"].seq
    try:
        address = address_of("runs:effect-value", *place)
    except NoReverseMatch:
        return ""
    return f"{address}?{urlencode({'of': context.get('of') or 'record', 'at': pointer})}"


def _name(pointer: str) -> str:
    """An id for the text at a pointer; pointers are of the record and may hold anything."""
    return "at" + re.sub(r"[^A-Za-z0-9]", lambda found: f"-{ord(found[0]):x}", pointer)


_SWITCH = (
    '<a class="more-link md-switch" href="?{0}" hx-get="?{0}" hx-target="#{1}" hx-select="#{1}"'
    ' hx-swap="outerHTML show:none" hx-push-url="true">{2}</a>'
)
_MORE = '<span class="muted" data-plain>…</span>'
_FOUND = (
    '<div class="found"><span class="label" data-plain>{}, where “{}” stands</span>'
    '<div class="said" dir="auto">{}</div></div>'
)
_FOUND_DATA = _FOUND.replace('<div class="said" dir="auto">{}</div>', '<pre class="data">{}</pre>')
_PORTION = '<p class="portion"><span class="cut">{} {}</span></p>'
_FOLDED_JSON = '<details class="more"{}><summary>JSON</summary>{}</details>'
_TABLE = (
    '<p class="label rows-of">{}</p><div class="scroll-x" tabindex="0"><table class="rows-table">'
    "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
)
