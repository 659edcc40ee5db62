"""Effect logs: read every shape, as a JSON document or JSON Lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import Scanner, decode_text
from rewyn_sdk.lines import LineReader
from rewyn_sdk.record import EffectRecord
from rewyn_sdk.shapes import detect

HEADER_FIELDS = (
    "deliveries",
    "delivery_limitations",
    "stream_errors",
    "run_spec",
    "handlers",
    "signature",
    "hooks",
    "required",
    "bus",
    "programs",
)
REQUIRED_HEADER_FIELDS = ("handlers", "signature", "hooks", "required")


@dataclass(frozen=True, slots=True)
class LogWarning:
    """Something a log says that Rig would refuse or lose; `path` such as `records[3]`."""

    code: str
    message: str
    path: str = ""


@dataclass(slots=True)
class EffectLog:
    """A decoded log. `source` is "json" or "jsonl", `shape` one of `shapes.SHAPES`.

    `extra` holds unknown keys of the top object.
    """

    header: dict[str, Any]
    records: list[EffectRecord]
    shape: str = "R44"
    source: str = "json"
    warnings: list[LogWarning] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def loads(cls, data: bytes | str, *, strict: bool = False) -> EffectLog:
        """Read a log. DecodeError if it is none (strict: if Rig 0.44 would not decode it)."""
        scanner = Scanner(decode_text(data), strict=strict)
        reader = _Reader(scanner)
        log = reader.read()
        log.shape = detect(log.header, log.records)
        log.warnings += _warnings(log)
        if strict:
            log.check()
        return log

    def check(self) -> None:
        """DecodeError, with its path, if Rig 0.44 would not decode this log."""
        from rewyn_sdk.r44 import LOG_HEADER  # heavy, and only for strict use
        from rewyn_sdk.schema import unknown

        for key in self.extra:
            raise unknown("field", key, ("header", "records"))
        _at("header", lambda: LOG_HEADER(self.header))
        for index, record in enumerate(self.records):
            _at(f"records[{index}]", record.check)

    def to_r44(self) -> EffectLog:
        """The log in the shape that is written; its `warnings` say what was lost or invented."""
        from rewyn_sdk.convert import to_r44  # it imports this module

        return to_r44(self)

    def dumps(self, *, indent: int | None = 2) -> str:
        """The log as one JSON document, laid out as Rig's committed logs are.

        It is written in the shape it has; see `to_r44` for the others. EncodeError for a value
        that JSON cannot hold.
        """
        values = [record.value for record in self.records]
        document = {"header": ordered_header(self.header), "records": values, **self.extra}
        return rig_json(document, indent=indent) + "\n"

    def dumps_lines(self) -> str:
        """The log as JSON Lines: one header line, then whole records."""
        lines = [{"header": ordered_header(self.header)}, *(r.value for r in self.records)]
        return "".join(rig_json(line) + "\n" for line in lines)

    def record(self, effect_id: int) -> EffectRecord | None:
        """The record of an id (the later one, if two claim it)."""
        return next((r for r in reversed(self.records) if r.id == effect_id), None)


def ordered_header(header: dict[str, Any]) -> dict[str, Any]:
    """The header with its fields in Rig's order, unknown ones last."""
    known = {name: header[name] for name in HEADER_FIELDS if name in header}
    return {**known, **{name: value for name, value in header.items() if name not in known}}


def _at(path: str, check: Callable[[], Any]) -> None:
    try:
        check()
    except DecodeError as error:
        raise error.inside(path) from None


class _Reader:
    """Walks the top object, and hands over to the line reader when it is no whole log."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.top: dict[str, Any] = {}
        self.records: list[EffectRecord] = []
        self.warnings: list[LogWarning] = []

    def read(self) -> EffectLog:
        start = self.scanner.skip(self.scanner.start)
        end = self.scanner.members(start, self._member)
        if "records" not in self.top:
            return self._read_lines(start)
        self.scanner.end(end)
        self._take_notes("")
        if self.scanner.strict and "header" not in self.top:
            raise DecodeError("missing field `header`")
        header = self.top.pop("header", {})
        self.top.pop("records")
        if not isinstance(header, dict):
            raise DecodeError("the header must be an object", path="header")
        return EffectLog(header, self.records, warnings=self.warnings, extra=self.top)

    def _read_lines(self, start: int) -> EffectLog:
        self.scanner.notes.clear()
        lines = LineReader(self.scanner)
        lines.read(start)
        warnings = [LogWarning(*note) for note in lines.notes]
        return EffectLog(lines.header, lines.records, source="jsonl", warnings=warnings)

    def _member(self, key: str, place: int) -> int:
        if key in self.top:
            if self.scanner.strict:
                self.scanner.fail(f"duplicate field `{key}`", place)
            self.warnings.append(LogWarning("doubled_key", "the last one counts", key))
        if key != "records":
            self.top[key], end = self.scanner.value(place, depth=1)
            self._take_notes(key)
            return end
        if self.scanner.peek(place) != "[":
            self.scanner.fail("records must be an array", place)
        self.top[key], self.records = None, []
        return self.scanner.items(place, self._record)

    def _record(self, place: int) -> int:
        value, end = self.scanner.value(place, depth=2)
        path = f"records[{len(self.records)}]"
        if not isinstance(value, dict):
            raise DecodeError("a record must be an object", path=path)
        self._take_notes(path)
        self.records.append(EffectRecord.of(value, self.scanner.text[place:end]))
        return end

    def _take_notes(self, path: str) -> None:
        self.warnings += [LogWarning(code, text, path) for code, text in self.scanner.notes]
        self.scanner.notes.clear()


def _warnings(log: EffectLog) -> list[LogWarning]:
    """What the whole log makes one wonder about."""
    found = [LogWarning("unknown_key", f"unknown key `{key}`", key) for key in log.extra]
    known = (*HEADER_FIELDS, *(("format",) if log.shape == "F1" else ()))
    for key in log.header:
        if key not in known and key != "format":
            found.append(LogWarning("unknown_header_key", f"unknown key `{key}`", f"header.{key}"))
    if log.header.get("format", 1) not in (0, 1):
        found.append(LogWarning("newer_format", "a newer format", "header.format"))
    for key in REQUIRED_HEADER_FIELDS:
        if key not in log.header:
            found.append(LogWarning("missing_header_key", f"no `{key}`", "header"))
    return found + _record_warnings(log)


def _record_warnings(log: EffectLog) -> list[LogWarning]:
    found: list[LogWarning] = []
    seen: set[int] = set()
    for index, record in enumerate(log.records):
        path = f"records[{index}]"
        if record.id is None:
            found.append(LogWarning("missing_id", "no id", path))
        elif record.id in seen:
            found.append(LogWarning("doubled_id", f"effect:{record.id} again", path))
        else:
            seen.add(record.id)
        if record.tool_output_missing and log.shape != "F1":
            found.append(LogWarning("missing_tool_output", "no `tool_output`", path))
    return found
