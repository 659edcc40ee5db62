"""The review page: clusters of divergences, one of them side by side, its members and history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from replay.comparison.beside import both_sides
from replay.comparison.differences import Difference
from replay.comparison.sides import SHOWS, Show
from replay.models import ReplayMode
from replay.review import clusters, deciding, reading
from replay.review.models import COUNTED, VERDICTS, Cluster, Divergence, ReviewEvent, State
from replay.review.turns import minimum_of
from runs.access import get_membership_or_404
from runs.accounts.models import Membership, Role
from runs.comments import threads
from runs.comments.names import shown_name
from runs.lists.filters import understood
from runs.models import NAME
from runs.strangers import told

TABS = ("example", "members", "history")
KEY = 2**63 - 1


class ReviewForm(forms.Form):
    """The state of the page in its address; what cannot be is left out."""

    state = forms.ChoiceField(choices=[(s, s) for s in COUNTED], required=False)
    assignee = forms.RegexField(r"^(me|none|[0-9]{1,18})$", required=False)
    of = forms.ChoiceField(choices=[(d.value, d.label) for d in Difference], required=False)
    agent = forms.CharField(max_length=NAME, required=False, strip=False)
    experiment = forms.SlugField(max_length=40, required=False)
    cluster = forms.IntegerField(min_value=1, max_value=KEY, required=False)
    at = forms.SlugField(max_length=40, required=False)
    after = forms.RegexField(r"^[0-9]{1,3}\.[0-9]{1,18}$", required=False)
    before = forms.IntegerField(min_value=1, max_value=KEY, required=False)
    tab = forms.ChoiceField(choices=[(t, t) for t in TABS], required=False)
    show = forms.ChoiceField(choices=[(s, s) for s in SHOWS], required=False)


@dataclass(frozen=True, slots=True)
class Place:
    """`kept` is what was given and could be read, by name."""

    kept: dict[str, Any]
    filters: reading.Filters

    @classmethod
    def read(cls, data: QueryDict) -> Place:
        kept = understood(ReviewForm, data)
        filters = reading.Filters(
            kept.get("state", State.OPEN),
            kept.get("assignee", ""),
            kept.get("of", ""),
            "" if kept.get("agent") == NO_AGENT else kept.get("agent"),
            kept.get("experiment", ""),
        )
        return cls(kept, filters)

    @property
    def tab(self) -> str:
        return str(self.kept.get("tab", TABS[0]))

    @property
    def show(self) -> Show:
        return next((show for show in SHOWS if show == self.kept.get("show")), SHOWS[0])

    @property
    def after(self) -> tuple[int, int] | None:
        if "after" not in self.kept:
            return None
        severity, _, pk = self.kept["after"].partition(".")
        return int(severity), int(pk)

    def query(self, **changes: object) -> str:
        """The address of this state with some of it changed; None leaves out."""
        query = QueryDict(mutable=True)
        query.update({k: str(v) for k, v in {**self.kept, **changes}.items() if v is not None})
        return query.urlencode()

    def cluster(self, pk: int | None) -> str:
        """The address of a cluster beside the same list."""
        return self.query(cluster=pk, at=None, tab=None, before=None)

    @property
    def listed(self) -> str:
        """The same list, nothing chosen."""
        return self.query(cluster=None, at=None, tab=None, before=None, after=None)


NO_AGENT = "—"
"""What the address says of runs without an agent."""


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def review(request: HttpRequest, slug: str) -> HttpResponse:
    member = get_membership_or_404(request, slug)
    known = told(request.GET, ReviewForm.base_fields)
    return page(request, member, Place.read(request.GET), **known)


@require_safe
def divergence(request: HttpRequest, slug: str, divergence_id: str) -> HttpResponse:
    """One divergence has an address of its own, which leads to it on the page."""
    member = get_membership_or_404(request, slug)
    found = divergence_or_404(member, divergence_id)
    query = QueryDict(mutable=True)
    query["state"] = found.state if found.state in COUNTED else State.OPEN
    query.update({"cluster": str(found.cluster_id), "at": found.public_id})
    return redirect(f"{reverse('replay:review', args=[slug])}?{query.urlencode()}")


def divergence_or_404(member: Membership, divergence_id: str) -> Divergence:
    mine = Divergence.objects.filter(project=member.project_id, run__deleted_at=None)
    found = mine.select_related("run", "cluster").filter(public_id=divergence_id).first()
    if found is None:
        raise Http404
    found.run.project = member.project
    return found


def cluster_or_404(member: Membership, pk: int) -> Cluster:
    found = Cluster.objects.filter(project=member.project_id, pk=pk).first()
    if found is None:
        raise Http404
    return found


def page(
    request: HttpRequest,
    member: Membership,
    place: Place,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """The page at a place; `more` is what a refused form has to say."""
    part = request.headers.get("HX-Request") and request.headers.get("HX-Target") == "review"
    context = {**_list(member, place), "place": place, **more}
    context |= _chosen(member, place, context["clusters"])
    context["undoable"] = deciding.last_verdict(member.user, member.project_id)
    name = "replay/review.html#part" if part else "replay/review.html"
    # A refusal is part of the answer: htmx would not show one that is called an error.
    answer = render(request, name, context, status=200 if part else status)
    if part and request.method == "POST":
        answer["HX-Push-Url"] = (
            f"{reverse('replay:review', args=[member.project.slug])}?{place.query()}"
        )
    return answer


def _list(member: Membership, place: Place) -> dict[str, Any]:
    project, filters = member.project, place.filters
    rows = filters.page(project, member.user, place.after)
    last = rows[reading.CLUSTERS - 1] if len(rows) > reading.CLUSTERS else None
    counts = reading.counts(project, member.user)
    filtered = filters.narrows or filters.state != State.OPEN
    experiments = reading.experiments(project, filters.experiment)
    later = place.query(after=f"{last.severity}.{last.pk}", cluster=None, at=None) if last else None
    return {
        "clusters": rows[: reading.CLUSTERS],
        "later": later,
        "states": COUNTED,
        "classes": [d for d in Difference if d.is_change],
        "agents": [(name, name or NO_AGENT) for name in reading.agents(project, filters.state)],
        "experiments": experiments,
        "no_experiment": bool(filters.experiment) and filters.experiment not in dict(experiments),
        "people": _people(member),
        "counts": counts,
        "shown": filters.count(project, member.user) if filtered else counts["open"],
        "minimum": minimum_of(project.pk),
        "no_agent": NO_AGENT,
    }


def _people(member: Membership) -> list[tuple[int, str]]:
    """Who can be given a cluster, the reader first; those of one name with their address."""
    found = [
        (key, shown_name(name, email), email)
        for key, name, email in threads.offered(member.project_id)
    ]
    called = Counter(name for _, name, _ in found)
    named = [(key, f"{name} ({email})" if called[name] > 1 else name) for key, name, email in found]
    return sorted(named, key=lambda one: one[0] != member.user_id)


def _chosen(member: Membership, place: Place, listed: list[Cluster]) -> dict[str, Any]:
    """The cluster of the address, else the first of the list."""
    pk = place.kept.get("cluster")
    cluster = next((one for one in listed if one.pk == pk), None)
    if cluster is None and pk is not None:
        found = Cluster.objects.select_related("assignee")
        cluster = found.filter(project=member.project_id, pk=pk).first()
    elif pk is None and listed:
        cluster = listed[0]
    if cluster is None:
        return {"cluster": None, "missing": pk is not None}
    return {
        "cluster": cluster,
        "cause": clusters.told(cluster.difference, cluster.cause),
        "next": place.filters.following(member.project, member.user, cluster),
        "may_decide": Role(member.role).covers(Role.MEMBER),
        **_example(member, place, cluster),
        **_tab(place, cluster),
    }


def _example(member: Membership, place: Place, cluster: Cluster) -> dict[str, Any]:
    """The member of the address, else the newest of the state that is listed, else of any."""
    at = place.kept.get("at")
    found = reading.newest(cluster, public_id=at) if at else None
    listed = {"state": str(place.filters.state), **place.filters.of_experiment}
    found = found or reading.newest(cluster, **listed) or reading.newest(cluster)
    if found is None:
        return {"example": None}
    found.run.project = member.project
    shown = _beside(place, found, listed) if place.tab == TABS[0] else {}
    return {
        "example": found,
        **_choices(place, cluster, bool(at) and found.public_id == at),
        **shown,
        **thread(member, cluster, found),
    }


def _choices(place: Place, cluster: Cluster, one: bool) -> dict[str, Any]:
    """What a verdict can cover, and what it covers where nobody chooses: never more than the list
    shows. `here` are the open ones of the experiment that is listed."""
    up_to, of = reading.newest_open(cluster), place.filters.of_experiment
    here = reading.open_up_to(cluster, up_to, **of) if of else 0
    which = "here" if of else "all"
    if one or place.filters.state != State.OPEN or not (here if of else cluster.open_count):
        which = "one"
    return {"up_to": up_to, "here": here, "which": which}


def _beside(place: Place, found: Divergence, listed: dict[str, str]) -> dict[str, Any]:
    """Both answers of a member, and who stands before and behind it."""
    row = reading.beside(found)
    has_answers = found.replay.mode != ReplayMode.RECONSTRUCT and found.is_current
    beside = listed if found.state == place.filters.state else {}
    return {
        "row": row,
        "sides": both_sides(row, place.show) if has_answers and row else None,
        "shows": [(s, s.upper() if s == "json" else s.title(), place.query(show=s)) for s in SHOWS],
        "newer": reading.neighbour(found, newer=True, **beside),
        "older": reading.neighbour(found, newer=False, **beside),
    }


def thread(member: Membership, cluster: Cluster, example: Divergence) -> dict[str, Any]:
    """What was said about any member of the cluster, and where to say more."""
    events = ReviewEvent.objects.filter(cluster=cluster, comment__isnull=False)
    events = events.filter(comment__run__deleted_at=None).select_related("comment")
    newest = events.prefetch_related("comment__mentions").order_by("-pk")[: threads.SHOWN]
    said = [threads.said(event.comment, member) for event in reversed(newest) if event.comment]
    return {
        "thread": said,
        "unread": threads.unread_in(member, said),
        "may_write": Role(member.role).covers(Role.MEMBER),
        "run": example.run,
        "seq": example.seq,
        "about": example.public_id,
    }


def _tab(place: Place, cluster: Cluster) -> dict[str, Any]:
    context: dict[str, Any] = {
        "tabs": [(tab, place.query(tab=tab, before=None)) for tab in TABS],
        "verdicts": VERDICTS,
    }
    if place.tab == "history":
        context["history"] = reading.history(cluster)
    if place.tab == "members":
        found = reading.lines(reading.members(cluster))
        if before := place.kept.get("before"):
            found = found.filter(pk__lt=before)
        rows = list(found[: reading.MEMBERS + 1])
        context["members"] = rows[: reading.MEMBERS]
        if len(rows) > reading.MEMBERS:
            context["earlier"] = place.query(before=rows[reading.MEMBERS - 1].pk)
    return context
