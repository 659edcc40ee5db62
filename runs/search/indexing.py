"""Effects become search text, and their media attachments, some time after they came in.

No message says that there is something to do, so none can be lost: effects are numbered as they
are stored, and `SearchState` holds the number up to which they are indexed. Where transactions
commit out of order a number may be passed before its effect is seen; it is looked for again
during `GAP_SECONDS`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, pairwise
from operator import or_

from django.db import IntegrityError
from django.db.models import F, Q, QuerySet

from runs import bulk
from runs.accounts.models import Project
from runs.models import Effect, Family, Run
from runs.search import index
from runs.search.index import Stored
from runs.search.models import SearchState, SearchText
from runs.search.rows import Row, rows
from runs.search.texts import Conversation
from runs.storage import attachments, segments

logger = logging.getLogger(__name__)
BATCH = 100
"""Effects indexed in one transaction."""
BATCH_BYTES = 2_000_000
LEASE_SECONDS = 60.0
GAP_SECONDS = 600.0
GAPS_KEPT = 100
EARLIER_CALLS = 6
"""Calls before a batch that are read to know what the conversation has had, the last with all."""
EARLIER_OTHERS = 30
HEAVY = 1_000_000
"""Bytes of a record that is not read for that."""
ATTEMPTS = 3
LAG_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Lag:
    """Runs of a project with effects that are not searched yet; `more` where counting stopped."""

    runs: int
    more: bool = False


class Busy(RuntimeError):
    """Another worker has the lease."""


class LeaseLost(RuntimeError):
    """Another worker has taken over; it goes on from the mark."""


def index_pending(limit: int = 100_000) -> int:
    """Index up to about `limit` effects; how many it were. Does nothing while another does it."""
    state = _take_lease()
    if state is None:
        return 0
    done = 0
    try:
        while done < limit and (count := _index_batch(state)):
            done += count
    except LeaseLost:
        logger.warning("search.lease_lost")
    finally:
        _mine(state).update(lease_until=0)
    return done


def is_pending() -> bool:
    """Whether there is anything to index: one look at an index."""
    through = SearchState.objects.filter(pk=1).values_list("indexed_through", flat=True).first()
    return Effect.objects.filter(pk__gt=through or 0).exists()


def lag(project: Project) -> Lag:
    """How far the index is behind, for one project."""
    state = SearchState.objects.filter(pk=1).first() or SearchState()
    waiting = Effect.objects.filter(pk__gt=state.indexed_through)
    behind = waiting.order_by("pk").values_list("run_id", flat=True)[: LAG_COUNTED * 20]
    runs = Run.objects.of(project).filter(pk__in=set(behind)) if behind else Run.objects.none()
    count = runs.count()
    return Lag(count, more=len(behind) == LAG_COUNTED * 20)


def is_behind(run: Run) -> bool:
    """Whether some effect of the run is not searched yet."""
    through = SearchState.objects.filter(pk=1).values_list("indexed_through", flat=True).first()
    return Effect.objects.filter(run=run, pk__gt=through or 0).exists()


def rebuild() -> int:
    """Index everything anew, replacing what is there; how many effects there were to do.

    Searches go on meanwhile. Raises Busy where another worker does not let go.
    """
    state = _take_lease_patiently()
    _mine(state).update(indexed_through=0, gaps=[], lease_until=0)
    count = Effect.objects.count()
    while is_pending():
        if not index_pending(BATCH):
            time.sleep(0.2)  # the worker is at it
    return count


# --- One at a time ------------------------------------------------------------------------------


def _take_lease() -> SearchState | None:
    now = time.time()
    SearchState.objects.get_or_create(pk=1)
    free = SearchState.objects.filter(pk=1, lease_until__lt=now)
    if not free.update(lease_until=now + LEASE_SECONDS, turn=F("turn") + 1):
        return None
    return SearchState.objects.get(pk=1)


def _take_lease_patiently() -> SearchState:
    until = time.monotonic() + LEASE_SECONDS
    while (state := _take_lease()) is None:
        if time.monotonic() > until:
            raise Busy("Another worker is indexing and does not let go.")
        time.sleep(0.1)
    return state


def _mine(state: SearchState) -> QuerySet[SearchState]:
    return SearchState.objects.filter(pk=1, turn=state.turn)


# --- A batch ------------------------------------------------------------------------------------


def _index_batch(state: SearchState) -> int:
    """Index the next effects and move the mark; how many they were."""
    for attempt in range(ATTEMPTS):
        late, effects = _late(state), _next(state)
        if not late and not effects:
            return 0
        passed = _passed(state, late, effects)
        made = list(_made([*late, *effects]))
        media = attachments.found_in([*late, *effects])
        try:
            _store(state, [*late, *effects], made, media, passed)
        except IntegrityError:  # a run was deleted meanwhile: look again
            if attempt == ATTEMPTS - 1:
                raise
        else:
            break
    state.indexed_through, state.gaps = passed
    return len(late) + len(effects)


def _next(state: SearchState) -> list[Effect]:
    """The effects behind the mark: as many as a batch may weigh, at least one."""
    found = _read(Effect.objects.filter(pk__gt=state.indexed_through).order_by("pk"))[:BATCH]
    taken: list[Effect] = []
    weight = 0
    for effect in found:
        weight += effect.length
        if taken and weight > BATCH_BYTES:
            break
        taken.append(effect)
    return taken


def _late(state: SearchState) -> list[Effect]:
    """Effects of numbers that were passed when they were not there."""
    since = time.time() - GAP_SECONDS
    ranges = [Q(pk__range=(first, last)) for first, last, seen in state.gaps if seen > since]
    if not ranges:
        return []
    return list(_read(Effect.objects.filter(reduce(or_, ranges)).order_by("pk"))[:BATCH])


def _passed(
    state: SearchState, late: list[Effect], effects: list[Effect]
) -> tuple[int, list[list[float]]]:
    """The mark and the gaps behind it once these effects are indexed."""
    now = time.time()
    gaps = [gap for gap in state.gaps if gap[2] > now - GAP_SECONDS]
    for effect in late:
        gaps = [piece for gap in gaps for piece in _without(gap, effect.pk)]
    keys = [state.indexed_through, *(effect.pk for effect in effects)]
    gaps += [[a + 1, b - 1, now] for a, b in pairwise(keys) if b > a + 1]
    return keys[-1], gaps[-GAPS_KEPT:]


def _without(gap: list[float], key: int) -> list[list[float]]:
    first, last, seen = gap
    if not first <= key <= last:
        return [gap]
    return [[a, b, seen] for a, b in ((first, key - 1), (key + 1, last)) if a <= b]


def _store(
    state: SearchState,
    effects: list[Effect],
    made: list[Stored],
    media: attachments.Found,
    passed: tuple[int, list[list[float]]],
) -> None:
    """Write rows and mark together, if the lease is still ours and the runs are still there."""
    through, gaps = passed
    old = reduce(or_, (Q(run_id=run_id, seq__in=seqs) for run_id, seqs in _seqs(effects).items()))
    with bulk.turn():
        lease = time.time() + LEASE_SECONDS
        if not _mine(state).update(indexed_through=through, gaps=gaps, lease_until=lease):
            raise LeaseLost
        SearchText.objects.filter(old)._raw_delete("default")  # there is some in a rebuild
        there = set(_runs({row[0] for row in made}).values_list("pk", flat=True))
        index.here().insert([row for row in made if row[0] in there])
        attachments.keep(media)


def _seqs(effects: list[Effect]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for effect in effects:
        found.setdefault(effect.run_id, []).append(effect.seq)
    return found


# --- From effects to rows -----------------------------------------------------------------------


def _made(effects: list[Effect]) -> Iterator[Stored]:
    by_run = sorted(effects, key=lambda effect: (effect.run_id, effect.seq))
    projects = dict(_runs({e.run_id for e in effects}).values_list("pk", "project_id"))
    for run_id, ours in groupby(by_run, key=lambda effect: effect.run_id):
        if run_id in projects:
            yield from _of_run(run_id, projects[run_id], list(ours))


def _of_run(run_id: int, project_id: int, effects: list[Effect]) -> Iterator[Stored]:
    conversation = Conversation()
    for effect in _before(effects[0]):
        conversation.text_of(segments.read(effect))
    for effect in effects:
        for row in rows(conversation.text_of(segments.read(effect))):
            scope = _scope(run_id, project_id, effect.seq, row)
            yield (
                run_id,
                project_id,
                effect.seq,
                row.portion,
                row.part,
                row.is_long,
                row.body,
                row.words,
                scope,
            )


def _scope(run_id: int, project_id: int, seq: int, row: Row) -> list[str]:
    if row.part:
        return [index.of_pieces(run_id, seq, row.portion)]
    found = [index.of_project(project_id), index.of_run(run_id)]
    return [*found, index.LONG] if row.is_long else found


def _before(effect: Effect) -> list[Effect]:
    """What was said before a batch, as far as it is likely to be repeated in it."""
    if effect.seq == 1:
        return []
    before = Effect.objects.filter(run_id=effect.run_id, seq__lt=effect.seq)
    earlier = _read(before.order_by("-seq"))
    light = earlier.filter(length__lt=HEAVY)
    calls = light.filter(family=Family.COMPLETION)[:EARLIER_CALLS]
    others = light.exclude(family=Family.COMPLETION)[:EARLIER_OTHERS]
    return sorted([*calls, *others], key=lambda effect: effect.seq)


def _runs(keys: set[int]) -> QuerySet[Run]:
    """Also those that were deleted a moment ago and may come back."""
    return Run._base_manager.filter(pk__in=keys)


def _read(effects: QuerySet[Effect]) -> QuerySet[Effect]:
    """With the few columns that are needed of so many."""
    columns = ("run_id", "seq", "segment_id", "offset", "length")
    return effects.only(*columns, *segments.WIRE_COLUMNS)
