"""One request is one short transaction: nothing is parsed, priced or compressed inside it.

A new run is inserted at once. An existing one is read without a lock, the request planned and
packed against that, and then the run's row is locked by an UPDATE and looked at again: if another
request got in between, the plan is made anew. So writers of one run take turns, and of ten equal
requests one stores and nine find everything known.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError
from django.db.models import F, Q
from django.utils import timezone

from runs import bulk
from runs.accounts.models import Project
from runs.formats import jsonbytes
from runs.ingest import labels, ledger, nesting, plan, retime, rows
from runs.ingest.items import Intake
from runs.ingest.outcome import Outcome
from runs.ingest.plan import Known, Plan, Stored
from runs.messages.loose import clean
from runs.models import Effect, Run, RunLabel, Tombstone
from runs.refusals import Refused
from runs.storage import segments

_TRIES = 4
_IN_LIST = 900
"""Ids a query names one by one; more are met by reading the whole run's."""


class _Changed(Exception):
    """Another request wrote to the run between plan and lock."""


class _Version(NamedTuple):
    pk: int
    effect_count: int
    updated_at: Any


@dataclass(slots=True)
class _Existing:
    version: _Version
    stored: Stored


def store(project: Project, run_id: str, intake: Intake, *, may_create: bool) -> Outcome:
    """Store what is new of a request. Refused("not_found") if the run must be there and is not."""
    existing = None if may_create else _read(project, run_id, intake)
    for attempt in range(_TRIES):
        try:
            if existing is not None:
                return _append(project, run_id, intake, existing, last_try=attempt == _TRIES - 1)
            if not may_create:
                _refuse_deleted(project, run_id)
                raise Refused("not_found", "There is no run of this id.")
            outcome = _create(project, run_id, intake)
            if outcome is not None:
                return outcome
        except (_Changed, IntegrityError):
            if attempt == _TRIES - 1:
                raise
        existing = _read(project, run_id, intake)
    raise Refused("busy", "This run is being written to; send it again.")


# --- A new run ---------------------------------------------------------------------------------


def _create(project: Project, run_id: str, intake: Intake) -> Outcome | None:
    """Insert the whole run, None if it is there already."""
    made = plan.make(intake, Stored())
    if not made.new and _refuses_a_log(intake, made):
        return _outcome(project, run_id, made)  # nothing to make a run of
    run = ledger.open_run(project, run_id, intake.source, intake.received_at)
    change = _Change(run, intake, made)
    change.absorb()
    change.stamp()
    with bulk.turn():
        pk = bulk.insert_returning(Run, rows.RUN_COLUMNS, rows.run_values(run), ignore=True)
        _refuse_deleted(project, run_id)  # now that a deletion going on has ended
        if pk is None:
            return None
        run.pk = pk
        rows.write(run, made, change.packed)
        change.labels.write(is_new_run=True)
    return _outcome(project, run_id, made, created=True)


def _refuses_a_log(intake: Intake, made: Plan) -> bool:
    """Whether something was refused without which there is no run: all of it, or its records."""
    is_record = any(refused.index is not None for refused in made.rejected)
    return is_record or (bool(made.rejected) and intake.fields.raw is None)


def _refuse_deleted(project: Project, run_id: str) -> None:
    found = bulk.find(Tombstone, ("id",), project_id=project.pk, external_id=run_id)
    if found is None:
        return
    if Tombstone.objects.filter(pk=found[0], expires_at__gt=timezone.now()).exists():
        raise Refused("deleted", "This run was deleted; its id is refused for a while.")


# --- An existing run -----------------------------------------------------------------------------


def _read(project: Project, run_id: str, intake: Intake) -> _Existing | None:
    """What a plan needs of the run as it is now, None if there is no such run."""
    found = (
        Run.objects.filter(project=project, external_id=run_id)
        .values_list("pk", "effect_count", "updated_at", "last_seq", "header_rank")
        .first()
    )
    if found is None:
        return None
    version = _Version(*found[:3])
    stored = Stored(
        last_seq=found[3], header_rank=found[4], read=_stored_bytes, read_wire=_stored_wire
    )
    if intake.header is not None or intake.fields.raw is not None or intake.extra:
        stored.parts = segments.read_parts(version.pk)
    for known in _known(version.pk, intake):
        stored.known[known.effect_id] = known
        stored.taken[known.seq] = known.effect_id
    return _Existing(version, stored)


def _known(run_pk: int, intake: Intake) -> list[Known]:
    """The run's effects that this request meets by id or by position."""
    ids = {item.facts.effect_id for item in intake.items} | intake.times.keys() | intake.wire.keys()
    positions = {
        item.index + 1 if item.position is None else item.position for item in intake.items
    }
    positions = {place for place in positions if place <= settings.INGEST_MAX_POSITION}
    ids = {effect_id for effect_id in ids if clean(effect_id) == effect_id}  # no other is stored
    effects = Effect.objects.filter(run_id=run_pk)
    if len(ids) <= _IN_LIST:
        effects = effects.filter(Q(effect_id__in=ids) | Q(seq__in=positions))
    return [Known(*row) for row in effects.values_list(*_KNOWN)]


_KNOWN = (
    "pk",
    "seq",
    "effect_id",
    "content_hash",
    "original_hash",
    "started_at",
    "duration_ms",
    "first_token_ms",
    "wire_length",
    "segment_id",
    "offset",
    "length",
    "wire_segment_id",
    "wire_offset",
)


