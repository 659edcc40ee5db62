"""Differences of two texts, by lines and by words, in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewyn_sdk.align import Block, Budget, Tag, align

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
# A token is a word, or one character of punctuation or of a script without spaces; with it comes
# the white space before it. The last one is empty and holds the white space at the end.
_WIDE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TOKENS = re.compile(rf"(\s*)([{_WIDE}]|[^\W{_WIDE}]+|[^\w\s]|\Z)")

_Tokens = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of both texts: joined, all `text_a` are the one and all `text_b` the other."""

    op: Tag
    text_a: str
    text_b: str


def line_diff(a: str, b: str) -> list[Span]:
    """The texts as spans of whole lines, which keep their line ends."""
    return list(_line_spans(a, b, Budget()))


def word_diff(a: str, b: str) -> list[Span]:
    """The texts as spans of words: lines are aligned first, then the words of those that changed.

    Two hunks too large to compare word by word come out as one replacement.
    """
    budget = Budget(cells=4_000_000)
    spans: list[Span] = []
    for span in _line_spans(a, b, budget):
        spans += _word_spans(span, budget) if span.op == "replace" else [span]
    return list(_joined(spans))


def _line_spans(a: str, b: str, budget: Budget) -> Iterator[Span]:
    left, right = _LINES.findall(a), _LINES.findall(b)
    for block in align(left, right, budget):
        old = "".join(left[block.start : block.end])
        yield Span(block.tag, old, "".join(right[block.new_start : block.new_end]))


def _word_spans(span: Span, budget: Budget) -> Iterator[Span]:
    left: _Tokens = _TOKENS.findall(span.text_a)
    right: _Tokens = _TOKENS.findall(span.text_b)
    for block in align([word for _, word in left], [word for _, word in right], budget):
        old, new = left[block.start : block.end], right[block.new_start : block.new_end]
        yield from _kept(old, new) if block.tag == "equal" else _changed(block, old, new)


def _kept(old: _Tokens, new: _Tokens) -> Iterator[Span]:
    for (gap, word), (new_gap, _) in zip(old, new, strict=True):
        yield _span(gap, new_gap)
        yield _span(word, word)


def _changed(block: Block, old: _Tokens, new: _Tokens) -> Iterator[Span]:
    """The white space both begin with is no part of the change."""
    gap = old[0][0] if block.tag == "replace" and old[0][0] == new[0][0] else ""
    yield _span(gap, gap)
    yield _span(_text(old)[len(gap) :], _text(new)[len(gap) :])


def _text(tokens: _Tokens) -> str:
    return "".join(gap + word for gap, word in tokens)


def _span(old: str, new: str) -> Span:
    if old == new:
        return Span("equal", old, new)
    return Span("replace" if old and new else "delete" if old else "insert", old, new)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Neighbours of one kind as one span; empty ones gone."""
    old: list[str] = []
    new: list[str] = []
    equal = True
    for span in spans:
        if (span.op == "equal") != equal:
            yield from _whole(old, new)
            old, new, equal = [], [], span.op == "equal"
        old.append(span.text_a)
        new.append(span.text_b)
    yield from _whole(old, new)


def _whole(old: list[str], new: list[str]) -> Iterator[Span]:
    if any(old) or any(new):
        yield _span("".join(old), "".join(new))
