"""One record of an effect log: the exact bytes it came in, and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewyn_sdk import facts
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.facts import Json, ResponseFacts
from rewyn_sdk.jsontext import Scanner, decode_text


@dataclass(slots=True)
class EffectRecord:
    """A record as it was written, in any shape.

    `value` is the whole decoded record with its unknown keys. `raw` holds its original bytes; for
    a record restored from a continuation line they are compact JSON of the restored record, and
    `source_line` holds the line itself.
    """

    value: Json
    raw: bytes
    source_line: bytes | None = None

    @classmethod
    def loads(cls, data: bytes | str, *, strict: bool = False) -> EffectRecord:
        """Read one record; DecodeError if the text is no JSON object (strict: no R44 record)."""
        scanner = Scanner(decode_text(data), strict=strict)
        start = scanner.skip(scanner.start)
        value, end = scanner.value(start, depth=2)
        scanner.end(end)
        record = cls.of(value, scanner.text[start:end])
        if strict:
            record.check()
        return record

    @classmethod
    def of(cls, value: Any, text: str, source_line: str | None = None) -> EffectRecord:
        """A record of a decoded value and its text; DecodeError if it is no object."""
        if not isinstance(value, dict):
            raise DecodeError(f"a record must be an object, not {type(value).__name__}")
        return cls(value, to_bytes(text), None if source_line is None else to_bytes(source_line))

    def check(self) -> None:
        """DecodeError if Rig 0.44 would not decode this record."""
        from rewyn_sdk.r44 import RECORD  # a quarter of the import time, and only for strict use

        RECORD(self.value)

    @property
    def id(self) -> int | None:
        """The effect's id, None if it has none (or none that is an integer)."""
        found = self.value.get("id")
        return found if type(found) is int else None

    @property
    def key(self) -> str | None:
        """The handler key."""
        return facts.as_text(self.value.get("key"))

    @property
    def kind(self) -> Json:
        """The request as the handler got it, tagged by `effect`."""
        return facts.as_object(self.value.get("kind"))

    @property
    def effect(self) -> str | None:
        """The effect's tag, such as `tool_call`."""
        return facts.as_text(self.kind.get("effect"))

    @property
    def family(self) -> str | None:
        """The family as headers spell it: `tool` for a `tool_call`; an unknown tag as it is."""
        return facts.FAMILIES.get(self.effect or "", self.effect)

    @property
    def name(self) -> str | None:
        """The tool's name or the label of a custom effect; None for the other families."""
        field = {"tool": "name", "custom": "kind"}.get(self.family or "")
        return facts.as_text(self.kind.get(field)) if field else None

    @property
    def outcome(self) -> Json:
        """`{"Ok": …}` or `{"Err": …}`."""
        return facts.as_object(self.value.get("outcome"))

    @property
    def ok(self) -> Json | None:
        """The answer of an `Ok`, None of an `Err`."""
        return facts.as_object(self.outcome["Ok"]) if "Ok" in self.outcome else None

    @property
    def error(self) -> Json | None:
        """The report of an `Err`, None of an `Ok`."""
        return facts.as_object(self.outcome["Err"]) if "Err" in self.outcome else None

    @property
    def parent(self) -> int | None:
        """The id of the effect from inside whose handler this one was made."""
        found = self.value.get("parent")
        return found if type(found) is int else None

    @property
    def scope(self) -> str | None:
        """The program of a shared log that made this effect."""
        return facts.as_text(self.value.get("scope"))

    @property
    def tool_output(self) -> Json | None:
        """What the tool published, None for nothing."""
        found = self.value.get("tool_output")
        return found if isinstance(found, dict) else None

    @property
    def tool_output_missing(self) -> bool:
        """Whether the record lacks the field, which R44 requires."""
        return "tool_output" not in self.value

    @property
    def events(self) -> list[Any] | None:
        """The kept items of a stream, None if none were kept (which is not the empty list)."""
        found = self.value.get("events")
        return found if isinstance(found, list) else None

    @property
    def stream_origin(self) -> Json | None:
        """Who a kept stream said it was from."""
        found = self.value.get("stream_origin")
        return found if isinstance(found, dict) else None

    @property
    def streams(self) -> bool:
        """Whether this is a completion that was asked to stream."""
        return self.effect == "completion" and self.kind.get("stream") is True

    @property
    def request(self) -> Json | None:
        """The request of a completion or a rerank."""
        found = self.kind.get("request")
        return found if isinstance(found, dict) else None

    @property
    def history(self) -> list[Any]:
        """The messages of a completion request, in every shape; empty for other families."""
        return facts.request_history(self.request)

    @property
    def choice(self) -> list[Any]:
        """The parts a completion answered."""
        return facts.as_list((self.ok or {}).get("choice"))

    @property
    def facts(self) -> ResponseFacts:
        """Who answered."""
        return facts.response_facts(self.outcome)

    @property
    def usage(self) -> Json | None:
        """The usage as recorded; absent counters were not reported."""
        return facts.usage(self.outcome)

    @property
    def finish_reason(self) -> str | None:
        """The finish reason as one word."""
        return facts.finish_reason(self.outcome)

    @property
    def failure(self) -> Json | None:
        """The error report, or the error of a tool that did not succeed; None if all went well."""
        return facts.failure(self.outcome)


def to_bytes(text: str) -> bytes:
    """The bytes a text came from, with the bytes of "surrogatepass" for a raw lone surrogate."""
    return text.encode("utf-8", "surrogatepass")
