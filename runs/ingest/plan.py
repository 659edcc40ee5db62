"""Which items of a request are new, known or refused, and where each new one stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from runs.formats import jsonbytes
from runs.ingest.items import Intake, Item, content_hash
from runs.messages.loose import clean
from runs.redaction import keyed_hash
from runs.refusals import Rejected

LAST_WORD = 2**31 - 1
"""The rank of the header that ends a run."""


class Known(NamedTuple):
    """What is stored of an effect, as far as a plan needs it."""

    pk: int
    seq: int
    effect_id: str
    content_hash: str
    original_hash: str
    started_at: datetime | None
    duration_ms: float | None
    first_token_ms: float | None
    wire_length: int | None
    segment_id: int
    offset: int
    length: int
    wire_segment_id: int | None
    wire_offset: int | None


@dataclass(slots=True)
class Stored:
    """The run as a plan sees it. `known` has at least what the request's ids and positions meet."""

    last_seq: int = 0
    header_rank: int = 0
    parts: dict[str, bytes] = field(default_factory=dict)
    """What the run has beside records (see `Segment.parts`), if the request brings any."""
    known: dict[str, Known] = field(default_factory=dict)
    taken: dict[int, str] = field(default_factory=dict)
    read: Callable[[Known], bytes] | None = None
    read_wire: Callable[[Known], bytes] | None = None


@dataclass(slots=True)
class Plan:
    new: list[Item] = field(default_factory=list)
    duplicate: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    timed: list[Known] = field(default_factory=list)
    """Known effects whose times the request brings or changes."""
    wired: list[Known] = field(default_factory=list)
    """Known effects whose wire exchange the request brings."""
    parts: dict[str, bytes] = field(default_factory=dict)
    """Parts of the run that are new or other than those stored."""
    header_rank: int | None = None
    """Set if the request's header is the one to keep."""

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.timed or self.wired or self.parts)


def make(intake: Intake, stored: Stored) -> Plan:
    """Decide about each item of the request against what is stored."""
    plan = Plan(rejected=list(intake.rejected))
    planner = _Planner(stored, plan, intake)
    for item in intake.items:
        planner.take(item)
    planner.settle_positions()
    spoken_of = {item.facts.effect_id for item in intake.items}
    spoken_of.update(refused.id for refused in intake.rejected if refused.id)
    _plan_times(intake, stored, plan, spoken_of)
    _plan_wire(intake, stored, plan, spoken_of)
    _plan_header(intake, stored, plan)
    _plan_envelope(intake, stored, plan)
    return plan


class _Planner:
    def __init__(self, stored: Stored, plan: Plan, intake: Intake) -> None:
        self.stored = stored
        self.plan = plan
        self.intake = intake
        self.fresh: dict[str, Item] = {}
        self.taken = dict(stored.taken)
        self.waiting: list[Item] = []

    def take(self, item: Item) -> None:
        effect_id = item.facts.effect_id
        held = self.stored.known.get(effect_id)
        limit = settings.INGEST_MAX_POSITION
        if held is None and item.position is not None and item.position > limit:
            self._reject_far(item)
            return
        twin = self.fresh.get(effect_id)
        if held is not None:
            self._meet(item, held.seq, self._conflict_with_stored(item, held))
        elif twin is not None:
            self._meet(item, twin.position, self._conflict_with_twin(item, twin))
        elif item.position is not None and item.position in self.taken:
            self._reject_position(item, self.taken[item.position])
        else:
            self._accept(item)

    def _accept(self, item: Item) -> None:
        self.fresh[item.facts.effect_id] = item
        if item.position is None:
            self.waiting.append(item)
        else:
            self._place(item, item.position)
        self.plan.new.append(item)

    def settle_positions(self) -> None:
        """Give those without a position one: a log's own where it is free, else after the last."""
        last = max(self.stored.last_seq, *self.taken, 0)
        far: set[Item] = set()
        for item in self.waiting:
            own = item.index + 1
            if not (self.intake.has_log and own not in self.taken):
                own = last + 1
            # One that somebody stated far off must not shut out those that follow the last one.
            if own > 2 * settings.INGEST_MAX_POSITION:
                far.add(item)
                self._reject_far(item)
                continue
            self._place(item, own)
            last = max(last, own)
        kept = (item for item in self.plan.new if item not in far)
        self.plan.new = sorted(kept, key=lambda item: item.seq)

    def _place(self, item: Item, seq: int) -> None:
        item.seq = seq
        self.taken[seq] = item.facts.effect_id

    def _meet(self, item: Item, seq: int | None, stored_hash: str | None) -> None:
        """The id is there already: a duplicate, unless content or position differ."""
        if stored_hash is not None:
            self._reject(
                item,
                "conflict",
                "This id is there with other content.",
                stored_hash=stored_hash,
                sent_hash=item.content_hash,
            )
        elif item.position is not None and seq is not None and item.position != seq:
            self._reject(item, "position_taken", f"This effect stands at position {seq}.")
        else:
            self.plan.duplicate += 1

    def _reject_far(self, item: Item) -> None:
        message = f"Positions go to {settings.INGEST_MAX_POSITION:,}."
        field = "positions" if item.position is None else f"positions[{item.index}]"
        effect_id = item.facts.effect_id
        self.plan.rejected.append(Rejected(item.index, effect_id, "invalid", message, field))

    def _reject_position(self, item: Item, other: str) -> None:
        message = f"Position {item.position} is that of effect {other}."
        self._reject(item, "position_taken", message)

    def _reject(self, item: Item, code: str, message: str, **hashes: str) -> None:
        field = self.intake.record(item.index, "id")
        if code == "position_taken":
            field = f"positions[{item.index}]"
        self.plan.rejected.append(
            Rejected(item.index, item.facts.effect_id, code, message, field, **hashes)
        )

    def _conflict_with_stored(self, item: Item, held: Known) -> str | None:
        """The stored hash if the contents differ, else None."""
        if item.content_hash == held.content_hash:
            return None
        if _same_before_redaction(item, held):
            return None
        assert self.stored.read is not None
        return None if same_json(item.raw, self.stored.read(held)) else held.content_hash

    def _conflict_with_twin(self, item: Item, twin: Item) -> str | None:
        if item.content_hash == twin.content_hash or same_json(item.raw, twin.raw):
            return None
        return twin.content_hash


