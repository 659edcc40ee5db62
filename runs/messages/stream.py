"""A kept stream as rows: what came, in order, errors in their places (spec §2.5)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs.messages import exact, rig_parts
from runs.messages.loose import items, number, obj, pick, text
from runs.messages.parts import Call, Part, Reasoning, Text


@dataclass(frozen=True, slots=True)
class Chunk:
    """One item. `index` counts good and error items together; `part` tells which part it feeds."""

    index: int
    kind: str
    part: str
    text: str
    pointer: str
    is_error: bool = False
    at_ms: float | None = None
    """When it came, since the call began."""


@dataclass(frozen=True, slots=True)
class Stream:
    chunks: tuple[Chunk, ...]
    parts: tuple[Part, ...]
    """The message put together from the fragments, open parts included."""
    pace: str = ""
    """`recorded`: each chunk has its own time; `even`: only the first and the last are known;
    empty: nothing is known."""

    @property
    def first(self) -> int | None:
        """The index of the first chunk that says something."""
        said = (chunk.index for chunk in self.chunks if chunk.kind in _SAYING and chunk.text)
        return next(said, None)


_SAYING = {"text", "reasoning", "arguments", "delta"}


def timed(kept: Stream, sent: object, first_ms: float | None, whole_ms: float | None) -> Stream:
    """`kept` with the times of the chunks: those of the bodies as they were `sent` over the wire
    (`at_ms` of each) where they are as many, else an even pace between first token and end."""
    times = [_at(one) for one in items(sent)]
    good = [chunk for chunk in kept.chunks if not chunk.is_error]
    if times and len(times) == len(good) and all(at is not None for at in times):
        return _with(kept, dict(zip((c.index for c in good), times, strict=True)), "recorded")
    first = kept.first
    if first_ms is None or whole_ms is None or first is None or whole_ms < first_ms:
        return kept
    after = [chunk.index for chunk in kept.chunks if chunk.index >= first]
    step = (whole_ms - first_ms) / max(len(after) - 1, 1)
    return _with(kept, {index: first_ms + step * n for n, index in enumerate(after)}, "even")


def _at(value: object) -> float | None:
    return number(obj(value).get("at_ms"))


def _with(kept: Stream, times: Mapping[int, float | None], pace: str) -> Stream:
    chunks = tuple(replace(chunk, at_ms=times.get(chunk.index)) for chunk in kept.chunks)
    return replace(kept, chunks=chunks, pace=pace)


def stream(record: dict[str, Any], errors: object = None) -> Stream | None:
    """The stream of a record, or None where none was kept.

    `errors` is the header's `stream_errors` entry for this record: error items at their indices.
    """
    if not isinstance(record.get("events"), list):
        return None
    kept = items(record["events"])
    placed = {item["item"]: item.get("error") for item in map(obj, items(errors)) if _placed(item)}
    return Stream(tuple(_merge(kept, placed)), _assemble(kept))


def _placed(item: dict[str, Any]) -> bool:
    return isinstance(item.get("item"), int)


def _merge(kept: list[Any], errors: dict[int, Any]) -> Iterator[Chunk]:
    index = 0
    for position, item in enumerate(kept):
        while index in errors:
            yield _error(index, errors.pop(index))
            index += 1
        yield _chunk(index, item, f"/events/{position}")
        index += 1
    for place in sorted(errors):  # behind the last good item, also past the end
        yield _error(place, errors[place])


def _error(index: int, report: object) -> Chunk:
    said = text(obj(report).get("message")) or exact.compact(report)
    return Chunk(index, "error", "", said, "", is_error=True)


def _chunk(index: int, item: object, pointer: str) -> Chunk:
    members = obj(item)
    event = obj(members.get("value")) if members.get("item") == "event" else members
    tell = _TELLERS.get(text(event.get("event")))
    if tell is None:
        shown = members.get("value") if "item" in members else item
        return Chunk(index, "unknown", "", exact.compact(shown), pointer)
    kind, said = tell(event)
    return Chunk(index, kind, _part_name(event), said, pointer)


def _part_name(event: dict[str, Any]) -> str:
    name = event.get("part", event.get("id"))
    return "" if name is None else str(name)


def _start(event: dict[str, Any]) -> tuple[str, str]:
    kind = text(event.get("kind")) or text(pick(event, "kind", "kind"))
    return "start", " ".join(filter(None, [kind, text(event.get("name"))]))


def _delta(event: dict[str, Any]) -> tuple[str, str]:
    delta = obj(event.get("delta"))
    kind = text(delta.get("delta")) or "delta"
    said = text(delta.get("text")) or text(delta.get("json"))
    return kind, said or exact.compact(delta)


def _end(event: dict[str, Any]) -> tuple[str, str]:
    content = obj(event.get("content"))
    name = text(pick(content, "function", "name"))
    return "end", " ".join(filter(None, [text(content.get("type")), name]))


_TELLERS: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "start": _start,
    "block_start": _start,
    "text": lambda event: ("text", text(event.get("text"))),
    "reasoning": lambda event: ("reasoning", text(event.get("text"))),
    "arguments": lambda event: ("arguments", text(event.get("json"))),
    "block_delta": _delta,
    "end": _end,
    "block_end": _end,
    "final": lambda event: ("final", exact.compact(event)),
}


def _assemble(kept: list[Any]) -> tuple[Part, ...]:
    """Parts in the order they started; one that never ended is made of its fragments."""
    made: dict[str, Part] = {}
    texts: dict[str, list[str]] = {}
    names: dict[str, tuple[str, str]] = {}
    for position, item in enumerate(kept):
        event = obj(obj(item).get("value"))
        name, kind = _part_name(event), text(event.get("event"))
        if kind == "start":
            names[name] = (text(event.get("kind")), text(event.get("name")))
            texts[name] = []
        elif kind == "end":
            made[name] = rig_parts.part(event.get("content"), f"/events/{position}/value/content")
        elif name in texts:
            texts[name].append(text(event.get("text")) or text(event.get("json")))
    return tuple(made.get(name) or _open_part(*names[name], "".join(texts[name])) for name in names)


def _open_part(kind: str, name: str, said: str) -> Part:
    if kind == "tool_call":
        return Call("", name, None, "", invalid=said)
    return Reasoning(said, "") if kind == "reasoning" else Text(said, "")
