"""The bodies that ingest takes, cut into parts; each record keeps its very bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgspec
from django.conf import settings
from msgspec import Raw

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.log import EffectLog
from rewyn_sdk.record import EffectRecord
from runs.formats import jsonbytes
from runs.formats.jsonbytes import Document
from runs.messages.loose import clean
from runs.refusals import Refused

MOST_MEMBERS = 1000
"""Of a log: header, records, and what it has beside them."""
_LINE_MEMBERS = {"header", "kind", "outcome", "record"}


@dataclass(slots=True)
class Sent:
    """One request's parts. A part that was not sent is None (or empty)."""

    run: bytes | None = None
    header: bytes | None = None
    extra: dict[str, bytes] = field(default_factory=dict)
    """Members of the log beside header and records."""
    records: list[bytes] = field(default_factory=list)
    sources: list[bytes | None] | None = None
    """The line each record of JSON Lines came as, where it is not the record itself."""
    header_lines: list[tuple[int, str]] = field(default_factory=list)
    """Header lines of JSON Lines: (number of records before it, line)."""
    positions: list[Any] | None = None
    times: bytes | None = None
    wire: dict[str, bytes] = field(default_factory=dict)
    source: str = "rig"
    has_log: bool = False
    log_at: str = ""
    """What stands before a place in the log to name it in the body: `log.`, or nothing."""
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def canonical_hash(self) -> str:
        """Names a log by what it says: equal for other white space and key order, other for other
        digits, as an effect's content is.

        blake2b-128 over the canonical JSON of {"header", "records"}, numbers by their digits.
        """
        header, *records = map(jsonbytes.canonical, (self.header or b"{}", *self.records))
        text = b'{"header":%b,"records":[%b]}' % (header, b",".join(records))
        return blake2b(text, digest_size=16).hexdigest()


def read_envelope(data: bytes) -> Sent:
    """The body of `POST /runs`: run, log, times, wire. A bare log in its place is taken too."""
    document = Document(data)
    sent = _ordinary(document)
    if sent is not None:
        return sent
    top = document.members()
    if "run" not in top and "log" not in top and "records" not in top:
        raise Refused("invalid", "Send an object with `log`, `run` or both.", "log")
    return _envelope(document, top)


def read_log(data: bytes) -> Sent:
    """The body of `POST /effect-logs`: a log as JSON or JSON Lines, or a whole envelope.

    The messages are for people too, who drop all kinds of files on the page that takes logs.
    """
    document = Document(data)
    top = _members_or_lines(document)
    if top is None:
        return _lines(document.data)
    if "records" in top:
        if not bytes(top["records"]).startswith(b"["):
            raise Refused("invalid", "This is no effect log: `records` is no list.", "records")
        return _log(document, top, Sent(source="rig"))
    if "log" in top or "run" in top:
        return _envelope(document, top)
    if not _LINE_MEMBERS.isdisjoint(top):
        return _lines(document.data)
    raise Refused("invalid", "This is no effect log: it has no `records`.", "records")


def read_batch(data: bytes) -> Sent:
    """The body of `POST /runs/{id}/effects`: records, positions, times, wire."""
    document = Document(data)
    top = document.members()
    sent = _beside(document, top, Sent(source="envelope"))
    if "records" in top:
        sent.records = _records(document, top["records"], "records")
    if (positions := _value(document, top, "positions")) is not None:
        sent.positions = _positions(positions, len(sent.records))
    if not (sent.records or sent.times or sent.wire or "records" in top):
        raise Refused("invalid", "Send `records`, `times` or `wire`.", "records")
    return sent


def read_finish(data: bytes) -> Sent:
    """The body of `POST /runs/{id}/finish`: header, and members of `run` (inside it or bare)."""
    if not data.strip():
        return Sent(source="envelope")
    document = Document(data)
    top = document.members()
    sent = Sent(source="envelope")
    if "header" in top:
        sent.header = _header(document, top["header"])
    if "run" in top:
        sent.run = document.original(top["run"])
    else:
        bare = {n: document.original(raw) for n, raw in top.items() if n != "header"}
        sent.run = jsonbytes.object_of(bare)
    return sent


_ABSENT = Raw(b"null")


class _Log(msgspec.Struct, forbid_unknown_fields=True):
    header: Raw
    records: list[Raw]


class _Ordinary(msgspec.Struct, forbid_unknown_fields=True):
    log: _Log
    run: Raw = _ABSENT
    times: Raw = _ABSENT
    wire: Raw = _ABSENT


_ordinary_envelope = msgspec.json.Decoder(_Ordinary)