def _same_before_redaction(item: Item, held: Known) -> bool:
    """Equal as received, though other rules took other things out of one of them."""
    original = item.raw if item.original is None else item.original
    if held.original_hash:
        return keyed_hash(original) == held.original_hash
    return item.original is not None and content_hash(original) == held.content_hash


def _plan_times(intake: Intake, stored: Stored, plan: Plan, spoken_of: set[str]) -> None:
    for effect_id, sent in intake.times.items():
        held = stored.known.get(effect_id)
        if held is None:
            if clean(effect_id[:200]) not in spoken_of:
                plan.rejected.append(_nobody(intake, effect_id, "times"))
        elif (held.started_at, held.duration_ms, held.first_token_ms) != (
            sent.started_at,
            sent.duration_ms,
            sent.first_token_ms,
        ):
            plan.timed.append(held)


def _plan_wire(intake: Intake, stored: Stored, plan: Plan, spoken_of: set[str]) -> None:
    for effect_id, data in intake.wire.items():
        held = stored.known.get(effect_id)
        if held is None:
            if clean(effect_id[:200]) not in spoken_of:
                plan.rejected.append(_nobody(intake, effect_id, "wire"))
        elif held.wire_length is None:
            plan.wired.append(held)
        elif not _is_stored_wire(stored, held, data):
            message, field = "This effect has another wire exchange already.", f"wire.{effect_id}"
            plan.rejected.append(Rejected(None, effect_id, "conflict", message, field))


def _is_stored_wire(stored: Stored, held: Known, data: bytes) -> bool:
    assert stored.read_wire is not None
    kept = stored.read_wire(held)
    return kept == data or same_json(kept, data)


def _plan_header(intake: Intake, stored: Stored, plan: Plan) -> None:
    """Keep the header of who knew most of the run; the one that ends it knew all."""
    if intake.header is None:
        return
    rank = LAST_WORD if intake.is_final else len(intake.items)
    held = stored.parts.get("header")
    if held is not None and rank < stored.header_rank:
        return
    is_same = held is not None and same_json(held, intake.header)
    if held is not None and not is_same and rank == stored.header_rank and not intake.is_final:
        plan.rejected.append(_other_header(held, intake.header, f"{intake.log_at}header"))
        return
    plan.header_rank = rank
    if not is_same:
        plan.parts["header"] = intake.header
    if intake.header_lines:
        lines = json.dumps(intake.header_lines).encode()
        if lines != stored.parts.get("header_lines"):
            plan.parts["header_lines"] = lines


def _other_header(held: bytes, sent: bytes, field: str) -> Rejected:
    """Two who know equally much of the run say different things: the first one stays."""
    hashes = {"stored_hash": content_hash(held), "sent_hash": content_hash(sent)}
    message = "The run has another header, from a log that knew as many effects."
    return Rejected(None, None, "conflict", message, field, **hashes)


def _plan_envelope(intake: Intake, stored: Stored, plan: Plan) -> None:
    if intake.extra and "log_extra" not in stored.parts:
        plan.parts["log_extra"] = jsonbytes.object_of(intake.extra)
    sent, held = intake.fields.raw, stored.parts.get("envelope")
    if sent is not None:
        merged = sent if held is None else merged_object(held, sent)
        if merged != held:
            plan.parts["envelope"] = merged


def merged_object(held: bytes, sent: bytes) -> bytes:
    """A JSON object with the members of a later one laid over it; null says nothing."""
    old, new = (jsonbytes.Document(data) for data in (held, sent))
    members = {name: old.original(raw) for name, raw in old.members().items()}
    later = {name: new.original(raw) for name, raw in new.members().items()}
    merged = members | {name: data for name, data in later.items() if data != b"null"}
    return held if merged == members else jsonbytes.object_of(merged)


def _nobody(intake: Intake, effect_id: str, member: str) -> Rejected:
    message = f"`{member}` names an effect that is not here."
    its_id = clean(effect_id[:200])
    return Rejected(None, its_id, "unknown_effect", message, f"{member}.{its_id[:80]}")


class _Number(str):
    """A number by its digits: `1` is not `1.0`, and neither is the text "1"."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def same_json(one: bytes, other: bytes) -> bool:
    """Equal but for white space, key order and the spelling of strings; numbers by their digits."""
    return bool(_exact(one) == _exact(other))


def _exact(data: bytes) -> Any:
    return json.loads(data, parse_int=_Number, parse_float=_Number)
