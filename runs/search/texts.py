"""What is new in each effect of a run, as text to search: what it was told and what it said.

Pure. A model call repeats the conversation so far; only messages that no earlier call of the run
had are new. A text that an earlier effect brought (an answer, a tool's result, a memory, a
document) is found there, and not once more in the call that was told it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from runs.formats.jsonbytes import Document as JsonDocument
from runs.messages import answer_view, exact, request_view, stream_view
from runs.messages.loose import clean, obj
from runs.messages.parts import Answer, Document, Failure, Message, Part, Request, Tool
from runs.refusals import Refused
from runs.search.words import BETWEEN, one_text, without_blobs

HISTORY = ("chat_history", "messages")
LONG_ENOUGH = 20
"""A shorter text ("yes") is no repetition only because somebody said it before."""
_OPENS = ("{", "[")


class Conversation:
    """What the effects of one run have said so far."""

    def __init__(self) -> None:
        self.messages: Counter[int] = Counter()
        """Message → how often the call that had it most had it."""
        self.told: set[int] = set()
        self.texts: set[int] = set()

    def text_of(self, data: bytes) -> str:
        """What is new in the record `data`, its texts parted by `BETWEEN`; remembers it."""
        try:
            record = self._lean(data)
        except (ValueError, Refused):
            return clean(without_blobs(data.decode("utf-8", "replace")))
        request, answer = request_view(record), answer_view(record)
        found = [*self._asked(request), *self._answered(request.family, answer, record)]
        return BETWEEN.join(clean(without_blobs(one_text(text))) for text in found)

    # --- What of the record is read -----------------------------------------------------------

    def _lean(self, data: bytes) -> dict[str, Any]:
        """The record decoded, of a model call without what earlier calls had too."""
        document = JsonDocument(data)
        members = document.members()
        kind = document.members(members["kind"]) if "kind" in members else {}
        is_call = "request" in kind and bytes(kind.get("effect", b"")) == b'"completion"'
        if not is_call or not document.original(kind["request"]).startswith(b"{"):
            return obj(exact.loads(data))
        asked = document.members(kind["request"])
        lean: dict[str, Any] = {"effect": "completion"}
        lean["request"] = {
            name: self._fresh_items(document, name, raw) for name, raw in asked.items()
        }
        outcome = _decoded_without(document, members.get("outcome"), "raw")
        events = members.get("events")
        return {
            "kind": lean,
            "outcome": outcome,
            **({} if events is None or "Ok" in outcome else {"events": exact.loads(bytes(events))}),
        }

    def _fresh_items(self, document: JsonDocument, name: str, raw: Any) -> Any:
        data = document.original(raw)
        if not data.startswith(b"["):
            fresh = name not in ("system", "output_schema", "additional_params") or self._is_new(
                data
            )
            return exact.loads(data) if fresh else None
        items = [document.original(item) for item in document.items(raw)]
        counts: Counter[int] = Counter()
        fresh_items = []
        for item in items:
            key = hash(item)
            counts[key] += 1
            if counts[key] > self.messages[key]:
                fresh_items.append(item)
                self.messages[key] = counts[key]
        return exact.loads(b"[" + b",".join(fresh_items) + b"]")

    def _is_new(self, data: bytes) -> bool:
        key = hash(data)
        known = key in self.told
        self.told.add(key)
        return not known

    # --- What is new in it --------------------------------------------------------------------

    def _asked(self, request: Request) -> Iterator[str]:
        if request.family == "tool_call":
            yield from (fact.value for fact in request.facts)
            yield from _of_parts(request.parts)
            return
        for message in request.messages:
            yield from self._new_of(message)
        texts = [*_of_documents(request.documents), *_of_parts(request.parts)]
        texts += [text for tool in request.tools for text in _of_tool(tool)]
        for text in texts:
            if not self._repeats(text):
                yield text

    def _new_of(self, message: Message) -> Iterator[str]:
        by_model = message.role == "assistant"
        for text in _of_parts(message.parts):
            if not self._repeats(text, any_length=by_model):
                yield text

    def _repeats(self, text: str, any_length: bool = False) -> bool:
        return hash(text) in self.texts and (any_length or len(text) >= LONG_ENOUGH)

    def _answered(self, family: str, answer: Answer, record: dict[str, Any]) -> Iterator[str]:
        if family == "embed":
            texts: Iterable[str] = ()  # vectors, beside what was asked
        else:
            texts = [*_of_parts(answer.parts), *_of_documents(answer.documents)]
            texts += [t for message in answer.messages for t in _of_parts(message.parts)]
        if "events" in record and "Ok" not in obj(record.get("outcome")):
            stream = stream_view(record)
            texts = [*texts, *_of_parts(stream.parts if stream else ())]
        for text in texts:
            self.texts.add(hash(text))
            yield text
        yield from _of_failure(answer.failure)
        yield from _leaves(record.get("tool_output") or None)


def _decoded_without(document: JsonDocument, raw: Any, name: str) -> dict[str, Any]:
    """An outcome, without the provider's own body inside its answer."""
    if raw is None or bytes(raw) == b"null":
        return {}
    outcome = document.members(raw)
    if "Ok" not in outcome:
        return obj(exact.loads(document.original(raw)))
    if not document.original(outcome["Ok"]).startswith(b"{"):
        return {"Ok": exact.loads(document.original(outcome["Ok"]))}
    answer = document.members(outcome["Ok"])
    kept = {key: exact.loads(document.original(v)) for key, v in answer.items() if key != name}
    return {"Ok": kept}


