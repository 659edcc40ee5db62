"""From a request's parts to items ready to store: redacted, read, hashed, priced.

All of it happens before the transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.utils import timezone

from runs import prices
from runs.accounts.models import Project
from runs.formats import jsonbytes, record, run_fields, times
from runs.formats.body import Sent
from runs.formats.record import Facts
from runs.formats.run_fields import RunFields
from runs.formats.times import Times
from runs.messages.loose import clean
from runs.redaction import Mark, Redactor
from runs.redaction import rules as redaction_rules
from runs.refusals import ItemRefused, Refused, Rejected

_INSIDE_A_LOG = 2
"""Brackets around a record in its log: they count towards the nesting a reader takes."""


@dataclass(slots=True, eq=False)
class Item:
    """One record on its way in. `seq` is set when its position is decided."""

    index: int
    position: int | None
    raw: bytes
    facts: Facts
    content_hash: str
    times: Times
    source: bytes | None = None
    wire: bytes | None = None
    marks: list[Mark] = field(default_factory=list)
    original: bytes | None = None
    """The record's bytes as received, if something was taken out of them."""
    cost: Decimal | None = None
    seq: int = 0
    depth: int = 0
    counted: bool = False
    name: str = ""
    provider: str = ""
    inferred: bool = False
    """Name and provider are not the record's own but those of its key."""


@dataclass(slots=True)
class Intake:
    """Everything one request brings, ready to store."""

    items: list[Item]
    rejected: list[Rejected]
    fields: RunFields
    source: str
    has_log: bool
    log_at: str
    header: bytes | None
    header_lines: list[tuple[int, str]]
    extra: dict[str, bytes]
    times: dict[str, Times]
    wire: dict[str, bytes]
    wire_marks: dict[str, list[Mark]]
    warnings: list[dict[str, Any]]
    bytes_received: int
    received_at: datetime
    is_named: bool = False
    """Facts of the run were given beside the body."""
    fills_only: bool = False
    """The run is named by its content alone: sent again, it changes nothing that is known of it."""
    is_final: bool = False

    def record(self, index: int, member: str | None) -> str:
        """Where in the body a record is, or a member of it."""
        record = f"{self.log_at}records[{index}]"
        return f"{record}.{member}" if member else record


def prepare(project: Project, sent: Sent, body: bytes, names: Mapping[str, str]) -> Intake:
    """Read a request's parts. Refused if the request cannot be taken as a whole.

    `names` are facts of the run given beside the body (such as `agent`); they win.
    """
    if len(sent.records) > settings.INGEST_MAX_RECORDS:
        limit = settings.INGEST_MAX_RECORDS
        raise Refused("too_many", f"At most {limit} records a request.", "records", limit=limit)
    redactor = redaction_rules.for_project(project.redaction_rules)
    dirty = redactor.may_hold_secrets(body)
    if names:
        names = jsonbytes.read(redactor.json(json.dumps(dict(names)).encode())[0])
    intake = _without_records(sent, len(body), redactor if dirty else None, names)
    reader = _Reader(project, sent, intake, redactor if dirty else None)
    for index, raw in enumerate(sent.records):
        reader.take(index, raw)
    return intake


def _without_records(
    sent: Sent, size: int, redactor: Redactor | None, names: Mapping[str, str]
) -> Intake:
    warnings = [{"code": code, "message": message, "seq": None} for code, message in sent.warnings]
    intake = Intake(
        items=[],
        rejected=[],
        fields=RunFields(),
        source=sent.source,
        has_log=sent.has_log,
        log_at=sent.log_at,
        header=sent.header,
        header_lines=sent.header_lines,
        extra=sent.extra,
        times={},
        wire=sent.wire,
        wire_marks={},
        warnings=warnings,
        bytes_received=size,
        received_at=timezone.now(),
    )
    run = sent.run
    if redactor is not None:
        run = _redact_the_rest(intake, redactor, run)
    if intake.header is not None:
        _warn_of_doubled_key(intake, intake.header, "the header")
    if run is not None:
        _warn_of_doubled_key(intake, run, "`run`")
        intake.fields = run_fields.read(run)
    beside = run_fields.names_of(dict(names))
    intake.fields.names |= beside
    intake.is_named = bool(beside)
    _read_times(sent, intake)
    return intake


def _redact_the_rest(intake: Intake, redactor: Redactor, run: bytes | None) -> bytes | None:
    taken: list[Mark] = []

    def scrub(data: bytes, where: str) -> bytes:
        data, marks = redactor.json(data)
        taken.extend(marks)
        for mark in marks:
            message = clean(f"{mark.rule} taken out of {where}{mark.path}")
            intake.warnings.append({"code": "redacted", "message": message, "seq": None})
        return data

    def clean_name(name: str) -> str:
        name, found = redactor.text(name)
        for rule, _ in found:
            message = f"{rule} taken out of a key of the log"
            intake.warnings.append({"code": "redacted", "message": message, "seq": None})
        return name

    if intake.header is not None:
        intake.header = scrub(intake.header, "header")
    if _by_place(redactor, taken):
        intake.header_lines = []
    intake.warnings = [w | {"message": redactor.text(w["message"])[0]} for w in intake.warnings]
    extra, intake.extra = intake.extra, {}
    for sent_name, data in extra.items():
        name = _unused(clean_name(sent_name), intake.extra)
        intake.extra[name] = scrub(data, name)
    intake.header_lines = [
        (place, scrub(line.encode(), "header").decode()) for place, line in intake.header_lines
    ]
    for effect_id, data in intake.wire.items():
        intake.wire[effect_id], marks = redactor.json(data)
        if marks:
            intake.wire_marks[effect_id] = marks
    return None if run is None else scrub(run, "run")


