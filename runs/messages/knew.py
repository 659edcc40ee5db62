"""What a model call knew from elsewhere: memory that was loaded and documents that were found
before it, and which of that its request really holds. Told by content, never by nearness alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runs.messages import exact
from runs.messages.facts import say
from runs.messages.loose import items, obj, one_line, pick, plural
from runs.messages.parts import Data, Document, Message, Part, Request, Result, Text
from runs.messages.rig import answer, request
from runs.messages.rig_parts import messages

NAMED_HITS, HITS_LOOKED_AT = 8, 100
_ALIKE = 8
"""Turns with one key that are told apart."""
_ENOUGH = 12
"""Characters that a found text must have to be looked for in what was said: `a` is in any text."""


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: str
    given: bool
    """The request holds this document."""


@dataclass(frozen=True, slots=True)
class Source:
    """One load or search. `held` of its `count` messages or documents are in the request."""

    seq: int
    family: str
    what: str
    count: int
    held: int
    hits: tuple[Hit, ...] = ()

    @property
    def said(self) -> str:
        noun = "message" if self.family == "memory" else "document"
        if not self.count:
            return f"no {noun}s"
        told = plural(self.count, noun)
        held = "all" if self.held == self.count else f"{self.held:,}" if self.held else "none"
        if self.family == "retrieve" and self.count > HITS_LOOKED_AT:
            return f"{told}, {held} of the first {HITS_LOOKED_AT} in this request"
        return f"{told}, {held} in this request"


def knew(request: Request, before: Iterable[tuple[int, dict[str, Any], bool]]) -> list[Source]:
    """The sources among the effects `before` a call: (seq, record, came since the call before).

    Older ones count only if the request holds something of theirs.
    """
    said: _Said | None = None
    found = []
    for seq, record, fresh in before:
        said = said or _Said(request)
        source = _source(seq, record, said)
        if source is not None and (fresh or source.held):
            found.append(source)
    return found


class _Said:
    """What a request holds, arranged to be asked about many turns and documents."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.ids = {document.id for document in request.documents if document.id}
        self._turns: dict[object, list[Message]] = {}
        for message in request.messages:
            alike = self._turns.setdefault(_key(message), [])
            if len(alike) < _ALIKE:
                alike.append(message)

    @cached_property
    def text(self) -> str:
        return "\n".join(_texts(self.request))

    def has(self, turn: Message) -> bool:
        return turn in self._turns.get(_key(turn), ())


def _key(message: Message) -> object:
    """The same for equal turns, and seldom for others."""
    texts = (text for part in message.parts for text in _of_part(part))
    return message.role, len(message.parts), tuple(texts)


def _source(seq: int, record: dict[str, Any], said: _Said) -> Source | None:
    kind, ok = obj(record.get("kind")), obj(pick(record, "outcome", "Ok"))
    if kind.get("effect") == "memory" and pick(kind, "op", "op") == "load":
        # Counted as recorded: one message may be several turns here.
        loaded = [messages([one], "") for one in items(ok.get("messages"))]
        held = sum(all(map(said.has, turns)) for turns in loaded)
        what = f"memory of {say(pick(kind, 'op', 'conversation'))}"
        return Source(seq, "memory", what, len(loaded), held)
    if kind.get("effect") != "retrieve":
        return None
    said_to = (part.text for part in request(record).parts if isinstance(part, Text))
    query = one_line(next(said_to, ""), 80)
    documents = answer(record).documents
    hits = tuple(_hit(document, said) for document in documents[:HITS_LOOKED_AT])
    held = sum(hit.given for hit in hits)
    return Source(seq, "retrieve", f"“{query}”", len(documents), held, hits[:NAMED_HITS])


def _hit(document: Document, said: _Said) -> Hit:
    texts = [one for part in document.parts for one in _of_part(part)]
    quoted = any(len(one) >= _ENOUGH and one in said.text for one in texts)
    return Hit(document.id, document.score, document.id in said.ids or quoted)


def _texts(request: Request) -> Iterator[str]:
    for message in request.messages:
        for part in message.parts:
            yield from _of_part(part)
    for document in request.documents:
        for part in document.parts:
            yield from _of_part(part)


def _of_part(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        yield part.text
    elif isinstance(part, Data):
        yield exact.compact(part.value)
    elif isinstance(part, Result):
        for inner in part.parts:
            yield from _of_part(inner)
