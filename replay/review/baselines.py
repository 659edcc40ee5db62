"""Accepted answers: what later replays are held against, beside what was recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from replay.comparison import answers
from replay.comparison.compare import Comparison, compare, document
from replay.dialects.answer import Answer
from replay.ignore_rules.rule import Rule
from replay.models import CallState
from replay.review.models import Baseline, Divergence, EventKind, ReviewEvent, State
from replay.review.people import Decider
from replay.review.turns import turn_of
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.exact import exact_json
from rewyn_sdk.facts import as_object
from rewyn_sdk.match import normalised
from runs import bulk
from runs.prepared import prepared

BATCH = 500
KEPT_NAMES = 4096
_asked: dict[str, str] = {}
MOST = 20
"""Accepted answers of one request that a new answer is held against, the newest."""


@prepared
def _keys(project_id: int) -> QuerySet[Baseline, str]:
    held = Baseline.objects.holding().filter(project_id=project_id)
    return held.values_list("effect_key", flat=True).distinct()


def request_hash(record: Mapping[str, Any], content: str = "") -> str:
    """The name of what a record asked: as matching compares it, so ids of calls do not matter.

    `content` is the hash of the record's bytes, where that is known: with it the name is found once
    for all that answer the same record.
    """
    if content in _asked:
        return _asked[content]
    name = _request_hash(record)
    if content:
        if len(_asked) >= KEPT_NAMES:
            _asked.clear()
        _asked[content] = name
    return name


def _request_hash(record: Mapping[str, Any]) -> str:
    kind = as_object(record.get("kind"))
    with suppress(DecodeError):  # of an older shape: as it stands
        kind = normalised(kind)
    return _hash(kind)


def answer_hash(answer: Answer) -> str:
    """The name of what was said and called."""
    said = document(answer)
    said.pop("finish_reason")
    return _hash(said)


def _hash(value: Any) -> str:
    data = exact_json(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Accepted:
    """The baselines of a project as one replay meets them: a project without any costs a query."""

    def __init__(self, project_id: int) -> None:
        self._project_id = project_id
        self._keys = set(_keys(project_id))

    def of(self, effect_key: str, asked: str) -> Sequence[Baseline]:
        """The accepted answers to a request, newest first."""
        if effect_key not in self._keys:
            return ()
        holding = Baseline.objects.holding().filter(project_id=self._project_id)
        of_request = holding.filter(effect_key=effect_key, request_hash=asked)
        return list(of_request.order_by("-pk")[:MOST])


def mildest(
    found: Comparison,
    accepted: Iterable[Baseline],
    answer: Answer,
    schema: Any = None,
    rules: Sequence[Rule] = (),
) -> tuple[Comparison, Baseline | None]:
    """The mildest comparison: `found`, with the recording, or that with an accepted answer."""
    best: tuple[Comparison, Baseline | None] = found, None
    for baseline in accepted:
        other = compare(answers.unpack(bytes(baseline.answer)), answer, schema, rules)
        if other.difference.severity < best[0].difference.severity:
            best = other, baseline
    return _told(*best)


def _told(found: Comparison, baseline: Baseline | None) -> tuple[Comparison, Baseline | None]:
    if baseline is None:
        return found, None
    if found.difference.is_change:  # without who accepted what: it would read as accepted itself
        differs = f"differs from baseline: {found.summary or found.difference.label}"
        return replace(found, summary=differs), baseline
    why = f": {baseline.reason}" if baseline.reason else ""
    said = f"; {found.summary}" if found.ignored is not None and found.summary else ""
    told = f"same as baseline{said}, accepted by {baseline.signed}{why}"
    return replace(found, summary=told), baseline


def keep(event: ReviewEvent, only: Collection[int] | None = None) -> int:
    """Make the answers that a verdict accepted baselines, or `only` some; how many there are."""
    covered = Divergence.objects.filter(decision=event, row__state=CallState.ANSWERED)
    if only is not None:
        covered = covered.filter(pk__in=only)
    covered = covered.exclude(row__answer=None).exclude(row__request_hash="")
    columns = ("pk", "run_id", "row__effect__key", "row__request_hash", "row__answer")
    kept, last = 0, 0
    while rows := list(covered.filter(pk__gt=last).order_by("pk").values_list(*columns)[:BATCH]):
        last = rows[-1][0]
        made = [_baseline(event, *row) for row in rows]
        Baseline.objects.bulk_create(made, ignore_conflicts=True)
        kept += len(made)
    return kept


def _baseline(
    event: ReviewEvent, divergence: int, run: int, key: str, asked: str, data: bytes
) -> Baseline:
    return Baseline(
        project_id=event.project_id,
        run_id=run,
        divergence_id=divergence,
        event=event,
        effect_key=key,
        request_hash=asked,
        answer_hash=answer_hash(answers.unpack(bytes(data))),
        answer=bytes(data),
        reason=event.reason,
        signed=event.signed,
    )


def withdraw(members: QuerySet[Divergence], event: ReviewEvent) -> None:
    """End the baselines of divergences whose verdict another event replaces."""
    holding = Baseline.objects.holding().filter(divergence__in=members.order_by().values("pk"))
    holding.update(revoked_at=event.created_at, revoked_by=event.signed)


def take_back(members: QuerySet[Divergence], event: ReviewEvent) -> None:
    """End the baselines of divergences whose verdict is undone. Where somebody else accepted the
    same answer, that verdict still holds, and now the answer is a baseline by it."""
    holding = Baseline.objects.holding().filter(divergence__in=members.order_by().values("pk"))
    ended = set(holding.values_list("effect_key", "request_hash", "answer_hash"))
    withdraw(members, event)
    asked = sorted({request for _, request, _ in ended})
    for start in range(0, len(asked), BATCH):
        _keep_of_others(members, event.project_id, asked[start : start + BATCH], ended)


def _keep_of_others(
    members: QuerySet[Divergence], project_id: int, asked: Sequence[str], ended: set[Any]
) -> None:
    """Make baselines of accepted answers that were none because there was one already."""
    others = Divergence.objects.filter(
        project=project_id, state=State.ACCEPTED, is_current=True, row__request_hash__in=asked
    )
    others = others.exclude(pk__in=members.order_by().values("pk")).filter(baselines=None)
    columns = ("pk", "decision", "row__effect__key", "row__request_hash", "row__answer")
    found: dict[int, list[int]] = {}
    rows = others.exclude(row__answer=None).values_list(*columns)
    for pk, decision, key, request, answer in rows:
        if (key, request, answer_hash(answers.unpack(bytes(answer)))) in ended:
            found.setdefault(decision, []).append(pk)
    for event in ReviewEvent.objects.filter(pk__in=found):
        if event.detail.get("baseline"):
            keep(event, found[event.pk])


def keep_again(event: ReviewEvent, replaced_by: ReviewEvent) -> None:
    """Bring back the baselines of a verdict that ended when another one replaced it."""
    ended = Baseline.objects.filter(event=event, revoked_at=replaced_by.created_at)
    if only := list(ended.values_list("divergence", flat=True)):
        keep(event, only)


def revoke(baseline: Baseline, by: Decider, reason: str = "") -> bool:
    """End a baseline: later replays are held against the recording again. False if it was over."""
    with bulk.turn():
        turn_of(baseline.project_id)
        holding = Baseline.objects.holding().filter(pk=baseline.pk)
        if not holding.exists():
            return False
        event = ReviewEvent.objects.create(
            project_id=baseline.project_id,
            cluster_id=baseline.divergence.cluster_id,
            divergence_id=baseline.divergence_id,
            kind=EventKind.BASELINE_REVOKED,
            reason=reason,
            count=1,
            user=by.user,
            signed=by.signed,
        )
        holding.update(revoked_at=event.created_at, revoked_by=by.signed)
    return True


def why_revoked(ended: Iterable[Baseline]) -> dict[int, str]:
    """The reason that the event which ended a baseline was given, by the baseline's key: the two
    have one moment."""
    over = [one for one in ended if one.revoked_at is not None]
    if not over:
        return {}
    clusters = {one.divergence.cluster_id for one in over}
    events = ReviewEvent.objects.filter(cluster__in=clusters, kind=EventKind.BASELINE_REVOKED)
    events = events.filter(created_at__in={one.revoked_at for one in over}).exclude(reason="")
    reasons = {(e.cluster_id, e.created_at): e.reason for e in events}
    return {
        one.pk: reasons.get((one.divergence.cluster_id, one.revoked_at or one.created_at), "")
        for one in over
    }
