"""Verdicts, their undoing, assignments and comments: the only place that decides.

Whoever decides says which version they saw. What somebody else changed in between is told, never
overwritten: `AlreadyDecided` holds what the first one did.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet

from replay.comparison.differences import Difference
from replay.models import Experiment
from replay.notifications import events, inbox
from replay.review import baselines
from replay.review.counts import move
from replay.review.models import (
    REASON,
    VERDICTS,
    Cluster,
    Divergence,
    EventKind,
    ReviewEvent,
    State,
)
from replay.review.people import Decider
from replay.review.turns import turn_of
from runs import bulk
from runs.accounts.models import User
from runs.comments import writing
from runs.comments.models import Comment
from runs.comments.names import shown_name
from runs.messages.loose import clean
from runs.prepared import prepared
from runs.refusals import Refused, not_longer, not_unkept

NAMED = 200
"""Characters of a name that the history keeps."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What somebody decided: a verdict, why, and whether answers accepted become baselines."""

    verdict: str
    reason: str = ""
    baseline: bool = True


class AlreadyDecided(Exception):
    """Somebody was first. `event` is what they did, None where there is nothing left to decide."""

    def __init__(self, event: ReviewEvent | None) -> None:
        super().__init__(told(event) if event else "There is nothing left to decide here.")
        self.event = event


def told(event: ReviewEvent) -> str:
    """What an event did, in a sentence."""
    who = event.signed or "A retry"
    if event.kind == EventKind.VERDICT:
        why = f" (“{event.reason}”)" if event.reason else ""
        return f"Already decided by {who}: {event.verdict}{why}."
    if event.kind == EventKind.UNDO:
        return f"{who} took back a verdict meanwhile."
    if event.kind == EventKind.BY_RULE:
        return f"{who} applied the ignore rules meanwhile: {by_rule(event)}."
    return "A retry gave another answer meanwhile."


def by_rule(event: ReviewEvent) -> str:
    """What the ignore rules did to a divergence."""
    names = ", ".join(event.detail.get("rules") or ())
    if now := event.detail.get("difference"):
        what = f"{Difference(now).label} under the ignore rules"
        return f"{what}: {names}" if names else what
    return f"ignored by rule: {names}"


def checked(verdict: str, reason: str, *, baseline: bool = True) -> Ruling:
    """A ruling of what was sent; Refused for what cannot be one."""
    if verdict not in VERDICTS:
        raise Refused("invalid", f"A verdict is one of {', '.join(VERDICTS)}.", "verdict")
    return Ruling(verdict, checked_reason(reason), baseline)


def checked_reason(reason: str) -> str:
    """A reason as it is kept; Refused for one that cannot be."""
    not_unkept(reason, "reason")
    reason = clean(reason.replace("\r\n", "\n")).strip()
    not_longer(reason, REASON, "reason", "A reason")
    return reason


# --- Verdicts ----------------------------------------------------------------------------------


def decide(divergence: Divergence, ruling: Ruling, by: Decider, *, seen: int) -> ReviewEvent:
    """Judge one; a verdict that was there is replaced when `seen` is its version."""
    with bulk.turn():
        turn_of(divergence.project_id)
        now = Divergence.objects.get(pk=divergence.pk)
        _known(seen, now.version)
        if now.version != seen or not now.is_current:
            raise AlreadyDecided(_last_of(now))
        detail = {"before": now.state, "decision": now.decision_id}
        event = _event(now.cluster_id, now.project_id, by, ruling, divergence=now, detail=detail)
        _rule(Divergence.objects.filter(pk=now.pk), event, ruling)
    return event


