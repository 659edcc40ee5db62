"""The tape of a run, drawn: read from the rows at hand, or kept while a long run is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.core.cache import cache

from runs.messages.loose import clean
from runs.models import Effect, Run
from runs.steps import timeline
from runs.steps.stretch import FAILED, Stretch
from runs.templatetags.stepper_tags import tape_ruler, tape_svg

SHORT = 100
"""A run of up to this many effects is read whole, with its times: its tape costs little."""
KEPT_SECONDS = 600
COLUMNS = ("seq", "family", "status", "started_at", "duration_ms", "name", "key", "depth")


@dataclass(frozen=True, slots=True)
class DrawnTape:
    axis: timeline.Axis
    height: int
    svg: str | Callable[[], str]
    ruler: str | Callable[[], str]


def tape_of(run: Run, around: Stretch) -> DrawnTape:
    """The tape of `run`; of a short one `around` has every effect with its time."""
    if run.last_seq <= SHORT:
        moments = [_moment(*(getattr(row, c) for c in COLUMNS)) for row in around.rows]
        short = timeline.tape(moments, run.last_seq)  # a step only moves its head: drawn when asked
        drawing = partial(tape_svg, short), partial(tape_ruler, short)
        return DrawnTape(short.axis, short.height, *drawing)
    key = f"tape:{run.pk}:{run.effect_count}:{run.updated_at.timestamp()}"
    tape: DrawnTape | None = cache.get(key)
    if tape is None:
        rows = Effect.objects.filter(run_id=run.pk).order_by("seq").values_list(*COLUMNS)
        tape = _drawn(run, [_moment(*row) for row in rows.iterator(chunk_size=5000)])
        cache.set(key, tape, KEPT_SECONDS)
    return tape


def _drawn(run: Run, moments: list[timeline.Moment]) -> DrawnTape:
    tape = timeline.tape(moments, run.last_seq)
    return DrawnTape(tape.axis, tape.height, tape_svg(tape), tape_ruler(tape))


def _moment(
    seq: int,
    family: str,
    status: str,
    started_at: datetime | None,
    duration: float | None,
    name: str,
    key: str,
    depth: int,
) -> timeline.Moment:
    start, said = timeline.ms(started_at), clean(name or key)
    return timeline.Moment(seq, family, status in FAILED, start, duration, said, depth)
