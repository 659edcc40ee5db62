"""Two effects side by side: what was asked and what came back, as blocks with marks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from replay.comparison.sides import Block, Pair, Piece, Show, Sides, pretty, side_by_side, texts
from replay.two_runs.effects import answered, side_of
from replay.two_runs.marks import SAID, Parts, opened
from rewyn_sdk.align import align
from rewyn_sdk.errors import DecodeError, EncodeError
from rewyn_sdk.exact import exact_json
from rewyn_sdk.facts import as_object
from rewyn_sdk.jsontext import parse
from runs.messages import request_view
from runs.messages.loose import plural
from runs.messages.parts import Call, Data, Media, Message, Part, Reasoning, Result, Text

SHOWN_MESSAGES = 30
"""Messages that differ which come with a page; how many more there are is said."""
LARGE = 4 * 1024 * 1024
"""Bytes of a record up to which it is opened beside another."""


NOTHING = Sides((), ())


@dataclass(frozen=True, slots=True)
class Beside:
    """Both halves of two effects. `too_large` counts the bytes of a record that is not opened."""

    asked: Sides = NOTHING
    answered: Sides = NOTHING
    too_large: int | None = None


def beside(family: str, a: Parts | None, b: Parts | None, show: Show = "words") -> Beside:
    """An effect of either run beside the other; None where there is none."""
    size = max(len(one.kind) + len(one.outcome) for one in (a, b) if one is not None)
    if size > LARGE:
        return Beside(too_large=size)
    asked = list(_asked(family, a, b, show))
    if a is None or b is None:
        asked = [(_plainly(old), _plainly(new)) for old, new in asked]
    return Beside(_sides(asked), _answered(family, a, b, show))


def _sides(pairs: Sequence[Pair]) -> Sides:
    return Sides(
        tuple(block for block, _ in pairs if block is not None),
        tuple(block for _, block in pairs if block is not None),
    )


def _plainly(block: Block | None) -> Block | None:
    """With nothing on the other side there is nothing to mark."""
    if block is None:
        return None
    body = tuple(Piece("", piece.text) for piece in block.body)
    return Block(block.kind, block.title, body, block.size)


# --- What was asked ----------------------------------------------------------------------------


def _asked(family: str, a: Parts | None, b: Parts | None, show: Show) -> Iterator[Pair]:
    before, after = _value(a, "kind"), _value(b, "kind")
    if family != "completion" or show == "json":
        yield texts("json", "", _pretty(_request(before)), _pretty(_request(after)), show)
        return
    old, new = _settings(before), _settings(after)
    yield from _turns(_messages(before), _messages(after), show)
    for name in {**old, **new}:
        if _text(old.get(name)) != _text(new.get(name)):
            pair = _pretty(old.get(name)), _pretty(new.get(name))
            yield texts("json", name, *pair, show)


def _request(kind: Any) -> Any:
    members = as_object(kind)
    shown = {name: opened(value) for name, value in members.items() if name != "effect"}
    return shown if members else kind


def _settings(kind: Any) -> dict[str, Any]:
    asked = as_object(as_object(kind).get("request"))
    return {
        name: value
        for name, value in asked.items()
        if name not in (*SAID, "system") and value not in (None, [], {})
    }


def _messages(kind: Any) -> Sequence[tuple[str, str]]:
    if kind is None:
        return ()
    turns = request_view({"kind": kind}).messages
    return [(turn.heading, _said(turn)) for turn in turns]


def _turns(
    old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]], show: Show
) -> Iterator[Pair]:
    """Messages that are the same are counted, the others stand side by side."""
    shown = 0
    for block in align([repr(turn) for turn in old], [repr(turn) for turn in new]):
        mine, theirs = old[block.start : block.end], new[block.new_start : block.new_end]
        if block.tag == "equal":
            same = Block("same", (Piece("", plural(len(mine), "message")),), ())
            yield same, same
            continue
        for turn, other in list(zip_longest(mine, theirs))[: SHOWN_MESSAGES - shown]:
            yield _turn(turn, other, show)
        shown = min(shown + max(len(mine), len(theirs)), SHOWN_MESSAGES)


def _turn(old: tuple[str, str] | None, new: tuple[str, str] | None, show: Show) -> Pair:
    role = (new or old or ("", ""))[0]
    before, after = (None if turn is None else turn[1] for turn in (old, new))
    left, right = texts("turn", role, before, after, show)
    if left is not None and old is not None and old[0] != role:
        left = Block("turn", (Piece("", old[0]),), left.body, left.size)
    return left, right


def _said(turn: Message) -> str:
    return "\n\n".join(filter(None, map(_part, turn.parts)))


def _part(part: Part) -> str:
    match part:
        case Text() | Reasoning():
            return part.text
        case Call():
            return f"{part.name} {pretty(part.arguments)}"
        case Result():
            return "\n".join(map(_part, part.parts))
        case Media():
            return f"[{part.media} {part.name or part.media_type}]"
        case Data():
            return pretty(part.value)


# --- What came back ----------------------------------------------------------------------------


def _answered(family: str, a: Parts | None, b: Parts | None, show: Show) -> Sides:
    if family == "completion":
        return side_by_side(side_of(a) if a else None, side_of(b) if b else None, show)
    before, after = _came(_value(a, "outcome")), _came(_value(b, "outcome"))
    old, new = texts("json", "", before, after, show)
    return _sides([(old, new) if a and b else (_plainly(old), _plainly(new))])


def _came(outcome: Any) -> str | None:
    """A tool's text as text; anything else as JSON."""
    return None if outcome is None else pretty(answered(outcome))


def _value(parts: Parts | None, half: str) -> Any:
    try:
        return None if parts is None else parse(bytes(getattr(parts, half)), exact=True)
    except DecodeError:
        return bytes(getattr(parts, half)).decode("utf-8", "replace")


def _pretty(value: Any) -> str | None:
    return None if value is None else pretty(value)


def _text(value: Any) -> str:
    try:
        return exact_json(value)
    except EncodeError:
        return repr(value)
