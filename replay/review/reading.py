"""What the review page and the API read: clusters by filter, members, history, baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery

from replay.models import Experiment, ReplayEffect
from replay.review.models import Baseline, Cluster, Divergence, EventKind, ReviewEvent, State
from runs.accounts.models import Membership, Project, User
from runs.prepared import prepared

CLUSTERS = 50
MEMBERS = 50
EVENTS = 100
COUNTED = 99
AGENTS = 50
EXPERIMENTS = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """Which clusters are listed; an empty one leaves a filter out."""

    state: str = State.OPEN
    assignee: str = ""
    """`me`, `none` or somebody's key."""
    difference: str = ""
    agent: str | None = None
    experiment: str = ""

    def clusters(self, project: Project, reader: User) -> QuerySet[Cluster]:
        names, values = self._told(reader)
        return _clusters(project.pk, values, names, self.state)

    def page(self, project: Project, reader: User, after: tuple[int, int] | None) -> list[Cluster]:
        """The clusters of a page and one more, from the start or behind a place in the list, each
        with an example; of an experiment, with how many of its own are `here`."""
        names, values = self._told(reader)
        return _page(project.pk, *values, *(after or ()), names=names, state=self.state)

    def count(self, project: Project, reader: User) -> int:
        """How many there are, up to `COUNTED` and one more."""
        names, values = self._told(reader)
        return len(_some(project.pk, *values, names=names, state=self.state))

    @property
    def narrows(self) -> bool:
        """Whether more than the state says what is listed."""
        return bool(self.assignee or self.difference or self.experiment or self.agent is not None)

    def following(self, project: Project, reader: User, cluster: Cluster) -> int | None:
        """The key of the cluster behind this one in the list; behind the last comes the first."""
        names, values = self._told(reader)
        place = (cluster.severity, cluster.pk)
        found = _behind(project.pk, *values, *place, names=names, state=self.state)
        found = found or _others(project.pk, *values, cluster.pk, names=names, state=self.state)
        return next(iter(found), None)

    def _told(self, reader: User) -> tuple[tuple[str, ...], list[Any]]:
        """The filters that are set, and a value of each but of nobody's."""
        whose = _assignee(self.assignee, reader) if self.assignee else None
        nobodys = ("nobodys",) if self.assignee and whose is None else ()
        given = {
            "assignee_id": whose,
            "difference": self.difference or None,
            "agent": self.agent,
            "experiment": self.experiment or None,
        }
        told = {name: value for name, value in given.items() if value is not None}
        return (*told, *nobodys), list(told.values())

    @property
    def of_experiment(self) -> dict[str, str]:
        """What members are asked for."""
        return {"replay__experiment__public_id": self.experiment} if self.experiment else {}


def _assignee(word: str, reader: User) -> int | None:
    return {"me": reader.pk, "none": None}.get(word) if word in ("me", "none") else int(word)


def _clusters(
    project_id: int, values: Sequence[Any], names: tuple[str, ...], state: str
) -> QuerySet[Cluster]:
    asked = dict(zip(names, values, strict=False))
    experiment = asked.pop("experiment", None)
    if "nobodys" in names:
        asked["assignee_id"] = None
    found = Cluster.objects.filter(project_id=project_id, **{f"{state}_count__gt": 0}, **asked)
    if experiment is not None:
        found = found.filter(Exists(_of_cluster(state, experiment)))
    return found.order_by("-severity", "-pk")


def _of_cluster(state: str, experiment: str) -> QuerySet[Divergence]:
    """Those of the outer query's cluster that an experiment found."""
    mine = Divergence.objects.filter(cluster=OuterRef("pk"), state=state, run__deleted_at=None)
    return mine.filter(replay__experiment__public_id=experiment)


@prepared
def _page(project_id: int, *values: Any, names: tuple[str, ...], state: str) -> QuerySet[Cluster]:
    given = len(names) - ("nobodys" in names)
    found = with_example(_clusters(project_id, values[:given], names, state), state)
    if "experiment" in names:
        here = _of_cluster(state, values[names.index("experiment")]).order_by().values("cluster")
        found = found.annotate(here=Subquery(here.annotate(n=Count("pk")).values("n")))
    if place := values[given:]:
        found = behind(found, (place[0], place[1]))
    return found[: CLUSTERS + 1]