def _by_place(redactor: Redactor, marks: Iterable[Mark]) -> bool:
    """Whether something went by where it stands: in a line of JSON Lines it stands elsewhere, and
    what says how to read the line may have that name. Such lines are written anew when they are
    asked for."""
    return any(mark.rule in redactor.fields.rules for mark in marks)


def _unused(name: str, names: Mapping[str, Any]) -> str:
    """Two secrets have the same name once they are taken out; neither may replace the other."""
    number = 1
    while (unused := name if number == 1 else f"{name}-{number}") in names:
        number += 1
    return unused


def _warn_of_doubled_key(intake: Intake, data: bytes, where: str) -> None:
    key = jsonbytes.doubled_key(data, jsonbytes.read(data))
    if key is not None:
        intake.warnings.append(doubled_key_warning(key, None, where))


def doubled_key_warning(key: str, seq: int | None, where: str) -> dict[str, Any]:
    message = f"doubled key {key[:80]!r} in {where}, the last one counts"
    return {"code": "doubled_key", "message": clean(message), "seq": seq}


def _read_times(sent: Sent, intake: Intake) -> None:
    if sent.times is None:
        return
    every = times.of_envelope_at_once(sent.times)
    if every is not None:
        _check_times(len(every))
        intake.times = every
        return
    members = jsonbytes.Document(sent.times).members(field="times")
    _check_times(len(members))
    for effect_id, raw in members.items():
        field = f"times.{clean(effect_id[:80])}"
        try:
            intake.times[effect_id] = times.of_envelope(jsonbytes.read(bytes(raw)), field)
        except Refused as refused:
            its_id = clean(effect_id[:200])
            intake.rejected.append(
                Rejected(None, its_id, refused.code, refused.message, refused.field)
            )


def _check_times(count: int) -> None:
    limit = settings.INGEST_MAX_RECORDS
    if count > limit:
        raise Refused("too_many", f"At most {limit} times a request.", "times", limit=limit)


class _Reader:
    """Takes record by record; what cannot be kept becomes a rejection."""

    def __init__(
        self, project: Project, sent: Sent, intake: Intake, redactor: Redactor | None
    ) -> None:
        self.overrides = project.price_overrides
        self.sent = sent
        self.intake = intake
        self.redactor = redactor
        self.max_depth = settings.INGEST_MAX_DEPTH - _INSIDE_A_LOG

    def take(self, index: int, raw: bytes) -> None:
        try:
            item = self._item(index, raw)
        except ItemRefused as refused:
            field = self.intake.record(index, refused.field)
            self.intake.rejected.append(
                Rejected(index, sent_id(raw), refused.code, refused.message, field)
            )
        else:
            self.intake.items.append(item)

    def _item(self, index: int, raw: bytes) -> Item:
        original, marks = raw, list[Mark]()
        if self.redactor is not None and not jsonbytes.depth_exceeds(raw, self.max_depth):
            raw, marks = self.redactor.json(raw)
        facts = record.read(raw, max_depth=self.max_depth)
        given = self.intake.times.get(facts.effect_id)
        item = Item(
            index=index,
            position=self.sent.positions[index] if self.sent.positions else None,
            raw=raw,
            facts=facts,
            content_hash=content_hash(raw),
            times=given or facts.times,
            source=self._source(index, marks),
            wire=self.intake.wire.get(facts.effect_id),
            marks=marks + self._wire_marks(facts.effect_id),
            original=original if marks else None,
            name=facts.name,
            provider=facts.provider,
        )
        self._price(item)
        return item

    def _wire_marks(self, effect_id: str) -> list[Mark]:
        held = self.intake.wire_marks.get(effect_id, ())
        return [Mark(f"wire{mark.path}", mark.rule, mark.hmac) for mark in held]

    def _source(self, index: int, marks: list[Mark]) -> bytes | None:
        line = self.sent.sources[index] if self.sent.sources else None
        if line is None or self.redactor is None:
            return line
        line, taken = self.redactor.json(line)
        return None if _by_place(self.redactor, (*marks, *taken)) else line

    def _price(self, item: Item) -> None:
        facts = item.facts
        if not facts.counts:
            return
        item.counted = True
        item.cost = prices.cost_of(
            facts.usage,
            family=facts.family,
            models=(facts.response_model, facts.name),
            provider=facts.provider,
            when=item.times.started_at or self.intake.received_at,
            overrides=self.overrides,
        )


def content_hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def sent_id(raw: bytes) -> str | None:
    """The id a refused record claims, as far as one can tell."""
    try:
        document = jsonbytes.Document(raw)
        value = document.members().get("id")
        told = b"null" if value is None else document.original(value)
        text = jsonbytes.read(told) if told.startswith(b'"') else told.decode()
    except Refused:
        return None
    return None if told == b"null" else clean(text[:200])