# --- Texts of the view model ------------------------------------------------------------------


def texts_in(*said: Message | Document | Tool | Failure | Part | None) -> Iterator[str]:
    """All texts of what was said, as they are searched."""
    for one in said:
        if isinstance(one, Message):
            yield from _of_parts(one.parts)
        elif isinstance(one, Document):
            yield from _of_documents((one,))
        elif isinstance(one, Tool):
            yield from _of_tool(one)
        elif isinstance(one, Failure):
            yield from _of_failure(one)
        elif one is not None:
            yield from _of_parts((one,))


def _of_parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        yield from filter(None, _of_part(part))


def _of_part(part: Any) -> Iterator[str]:
    """Media kept as bytes have no words; their name and address have."""
    if part.kind == "text":
        yield _opened(part.text)
        yield from part.citations
    elif part.kind == "reasoning":
        yield part.text
    elif part.kind == "call":
        yield part.name
        yield part.invalid or _of_value(part.arguments)
    elif part.kind == "result":
        yield from _of_parts(part.parts)
    elif part.kind == "media":
        yield part.name
        yield part.value if part.source in ("text", "url", "file") else ""
    elif part.kind == "data":
        yield _of_value(part.value)


def _of_documents(documents: Iterable[Document]) -> Iterator[str]:
    for document in documents:
        yield document.id
        yield from _of_parts(document.parts)
        yield from (fact.value for fact in document.facts)


def _of_tool(tool: Tool) -> Iterator[str]:
    yield tool.name
    yield tool.description
    yield _of_value(tool.parameters)


def _of_failure(failure: Failure | None) -> Iterator[str]:
    if failure is not None:
        texts = (failure.kind, failure.message, *failure.chain, _opened(failure.body))
        yield from filter(None, texts)


def _opened(text: str) -> str:
    """JSON inside a text, read where it has escapes: `caf\\u00e9` is looked for as café."""
    start = text.lstrip()[:1]
    if start not in _OPENS or "\\" not in text:
        return text
    try:
        return _of_value(exact.loads(text))
    except ValueError:
        return text


def _of_value(value: object) -> str:
    if isinstance(value, str):
        return _opened(value)
    return "\n".join(_leaves(value))


def _leaves(value: object, key: str = "") -> Iterator[str]:
    """`name: value` a line, numbers as they were written."""
    if isinstance(value, dict):
        for name, member in value.items():
            nested = isinstance(member, dict | list)
            if nested:
                yield f"{name}:"
            yield from _leaves(member, "" if nested else f"{name}: ")
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, str):
        yield key + _opened(value)
    elif value is not None:
        yield key + (exact.number(value) or str(value).lower())
    elif key:
        yield key + "null"