def _ordinary(document: Document) -> Sent | None:
    """Cut an envelope that holds nothing unusual in one go; None for any other."""
    try:
        cut = _ordinary_envelope.decode(document.data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    records = [bytes(raw) for raw in cut.log.records]
    sent = Sent(source="envelope", has_log=True, log_at="log.", records=records)
    sent.header = _header(document, cut.log.header, "log.header")
    beside = {"times": cut.times, "wire": cut.wire}
    sent.run = None if _is_null(cut.run) else bytes(cut.run)
    return _beside(document, beside, sent)


def _envelope(document: Document, top: dict[str, Raw]) -> Sent:
    sent = _beside(document, top, Sent(source="envelope"))
    if _is_given(top, "run"):
        sent.run = document.original(top["run"])
    if _is_given(top, "log"):
        return _log(document, document.members(top["log"], "log"), sent, prefix="log.")
    return _log(document, top, sent) if "records" in top else sent


def _log(document: Document, top: dict[str, Raw], sent: Sent, prefix: str = "") -> Sent:
    sent.has_log, sent.log_at = True, prefix
    if "records" not in top:
        raise Refused("invalid", "A log needs `records`.", f"{prefix}records")
    sent.records = _records(document, top["records"], f"{prefix}records")
    if "header" in top:
        sent.header = _header(document, top["header"], f"{prefix}header")
    known = {"header", "records"} if prefix else {"header", "records", "times", "wire", "run"}
    _check_count(top, MOST_MEMBERS, prefix.rstrip(".") or None)
    sent.extra = {n: document.original(raw) for n, raw in top.items() if n not in known}
    for name, data in sent.extra.items():
        sent.warnings.append(("unknown_key", clean(f"unknown key `{name[:80]}`")))
        _check_depth(data, 1, f"{prefix}{clean(name[:80])}")
    return sent


def _beside(document: Document, top: dict[str, Raw], sent: Sent) -> Sent:
    if _is_given(top, "times"):
        sent.times = document.original(top["times"])
    if _is_given(top, "wire"):
        members = document.members(top["wire"], "wire")
        _check_count(members, settings.INGEST_MAX_RECORDS, "wire")
        sent.wire = {key: document.original(raw) for key, raw in members.items()}
        for key, data in sent.wire.items():
            _check_depth(data, 2, f"wire.{clean(key[:80])}")
    return sent


def _check_count(members: dict[str, Raw], most: int, field: str | None) -> None:
    """Refused if there are more: each costs a look, and millions fit into a request."""
    if len(members) > most:
        raise Refused("too_many", f"At most {most:,} members.", field, limit=most)


def _check_depth(data: bytes, around: int, field: str) -> None:
    """Refused if a value, with the brackets around it, nests deeper than is read back."""
    if jsonbytes.depth_exceeds(data, settings.INGEST_MAX_DEPTH - around):
        raise Refused("too_deep", "This nests too deeply.", field)


def _is_given(top: dict[str, Raw], name: str) -> bool:
    return name in top and not _is_null(top[name])


def _is_null(raw: Raw) -> bool:
    return memoryview(raw).nbytes == 4 and bytes(raw) == b"null"


def _records(document: Document, raw: Raw, field: str) -> list[bytes]:
    return [document.original(item) for item in document.items(raw, field)]


def _header(document: Document, raw: Raw, field: str = "header") -> bytes | None:
    data = document.original(raw)
    if data == b"null":
        return None
    if jsonbytes.depth_exceeds(data, jsonbytes.MAX_DEPTH - 1):
        raise Refused("too_deep", "The header nests too deeply.", field)
    if not data.startswith(b"{"):
        raise Refused("invalid", "The header must be an object.", field)
    return data


def _value(document: Document, top: dict[str, Raw], name: str) -> Any:
    return jsonbytes.read(document.original(top[name])) if name in top else None


def _positions(value: Any, count: int) -> list[int]:
    if not isinstance(value, list) or len(value) != count:
        raise Refused("invalid", f"Expected a list of {count} positions.", "positions")
    for index, position in enumerate(value):
        if type(position) is not int or position < 1:
            message = "Expected a whole number: positions count from 1."
            raise Refused("invalid", message, f"positions[{index}]")
    return value


# --- JSON Lines --------------------------------------------------------------------------------


def _members_or_lines(document: Document) -> dict[str, Raw] | None:
    """The members of a JSON document, None where several values follow one another."""
    try:
        return document.members()
    except Refused as refused:
        if "trailing characters" in str(refused):
            return None
        if refused.code == "invalid":
            raise Refused("invalid", "This is no effect log: it is no object.") from None
        raise


def _lines(data: bytes) -> Sent:
    """JSON Lines: continuation lines become whole records, and each keeps its line."""
    try:
        log = EffectLog.loads(data)
    except DecodeError as error:
        raise Refused("malformed", f"Not a log as JSON Lines: {error}.") from None
    odd = [w for w in log.warnings if w.code == "not_a_number"]
    if odd:
        raise Refused("malformed", f"The body is not valid JSON: {odd[0].message}.")
    header_lines = _header_lines(data, len(log.records))
    return Sent(
        header=_header_of(header_lines) or _written(log.header),
        records=[_record(record) for record in log.records],
        sources=[record.source_line for record in log.records],
        header_lines=header_lines,
        source="rig-jsonl",
        has_log=True,
    )


def _record(record: EffectRecord) -> bytes:
    """A record's own bytes, or those of one restored from a continuation line."""
    return record.raw if record.source_line is None else _written(record.value)


def _written(value: Any) -> bytes:
    """A value nobody sent as such, as JSON in UTF-8."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise Refused("malformed", "A number is out of range for a restored record.") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate has only its escape
        return json.dumps(value, separators=(",", ":")).encode()


def _header_of(lines: list[tuple[int, str]]) -> bytes | None:
    """The header that the lines tell together, each member as it came; the last of a name wins."""
    found = [_header_in(line.encode()) for _, line in lines]
    if len(found) == 1:
        return found[0]
    members: dict[str, bytes] = {}
    for header in filter(None, found):
        document = Document(header)
        members |= {n: document.original(raw) for n, raw in document.members().items()}
    return jsonbytes.object_of(members) if members else None


def _header_in(line: bytes) -> bytes | None:
    document = Document(line)
    return _header(document, document.members()["header"])


def _header_lines(data: bytes, count: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    records = 0
    for line in filter(bytes.strip, data.split(b"\n")):
        if _is_header(line):
            found.append((records, line.strip().decode()))
        else:
            records += 1
    return found if records == count else []


def _is_header(line: bytes) -> bool:
    if not line.lstrip().startswith(b'{"header"'):
        return False
    try:
        return Document(line).members().keys() == {"header"}
    except Refused:
        return False