def _stored_bytes(known: Known) -> bytes:
    return segments.read_span(known.segment_id, known.offset, known.length)


def _stored_wire(known: Known) -> bytes:
    place = (known.wire_segment_id, known.wire_offset, known.wire_length)
    assert place[0] is not None and place[1] is not None and place[2] is not None
    return segments.read_span(place[0], place[1], place[2])


def _append(
    project: Project, run_id: str, intake: Intake, existing: _Existing, *, last_try: bool
) -> Outcome:
    made = plan.make(intake, existing.stored)
    outcome = _outcome(project, run_id, made)
    if outcome.is_conflict or (made.is_empty and not _says_more(intake)):
        return outcome
    packed: rows.Packed | None = rows.pack(made, intake)
    with bulk.turn():
        run = _lock(project, run_id, existing.version.pk)
        if _version(run) != existing.version:
            if not last_try:
                raise _Changed
            again = _read(project, run_id, intake)
            assert again is not None
            made, packed = plan.make(intake, again.stored), None
        if (other := ledger.other_end(run, intake.fields)) is not None:
            made.rejected.append(other)
        outcome = _outcome(project, run_id, made)
        if outcome.is_conflict:
            return outcome
        outcome.changed = _write(run, intake, made, packed)
    return outcome


def _says_more(intake: Intake) -> bool:
    """Whether the request may say something of the run that the plan does not show."""
    return intake.is_final or intake.is_named


def _lock(project: Project, run_id: str, pk: int) -> Run:
    """The run's row, which no other writer changes until the transaction ends. Refused where it was
    deleted a moment ago."""
    # An UPDATE locks the row on PostgreSQL; SQLite lets one writer in anyway.
    if not Run.objects.filter(pk=pk).update(last_seq=F("last_seq")):
        _refuse_deleted(project, run_id)
        raise Refused("not_found", "There is no run of this id.")
    return Run.objects.get(pk=pk)


def _version(run: Run) -> _Version:
    return _Version(run.pk, run.effect_count, run.updated_at)


def _write(run: Run, intake: Intake, made: Plan, packed: rows.Packed | None) -> list[str]:
    """Store the change; gives the names of what the sender says otherwise than before."""
    before, sorted_at = rows.run_values(run), run.sort_at
    stated = ledger.stated(run)
    run.ledger = deepcopy(run.ledger)  # so that what is changed in it differs from before
    change = _Change(run, intake, made, packed)
    change.retime()
    change.absorb(held=labels.held_by(run))
    if rows.run_values(run) != before or not change.made.is_empty or change.labels.found:
        change.stamp()
    rows.write(run, change.made, change.packed)
    labels.rename_stored(run, change.stale)
    change.nest.write_stored()
    change.labels.write(is_new_run=False)
    if run.sort_at != sorted_at:
        RunLabel.objects.filter(run=run).update(sort_at=run.sort_at)
    rows.update_run(run, before)
    return ledger.restated(stated, run)


# --- Both ----------------------------------------------------------------------------------------


class _Change:
    """A request brought to a run's row; nothing but the row in memory is changed."""

    def __init__(
        self, run: Run, intake: Intake, made: Plan, packed: rows.Packed | None = None
    ) -> None:
        self.run, self.intake, self.made = run, intake, made
        self.packed = packed or rows.pack(made, intake)
        self.nest = nesting.Nest(made.new)
        self.stale = labels.name_the_unnamed(run, made.new)
        self.labels = labels.Labels(run, made.new, intake.fields.tags)

    def absorb(self, held: Iterable[labels.Label] = ()) -> None:
        """Bring the row up to the request. `held` are the labels the run has."""
        run, intake = self.run, self.intake
        finished_at = intake.received_at if intake.is_final else None
        fields = intake.fields
        if run.pk and intake.fills_only:
            fields = ledger.unstated(run, fields)
        ledger.take_fields(run, fields, finished_at)
        self.nest.settle(run if run.pk else None)
        ledger.take_items(run, self.made.new)
        self.nest.correct(run)
        self.labels.absorb(held)
        header = self._take_header()
        ledger.add_warnings(run, rows.warnings_of(intake, self.made, self.nest.warnings))
        ledger.settle(run, header)

    def stamp(self) -> None:
        """Note that there was news, and what it weighs."""
        run = self.run
        run.updated_at = self.intake.received_at
        run.bytes_received += self.intake.bytes_received
        run.bytes_stored += self.packed.size

    def retime(self) -> None:
        """Give known effects the times this request brings."""
        retime.known_effects(self.run, self.made.timed, self.intake)

    def _take_header(self) -> dict[str, Any] | None:
        """Rank the header that is kept; gives it if it is another than before."""
        made = self.made
        if made.header_rank is not None:
            self.run.header_rank = made.header_rank
        value = jsonbytes.read(made.parts["header"]) if "header" in made.parts else None
        return value if isinstance(value, dict) else None


def _outcome(project: Project, run_id: str, made: Plan, created: bool = False) -> Outcome:
    return Outcome(
        run_id=run_id,
        url=f"/p/{project.slug}/runs/{run_id}",
        created=created,
        stored=len(made.new),
        duplicate=made.duplicate,
        rejected=made.rejected,
    )
