"""Rows of runs, effects, segments and labels from what a plan decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import bulk
from runs.ingest.items import Intake, Item, doubled_key_warning
from runs.ingest.plan import Plan
from runs.models import Effect, Run, Segment, SegmentKind
from runs.redaction import keyed_hash
from runs.storage import segments

RUN_COLUMNS = tuple(f.attname for f in Run._meta.concrete_fields if f.attname != "id")
_SEGMENT_COLUMNS = ("run_id", "kind", "data", "rest", "raw_size", "parts")
Place = tuple[int, int, int]
"""Where bytes lie: segment id, offset, length."""


@dataclass(slots=True)
class Packed:
    """The bytes of a plan, compressed; owners are effect ids in the order of the spans."""

    segments: dict[SegmentKind, list[segments.Packed]] = field(default_factory=dict)
    owners: dict[SegmentKind, list[str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(len(s.data) for held in self.segments.values() for s in held)


def pack(made: Plan, intake: Intake) -> Packed:
    """Compress what the plan stores. Records, wire exchanges and source lines lie apart."""
    packed = Packed()
    records = [(item.facts.effect_id, item.raw) for item in made.new]
    wire = [(item.facts.effect_id, item.wire) for item in made.new if item.wire is not None]
    wire += [(known.effect_id, intake.wire[known.effect_id]) for known in made.wired]
    lines = [(item.facts.effect_id, item.source) for item in made.new if item.source is not None]
    for kind, held, parts in (
        (SegmentKind.RECORDS, records, made.parts if records else {}),
        (SegmentKind.WIRE, wire, {}),
        (SegmentKind.SOURCE, lines, {}),
        (SegmentKind.RUN, [], {} if records else made.parts),
    ):
        if held or parts:
            packed.owners[kind] = [effect_id for effect_id, _ in held]
            packed.segments[kind] = list(segments.pack((data for _, data in held), parts))
    return packed


def run_values(run: Run) -> list[Any]:
    return [getattr(run, name) for name in RUN_COLUMNS]


def write(run: Run, made: Plan, packed: Packed) -> None:
    """Insert the plan's segments and effects, and give known effects their wire exchange."""
    places = _write_segments(run, packed)
    bulk.insert(Effect, _EFFECT_COLUMNS, [_effect_row(run, item, places) for item in made.new])
    wire = places.get(SegmentKind.WIRE, {})
    bulk.update(
        Effect,
        ("wire_segment_id", "wire_offset", "wire_length"),
        [(*wire[known.effect_id], known.pk) for known in made.wired],
    )


def update_run(run: Run, before: Sequence[Any]) -> None:
    """Store the columns of a run that changed."""
    after = run_values(run)
    changed = {
        name: new
        for name, old, new in zip(RUN_COLUMNS, before, after, strict=True)
        if not _same(old, new)
    }
    if changed:
        Run.objects.filter(pk=run.pk).update(**changed)


def _same(old: Any, new: Any) -> bool:
    return bool(
        bytes(old) == new if isinstance(old, memoryview) and new is not None else old == new
    )


def _write_segments(run: Run, packed: Packed) -> dict[SegmentKind, dict[str, Place]]:
    places: dict[SegmentKind, dict[str, Place]] = {}
    for kind, held in packed.segments.items():
        spans: list[Place] = []
        for segment in held:
            data = segments.split(segment.data)
            row = (run.pk, kind.value, *data, segment.raw_size, segment.parts or None)
            pk = bulk.insert_returning(Segment, _SEGMENT_COLUMNS, row)
            assert pk is not None
            spans += [(pk, offset, length) for offset, length in segment.spans]
        places[kind] = dict(zip(packed.owners[kind], spans, strict=True))
    return places


_NOWHERE = (None, None, None)


def _effect_row(
    run: Run, item: Item, places: dict[SegmentKind, dict[str, Place]]
) -> tuple[Any, ...]:
    """The values of `_EFFECT_COLUMNS`, in their order."""
    facts, used, when = item.facts, item.facts.usage, item.times
    effect_id = facts.effect_id
    wire = places[SegmentKind.WIRE][effect_id] if item.wire is not None else _NOWHERE
    line = places[SegmentKind.SOURCE][effect_id] if item.source is not None else _NOWHERE
    return (
        run.pk,
        item.seq,
        effect_id,
        facts.parent_id,
        item.depth,
        facts.scope,
        facts.family,
        facts.key,
        item.name,
        facts.response_model,
        item.inferred,
        item.provider,
        facts.api,
        facts.status,
        facts.stream,
        facts.finish_reason,
        when.started_at,
        when.duration_ms,
        when.first_token_ms,
        used.input,
        used.output,
        used.cache_read,
        used.cache_write,
        used.reasoning,
        used.total,
        item.cost,
        used.recorded_cost,
        item.counted,
        facts.summary,
        facts.request_size,
        facts.response_size,
        item.content_hash,
        [mark.as_json() for mark in item.marks] or None,
        "" if item.original is None else keyed_hash(item.original),
        *places[SegmentKind.RECORDS][effect_id],
        *wire,
        *line,
    )


_EFFECT_COLUMNS = (
    "run_id",
    "seq",
    "effect_id",
    "parent_id",
    "depth",
    "scope",
    "family",
    "key",
    "name",
    "response_model",
    "inferred",
    "provider",
    "api",
    "status",
    "stream",
    "finish_reason",
    "started_at",
    "duration_ms",
    "first_token_ms",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost",
    "recorded_cost",
    "counted",
    "summary",
    "request_size",
    "response_size",
    "content_hash",
    "redactions",
    "original_hash",
    "segment_id",
    "offset",
    "length",
    "wire_segment_id",
    "wire_offset",
    "wire_length",
    "source_segment_id",
    "source_offset",
    "source_length",
)


# --- Pieces of the run's row ---------------------------------------------------------------------


def warnings_of(intake: Intake, made: Plan, more: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What to say about this request's part of the run."""
    found = [*intake.warnings, *more]
    for item in made.new:
        if item.facts.doubled_key is not None:
            where = f"effect {item.facts.effect_id[:80]}"
            found.append(doubled_key_warning(item.facts.doubled_key, item.seq, where))
    return found