def decide_cluster(
    cluster: Cluster,
    ruling: Ruling,
    by: Decider,
    *,
    seen: int,
    up_to: int,
    of: Experiment | None = None,
    instead_of: ReviewEvent | None = None,
) -> ReviewEvent:
    """Judge the open members up to `up_to`, the newest that was there to be seen, or those `of`
    an experiment alone; with `instead_of` those that this earlier verdict covers."""
    with bulk.turn():
        turn_of(cluster.project_id)
        everyone = Divergence.objects.filter(cluster=cluster)
        mine = everyone if of is None else everyone.filter(replay__experiment=of)
        members = mine.filter(state=State.OPEN, run__deleted_at=None, pk__lte=up_to)
        version = Cluster.objects.get(pk=cluster.pk).version
        _known(seen, version)
        if version != seen:
            raise AlreadyDecided(_last_over(cluster, mine, members))
        detail: dict[str, Any] = {"before": State.OPEN, "decision": None}
        if instead_of is not None:
            members = mine.filter(decision=instead_of)
            detail = {"before": instead_of.verdict, "decision": instead_of.pk}
        if not members.exists():
            raise AlreadyDecided(_last_over(cluster, mine, members))
        if of is not None:
            detail["experiment"] = clean(of.name or of.public_id)[:NAMED]
        event = _event(cluster.pk, cluster.project_id, by, ruling, detail=detail)
        _rule(members, event, ruling)
    return event


def _known(seen: int, version: int) -> None:
    """Refused for a version that nobody can have seen: it is no sign that somebody was first."""
    if not 0 <= seen <= version:
        raise Refused("invalid", f"There is no such version; it is at {version}.", "version")


def _event(
    cluster_id: int, project_id: int, by: Decider, ruling: Ruling, **more: Any
) -> ReviewEvent:
    return ReviewEvent(
        cluster_id=cluster_id,
        project_id=project_id,
        kind=EventKind.VERDICT,
        verdict=ruling.verdict,
        reason=ruling.reason,
        user=by.user,
        signed=by.signed,
        **more,
    )


def _rule(members: QuerySet[Divergence], event: ReviewEvent, ruling: Ruling) -> None:
    """Give members a verdict: they are counted first, while they still tell what was before."""
    before, runs = _tally(members)
    event.count = sum(before.values())
    event.detail["baseline"] = ruling.baseline
    event.save()
    if before[State.ACCEPTED]:
        baselines.withdraw(members, event)
    members.order_by().update(state=ruling.verdict, decision=event, version=F("version") + 1)
    _count(event.cluster_id, before, Counter({ruling.verdict: event.count}), runs)
    if ruling.verdict == State.ACCEPTED and ruling.baseline:
        baselines.keep(event)
    if ruling.verdict == State.REGRESSION:
        events.regression_judged(event)


def _tally(members: QuerySet[Divergence]) -> tuple[Counter[str], Counter[int]]:
    """How many there are in each state, and in each run."""
    states: Counter[str] = Counter()
    runs: Counter[int] = Counter()
    found = members.order_by().values_list("state", "run_id").annotate(count=Count("pk"))
    for state, run_id, count in found:
        states[state] += count
        runs[run_id] += count
    return states, runs


def _count(cluster_id: int, before: Counter[str], after: Counter[str], runs: Counter[int]) -> None:
    opened = after[State.OPEN] - before[State.OPEN]
    sign = (opened > 0) - (opened < 0)
    for state in sorted({*before, *after}):
        change = {cluster_id: after[state] - before[state]}
        by_run = {run: sign * count for run, count in runs.items()}
        move(state, clusters=change, runs=by_run if state == State.OPEN else None)
    Cluster.objects.filter(pk=cluster_id).update(version=F("version") + 1)


def _last_of(divergence: Divergence) -> ReviewEvent | None:
    """What was done last to one: by itself, or with its cluster."""
    events = ReviewEvent.objects.exclude(kind=EventKind.COMMENT)
    if divergence.decision_id:
        return events.get(pk=divergence.decision_id)
    return events.filter(divergence=divergence).order_by("-pk").first() or _last_of_cluster(
        divergence.cluster
    )


def _last_of_cluster(cluster: Cluster) -> ReviewEvent | None:
    kinds = (EventKind.VERDICT, EventKind.UNDO)
    return ReviewEvent.objects.filter(cluster=cluster, kind__in=kinds).order_by("-pk").first()


