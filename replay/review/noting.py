"""Divergences arise: what a replay has stored so far, held against what is known of it.

Asked as often as one likes, it gives the same: at the end of every attempt, whoever ends it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q, QuerySet

from replay.comparison.differences import Difference
from replay.models import CallState, Replay, ReplayEffect
from replay.review import clusters
from replay.review.counts import move
from replay.review.models import Cluster, Divergence, EventKind, ReviewEvent, State
from replay.review.people import Decider
from replay.review.turns import minimum_of, turn_of
from replay.rows import with_effects
from runs import bulk, statements

BATCH = 500
OVER = (CallState.ANSWERED.value, CallState.FAILED.value)
_NEEDED = ("id", "replay_id", "effect_id", "seq", "state", "difference", "summary", "error_text",
           "cause", "changes", "answer")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """A row that differs enough."""

    row: ReplayEffect
    digest: str
    cause: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """Why rows are other than they were: ignore rules (their names by position), applied by
    somebody."""

    rules: Mapping[int, Sequence[str]]
    by: Decider


@dataclass(slots=True)
class Found:
    """What is to be written."""

    new: list[Seen] = field(default_factory=list)
    changed: list[tuple[Divergence, Seen]] = field(default_factory=list)
    resolved: list[Divergence] = field(default_factory=list)
    replaced: list[Divergence] = field(default_factory=list)


def note(replay: Replay, because: Ruled | None = None) -> None:
    """Make divergences of a replay's rows, from the project's minimum class up. What changed did so
    by a retry, or `because` rules were applied."""
    current = statements.rows(Divergence, ("seq",), replay_id=replay.pk, is_current=True)
    known = [seq for (seq,) in current]
    seen = {one.row.seq: one for one in _seen(replay, minimum_of(replay.project_id), known)}
    if not seen and not known:
        return
    with bulk.turn():
        turn_of(replay.project_id)
        found = _held_against(replay, seen)
        _write(replay, found, because)


def _current(replay: Replay) -> QuerySet[Divergence]:
    return Divergence.objects.filter(replay=replay, is_current=True)


def _seen(replay: Replay, minimum: Difference, known: Sequence[int]) -> Iterator[Seen]:
    """Rows from the minimum up, and those noted before, whatever the minimum was then."""
    graver = tuple(each.value for each in Difference if each.severity >= minimum.severity)
    if known:
        changes = [each.value for each in Difference if each.is_change]
        wanted = Q(difference__in=graver) | Q(difference__in=changes, seq__in=known)
        some = ReplayEffect.objects.filter(wanted, replay=replay, state__in=OVER)
        rows = list(some.only(*_NEEDED).order_by("seq"))
    else:
        mine = {"replay_id": replay.pk, "state": OVER, "difference": graver}
        rows = statements.objects(ReplayEffect, _NEEDED, order="seq", **mine)
    for row in with_effects(rows, ("id", "key")):
        cause = tuple(row.cause) if row.cause is not None else _by_paths(row)
        key = row.effect.key if row.effect else ""
        digest = clusters.digest(row.difference, replay.run.agent, key, cause)
        yield Seen(row, digest, cause, _fingerprint(row, digest))


def _by_paths(row: ReplayEffect) -> tuple[str, ...]:
    """Of a row stored before causes were kept."""
    return tuple(sorted({clusters.general(change["path"]) for change in row.changes}))


def _fingerprint(row: ReplayEffect, digest: str) -> str:
    answer = bytes(row.answer) if row.answer else f"{row.summary}\n{row.error_text}".encode()
    return hashlib.blake2b(digest.encode() + answer, digest_size=16).hexdigest()


def _held_against(replay: Replay, seen: dict[int, Seen]) -> Found:
    """What is new, what a retry changed, and what it mended. A verdict stays with its answer."""
    found, left = Found(), dict(seen)
    known = {
        one.seq: one for one in statements.objects(Divergence, replay_id=replay.pk, is_current=True)
    }
    over = _over(replay, [seq for seq in known if seq not in seen])
    for seq, divergence in known.items():
        now = left.pop(seq, None)
        if now is not None and now.fingerprint == divergence.fingerprint:
            continue
        if now is None and seq not in over:
            continue  # it is being asked again
        if divergence.state != State.OPEN:
            found.replaced.append(divergence)
            found.new += [now] if now else []
        elif now is None:
            found.resolved.append(divergence)
        else:
            found.changed.append((divergence, now))
    found.new += left.values()
    return found


def _over(replay: Replay, seqs: Sequence[int]) -> set[int]:
    """Of these positions those whose answer no longer is what the divergence was made of."""
    if not seqs:
        return set()
    rows = ReplayEffect.objects.filter(replay=replay, seq__in=seqs, state__in=OVER)
    return set(rows.filter(~Q(difference="")).values_list("seq", flat=True))


def _write(replay: Replay, found: Found, because: Ruled | None) -> None:
    ids = _clusters(replay, [*found.new, *(seen for _, seen in found.changed)])
    changes: Counter[int] = Counter()
    if gone := [one.pk for one in (*found.replaced, *found.resolved)]:
        Divergence.objects.filter(pk__in=gone).update(is_current=False, version=F("version") + 1)
        resolved = Divergence.objects.filter(pk__in=[one.pk for one in found.resolved])
        resolved.update(state=State.RESOLVED)
    for divergence in found.resolved:
        changes[divergence.cluster_id] -= 1
    for divergence, seen in found.changed:
        changes[divergence.cluster_id] -= 1
        changes[ids[seen.digest]] += 1
        _change(divergence, seen, ids[seen.digest])
    made = [_divergence(replay, seen, ids[seen.digest]) for seen in found.new]
    statements.create(made)
    changes.update(one.cluster_id for one in made)
    _tell(found, because)
    more = len(made) - len(found.resolved)
    move("open", clusters=changes, runs={replay.run_id: more})


def _clusters(replay: Replay, seen: Sequence[Seen]) -> dict[str, int]:
    """The clusters of what was seen, by digest; those not there yet are made."""
    by_digest = {one.digest: one for one in seen}
    ids = _known_clusters(replay, list(by_digest))
    if new := [digest for digest in by_digest if digest not in ids]:
        made = [_cluster(replay, by_digest[digest]) for digest in new]
        statements.create(made, ignore=True)
        ids |= _known_clusters(replay, new)
    return ids


def _known_clusters(replay: Replay, digests: Sequence[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for start in range(0, len(digests), BATCH):
        some = tuple(digests[start : start + BATCH])
        mine: dict[str, Any] = {"project_id": replay.project_id, "digest": some}
        ids |= dict(tuple(row) for row in statements.rows(Cluster, ("digest", "id"), **mine))
    return ids


def _cluster(replay: Replay, seen: Seen) -> Cluster:
    return Cluster(
        project_id=replay.project_id,
        digest=seen.digest,
        difference=seen.row.difference,
        severity=Difference(seen.row.difference).severity,
        agent=replay.run.agent,
        effect_key=seen.row.effect.key if seen.row.effect else "",
        cause=list(seen.cause),
    )


def _divergence(replay: Replay, seen: Seen, cluster_id: int) -> Divergence:
    return Divergence(
        project_id=replay.project_id,
        cluster_id=cluster_id,
        run_id=replay.run_id,
        replay=replay,
        row=seen.row,
        seq=seen.row.seq,
        difference=seen.row.difference,
        summary=seen.row.summary or seen.row.error_text[:200],
        fingerprint=seen.fingerprint,
    )


def _change(divergence: Divergence, seen: Seen, cluster_id: int) -> None:
    """An open one says what the retry gave; nobody has judged it yet."""
    Divergence.objects.filter(pk=divergence.pk).update(
        cluster_id=cluster_id,
        row=seen.row,
        difference=seen.row.difference,
        summary=seen.row.summary or seen.row.error_text[:200],
        fingerprint=seen.fingerprint,
        version=F("version") + 1,
    )


def _tell(found: Found, because: Ruled | None) -> None:
    told = [(EventKind.RESOLVED, one, "") for one in found.resolved]
    told += [(EventKind.REPLACED, one, "") for one in found.replaced]
    told += [(EventKind.REPLACED, one, seen.row.difference) for one, seen in found.changed]
    events = [
        ReviewEvent(
            project_id=one.project_id,
            cluster_id=one.cluster_id,
            divergence=one,
            count=1,
            **({"kind": kind} if because is None else _ruled(because, one, difference)),
        )
        for kind, one, difference in told
    ]
    if events:
        ReviewEvent.objects.bulk_create(events, batch_size=BATCH)


def _ruled(because: Ruled, one: Divergence, difference: str) -> dict[str, Any]:
    detail = {"rules": list(because.rules.get(one.seq, ())), "difference": difference}
    by = {"user": because.by.user, "signed": because.by.signed}
    return {"kind": EventKind.BY_RULE, "detail": detail, **by}
