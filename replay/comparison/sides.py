"""Two answers side by side: blocks of text with what left and what came marked. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay.comparison.compare import Failed, Side, document, matched, said
from replay.comparison.differing import alike
from replay.dialects.answer import Answer, AnswerCall
from rewyn_sdk.exact import as_written
from rewyn_sdk.textdiff import Span, line_diff, word_diff
from runs.messages.loose import clean

LONG_TEXT = 4_000
"""Characters of one text in a request that are shown."""
SHOWN = 60_000
"""Characters of one text that are compared on a page; the whole is one click away."""
Show = Literal["words", "lines", "json"]
SHOWS: tuple[Show, ...] = ("words", "lines", "json")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; `mark` is `del` on the recorded side, `ins` on the replayed, else empty."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One part of an answer. `size` is set where only the start of the text is shown."""

    kind: str
    title: tuple[Piece, ...]
    body: tuple[Piece, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    recorded: tuple[Block, ...]
    replayed: tuple[Block, ...]


Pair = tuple[Block | None, Block | None]


def side_by_side(recorded: Side, replayed: Side, show: Show = "words") -> Sides:
    """Both answers as blocks; an absent side has none."""
    pairs = list(_pairs(recorded, replayed, show))
    if not (isinstance(recorded, Answer) and isinstance(replayed, Answer)):
        pairs = [(_unmarked(old), _unmarked(new)) for old, new in pairs]
    return Sides(
        tuple(block for block, _ in pairs if block is not None),
        tuple(block for _, block in pairs if block is not None),
    )


def _pairs(recorded: Side, replayed: Side, show: Show) -> Iterator[Pair]:
    before, after = _answer(recorded), _answer(replayed)
    if isinstance(recorded, Failed):
        yield _failure(recorded), None
    if isinstance(replayed, Failed):
        yield None, _failure(replayed)
    if show == "json":
        yield texts("json", "", _json_of(before), _json_of(after), show)
        return
    yield texts("refusal", "refusal", _refusal(before), _refusal(after), show)
    yield texts("text", "", _text(before), _text(after), show)
    for old, new in _call_pairs(_calls(before), _calls(after)):
        yield _call(old, new, show)


def requests(recorded: Any, sent: Any, *, marks: bool) -> Sides:
    """Two bodies of requests as JSON in the order of their names; None is a side without one."""
    old, new = (None if one is None else _in_order(one) for one in (recorded, sent))
    pair = texts("json", "", old, new, "words")
    if not marks or old is None or new is None:
        pair = _unmarked(pair[0]), _unmarked(pair[1])
    return Sides(*(() if block is None else (block,) for block in pair))


_CONVERSATION = ("chat_history", "messages", "input", "contents")


def _in_order(body: Any) -> str:
    """Members by name, but the conversation last: it is long, and the rest is to be seen."""
    told = _shortened(body)
    if isinstance(told, dict):
        told = dict(sorted(told.items(), key=lambda item: item[0] in _CONVERSATION))
    return json.dumps(told, ensure_ascii=False) if isinstance(told, str) else pretty(told)


def _shortened(value: Any) -> Any:
    """In the order of its names, with long texts (an image's bytes) as their start, their size and
    what tells them apart."""
    if isinstance(value, dict):
        return {name: _shortened(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_shortened(one) for one in value]
    if not isinstance(value, str) or len(value) <= LONG_TEXT:
        return value
    mark = hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{value[:LONG_TEXT]}… ({len(value):,} characters, {mark})"


def _unmarked(block: Block | None) -> Block | None:
    """With nothing on the other side there is nothing to mark."""
    if block is None:
        return None
    title, body = (_plain("".join(p.text for p in part)) for part in (block.title, block.body))
    return Block(block.kind, title, body, block.size)


def _answer(side: Side) -> Answer | None:
    return side if isinstance(side, Answer) else None


def _json_of(answer: Answer | None) -> str | None:
    return None if answer is None else pretty(document(answer))


def _refusal(answer: Answer | None) -> str | None:
    return answer.refusal or None if answer else None


def _text(answer: Answer | None) -> str | None:
    return answer.text or None if answer else None


def _calls(answer: Answer | None) -> Sequence[AnswerCall]:
    return answer.calls if answer else ()


def _failure(side: Failed) -> Block:
    return Block("failure", _plain(side.code), _plain(side.message[:SHOWN]))


def _call_pairs(
    before: Sequence[AnswerCall], after: Sequence[AnswerCall]
) -> Iterator[tuple[AnswerCall | None, AnswerCall | None]]:
    """Calls beside those they match, the others alone."""
    if sorted(c.name for c in before) == sorted(c.name for c in after):
        yield from matched(before, after)
        return
    left = list(before)
    for call in after:
        old = next((c for c in left if c.name == call.name), None)
        if old is not None:
            left.remove(old)
        yield old, call
    for call in left:
        yield call, None


def _call(old: AnswerCall | None, new: AnswerCall | None, show: Show) -> Pair:
    before, after = (None if c is None else pretty(said(c)) for c in (old, new))
    blocks = texts("call", "", before or None, after or None, show)
    titled: list[Block | None] = []
    for call, block, mark in zip((old, new), blocks, ("del", "ins"), strict=True):
        if call is None or block is None:
            titled.append(None)
            continue
        alone = old is None or new is None
        title = (Piece(mark if alone else "", clean(call.name)),)
        titled.append(Block("call", title, block.body, block.size))
    return titled[0], titled[1]


def texts(kind: str, title: str, before: str | None, after: str | None, show: Show) -> Pair:
    """Two texts as blocks with what differs marked; None is a side without one."""
    if before is None and after is None:
        return None, None
    spans = _spans((before or "")[:SHOWN], (after or "")[:SHOWN], show)
    old = tuple(_pieces(spans, "del"))
    new = tuple(_pieces(spans, "ins"))
    return (
        None if before is None else Block(kind, _plain(title), old, _size(before)),
        None if after is None else Block(kind, _plain(title), new, _size(after)),
    )


def _spans(before: str, after: str, show: Show) -> list[Span]:
    return word_diff(before, after) if show == "words" else line_diff(before, after)


def _pieces(spans: list[Span], mark: str) -> Iterator[Piece]:
    for span in spans:
        text = span.text_a if mark == "del" else span.text_b
        if text:
            yield Piece("" if span.op == "equal" else mark, clean(text))


def _size(text: str) -> int | None:
    return len(text) if len(text) > SHOWN else None


def _plain(text: str) -> tuple[Piece, ...]:
    return (Piece("", clean(text)),) if text else ()


def pretty(value: Any) -> str:
    """Indented JSON with all digits; a text that is none as it is."""
    if isinstance(value, str):
        return value
    if (precise := as_written(value, indent=2)) is not None:
        return precise
    return json.dumps(value, indent=2, ensure_ascii=False)


FAR = 300
"""Characters beside a change that are shown of what stays."""


def changed_in(before: str, after: str) -> tuple[Piece, ...]:
    """One text with what left and what came in it; of long stretches that stay, their ends."""
    same = max(alike(before, after) - FAR, 0)
    same = same if same > FAR else 0
    left, right = (text[same : same + SHOWN] for text in (before, after))
    lead = (Piece("", "… "),) if same else ()
    return (*lead, *_in_one(word_diff(left, right)))


def _in_one(spans: Sequence[Span]) -> Iterator[Piece]:
    for place, span in enumerate(spans):
        if span.op == "equal":
            head = FAR if place else 0
            tail = FAR if place + 1 < len(spans) else 0
            yield Piece("", clean(_ends(span.text_a, head, tail)))
            continue
        for mark, text in (("del", span.text_a), ("ins", span.text_b)):
            if text:
                yield Piece(mark, clean(text))


def _ends(text: str, head: int, tail: int) -> str:
    if len(text) <= head + tail + FAR:
        return text
    return f"{text[:head]} … {text[len(text) - tail :]}" if tail else f"{text[:head]} …"