def _last_over(
    cluster: Cluster, mine: QuerySet[Divergence], members: QuerySet[Divergence]
) -> ReviewEvent | None:
    """What was done last in a cluster; where none of those that were to be judged is left, the
    last verdict that covers some of them."""
    if members.exists():
        return _last_of_cluster(cluster)
    over = mine.exclude(decision=None).order_by("-decision")
    covering = over.select_related("decision").first()
    return covering.decision if covering else _last_of_cluster(cluster)


# --- Undo --------------------------------------------------------------------------------------


def undo(event: ReviewEvent, by: Decider) -> ReviewEvent:
    """Take a verdict back: what it still covers is as it was before. What somebody judged anew
    since stays; AlreadyDecided when that is all of it, or it was taken back already."""
    with bulk.turn():
        turn_of(event.project_id)
        if done := ReviewEvent.objects.filter(undoes=event).first():
            raise AlreadyDecided(done)
        members = Divergence.objects.filter(decision=event, is_current=True)
        states, runs = _tally(members)
        if not states:
            raise AlreadyDecided(_last_of_cluster(event.cluster))
        undone = _undo_event(event, by, sum(states.values()))
        baselines.take_back(members, undone)
        _restore(members, event, undone)
        back = Counter({event.detail["before"]: undone.count})
        _count(event.cluster_id, states, back, runs)
    return undone


def _undo_event(event: ReviewEvent, by: Decider, count: int) -> ReviewEvent:
    return ReviewEvent.objects.create(
        project_id=event.project_id,
        cluster_id=event.cluster_id,
        divergence_id=event.divergence_id,
        kind=EventKind.UNDO,
        verdict=event.verdict,
        count=count,
        undoes=event,
        user=by.user,
        signed=by.signed,
    )


def _restore(members: QuerySet[Divergence], event: ReviewEvent, undone: ReviewEvent) -> None:
    earlier = ReviewEvent.objects.filter(pk=event.detail["decision"]).first()
    members.order_by().update(
        state=event.detail["before"], decision=earlier, version=F("version") + 1
    )
    if earlier is not None:
        baselines.keep_again(earlier, event)


def last_verdict(user: User, project_id: int) -> ReviewEvent | None:
    """The newest verdict of a person that can be taken back."""
    return next(iter(_last_verdict(user.pk, project_id)), None)


@prepared
def _last_verdict(user_id: int, project_id: int) -> QuerySet[ReviewEvent]:
    mine = ReviewEvent.objects.filter(user_id=user_id, project_id=project_id)
    return mine.filter(kind=EventKind.VERDICT, undone_by=None).order_by("-pk")[:1]


# --- Beside verdicts ---------------------------------------------------------------------------


def assign(cluster: Cluster, whom: User | None, by: Decider) -> None:
    """Make a cluster somebody's, or nobody's."""
    name = shown_name(whom.name, whom.email) if whom else ""
    with bulk.turn():
        turn_of(cluster.project_id)
        if not Cluster.objects.filter(pk=cluster.pk).exclude(assignee=whom).update(assignee=whom):
            return
        ReviewEvent.objects.create(
            project_id=cluster.project_id,
            cluster=cluster,
            kind=EventKind.ASSIGNED,
            detail={"whom": clean(name)[:NAMED]},
            user=by.user,
            signed=by.signed,
        )
        inbox.tell_assigned(cluster, whom, by)


def comment(divergence: Divergence, text: str, by: Decider) -> Comment:
    """Say something about a divergence; raises Refused."""
    with bulk.turn():
        said = writing.write(
            divergence.run,
            divergence.seq,
            text,
            author=by.user,
            signed=by.signed,
            about=divergence.public_id,
        )
        ReviewEvent.objects.create(
            project_id=divergence.project_id,
            cluster_id=divergence.cluster_id,
            divergence=divergence,
            kind=EventKind.COMMENT,
            comment=said,
            user=by.user,
            signed=by.signed,
        )
    return said