@prepared
def _some(project_id: int, *values: Any, names: tuple[str, ...], state: str) -> QuerySet[Cluster]:
    found = _clusters(project_id, values, names, state)
    return found.order_by().only("pk")[: COUNTED + 1]


@prepared
def _behind(
    project_id: int, *values: Any, names: tuple[str, ...], state: str
) -> QuerySet[Cluster, int]:
    *given, severity, pk = values
    found = behind(_clusters(project_id, given, names, state), (severity, pk))
    return found.values_list("pk", flat=True)[:1]


@prepared
def _others(
    project_id: int, *values: Any, names: tuple[str, ...], state: str
) -> QuerySet[Cluster, int]:
    *given, pk = values
    found = _clusters(project_id, given, names, state).exclude(pk=pk)
    return found.values_list("pk", flat=True)[:1]


def behind(clusters: QuerySet[Cluster], place: tuple[int, int]) -> QuerySet[Cluster]:
    """Those that come after (severity, key) in the order of the list."""
    severity, pk = place
    return clusters.filter(severity__lte=severity).exclude(Q(severity=severity) & Q(pk__gte=pk))


def with_example(clusters: QuerySet[Cluster], state: str) -> QuerySet[Cluster]:
    """With what the newest member says as `says`, by a look into an index a row."""
    newest = Divergence.objects.filter(cluster=OuterRef("pk"), state=state, run__deleted_at=None)
    says = newest.order_by("-pk").values("summary")[:1]
    return clusters.select_related("assignee").annotate(says=Subquery(says))


def members(cluster: Cluster, state: str = "") -> QuerySet[Divergence]:
    """Divergences of a cluster, newest first, without those of deleted runs."""
    found = Divergence.objects.filter(cluster=cluster, run__deleted_at=None)
    return (found.filter(state=state) if state else found).order_by("-pk")


_OF_MEMBER = (
    "public_id", "cluster_id", "project_id", "seq", "difference", "summary", "state",
    "is_current", "version", "created_at",
    "replay__public_id", "replay__mode", "replay__provider", "replay__model",
    "run__project_id", "run__external_id", "run__name", "run__title", "run__comment_count",
    "decision__signed", "decision__reason",
)  # fmt: skip


def lines(divergences: QuerySet[Divergence]) -> QuerySet[Divergence]:
    """With what a line about one shows: runs and replays are wide."""
    return divergences.select_related("run", "replay", "decision").only(*_OF_MEMBER)


def newest(cluster: Cluster, **asked: str) -> Divergence | None:
    """The newest member that has these values, with what a line shows."""
    found = _newest(cluster.pk, *asked.values(), names=tuple(asked))
    return next(iter(found), None)


@prepared
def _newest(cluster_id: int, *values: str, names: tuple[str, ...]) -> QuerySet[Divergence]:
    found = Divergence.objects.filter(cluster_id=cluster_id, run__deleted_at=None)
    found = found.filter(**dict(zip(names, values, strict=True)))
    return lines(found.order_by("-pk"))[:1]


def neighbour(divergence: Divergence, *, newer: bool, **asked: str) -> str | None:
    """The id of the next newer (or older) member of its cluster that has these values."""
    place = (divergence.cluster_id, divergence.pk)
    found = _neighbour(*place, *asked.values(), names=tuple(asked), newer=newer)
    return next(iter(found), None)


@prepared
def _neighbour(
    cluster_id: int, pk: int, *values: str, names: tuple[str, ...], newer: bool
) -> QuerySet[Divergence, str]:
    found = Divergence.objects.filter(cluster_id=cluster_id, run__deleted_at=None)
    found = found.filter(**dict(zip(names, values, strict=True)))
    found = found.filter(pk__gt=pk) if newer else found.filter(pk__lt=pk)
    return found.order_by("pk" if newer else "-pk").values_list("public_id", flat=True)[:1]


def beside(divergence: Divergence) -> ReplayEffect | None:
    """The row with both answers, the bodies that were sent and received left out."""
    return next(iter(_beside(divergence.replay_id, divergence.seq)), None)


@prepared
def _beside(replay_id: int, seq: int) -> QuerySet[ReplayEffect]:
    rows = ReplayEffect.objects.filter(replay_id=replay_id, seq=seq)
    return rows.select_related("effect", "baseline").defer("sent", "response", "notes")


def history(cluster: Cluster) -> Sequence[ReviewEvent]:
    """What happened in a cluster, newest first."""
    events = ReviewEvent.objects.filter(cluster=cluster).exclude(kind=EventKind.COMMENT)
    joined = events.select_related("divergence", "undone_by", "undoes")
    return list(joined.order_by("-pk")[:EVENTS])


def counts(project: Project, reader: User) -> dict[str, int]:
    """Open clusters and how many of them are the reader's, each up to `COUNTED` and one more."""
    return {"open": waiting(project), "mine": len(_waiting_for(project.pk, reader.pk))}


def waiting(project: Project) -> int:
    """Open clusters, up to `COUNTED` and one more."""
    return len(_waiting(project.pk))


@prepared
def _waiting(project_id: int) -> QuerySet[Cluster, int]:
    found = Cluster.objects.filter(project_id=project_id, open_count__gt=0)
    return found.values_list("pk", flat=True)[: COUNTED + 1]


@prepared
def _waiting_for(project_id: int, user_id: int) -> QuerySet[Cluster, int]:
    found = Cluster.objects.filter(project_id=project_id, open_count__gt=0, assignee_id=user_id)
    return found.values_list("pk", flat=True)[: COUNTED + 1]


def with_waiting(memberships: QuerySet[Membership], project_id: int) -> QuerySet[Membership]:
    """Memberships, that in one project with the number of its open clusters as `to_review`."""
    of_it = Cluster.objects.filter(project=OuterRef("project_id"), project_id=project_id)
    found = of_it.filter(open_count__gt=0).order_by().values("project")
    counting = Subquery(found.annotate(count=Count("pk")).values("count"))
    return memberships.annotate(to_review=counting)


def agents(project: Project, state: str) -> list[str]:
    """Agents that have something in a state, for the filter."""
    return _agents(project.pk, state=state)


@prepared
def _agents(project_id: int, *, state: str) -> QuerySet[Cluster, str]:
    found = Cluster.objects.filter(project_id=project_id, **{f"{state}_count__gt": 0})
    names = found.order_by("agent").values_list("agent", flat=True)
    return names.distinct()[:AGENTS]


def experiments(project: Project, chosen: str) -> list[tuple[str, str]]:
    """The newest experiments by id and name, for the filter; the chosen one is among them, if there
    is such a one."""
    found = dict(_experiments(project.pk))
    if chosen and chosen not in found:
        mine = Experiment.objects.filter(project=project, public_id=chosen)
        found.update(mine.values_list("public_id", "name"))
    return [(public_id, name or public_id) for public_id, name in found.items()]


@prepared
def _experiments(project_id: int) -> QuerySet[Experiment, tuple[str, str]]:
    found = Experiment.objects.filter(project_id=project_id).order_by("-pk")
    return found.values_list("public_id", "name")[:EXPERIMENTS]


def open_up_to(cluster: Cluster, up_to: int, **asked: str) -> int:
    """How many open members it has up to a key that have these values."""
    return members(cluster, State.OPEN).filter(pk__lte=up_to, **asked).order_by().count()


def newest_open(cluster: Cluster) -> int:
    """The key of its newest open member, 0 if it has none."""
    return next(iter(_newest_open(cluster.pk)), 0)


@prepared
def _newest_open(cluster_id: int) -> QuerySet[Divergence, int]:
    found = Divergence.objects.filter(cluster_id=cluster_id, run__deleted_at=None, state=State.OPEN)
    return found.order_by("-pk").values_list("pk", flat=True)[:1]


def baselines(project_id: int) -> QuerySet[Baseline]:
    """Accepted answers, newest first."""
    found = Baseline.objects.filter(project_id=project_id, run__deleted_at=None)
    return found.select_related("run", "divergence").order_by("-pk")


def model_accepted(baseline: Baseline) -> str:
    """Who gave an accepted answer, as `provider:model`."""
    found = Divergence.objects.select_related("replay").only("replay__provider", "replay__model")
    return found.get(pk=baseline.divergence_id).replay.candidate
