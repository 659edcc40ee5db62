"""What people do on the review page: verdicts, undo, assignments, comments, the minimum class."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from replay.comparison.differences import Difference
from replay.models import Experiment
from replay.review import deciding, reading
from replay.review.models import Cluster, Divergence, EventKind, ReviewEvent, State
from replay.review.people import member as decider
from replay.review.turns import set_minimum
from replay.views.review import KEY, Place, cluster_or_404, divergence_or_404, page, thread
from runs.access import get_membership_or_404
from runs.accounts.models import Membership, Role, User
from runs.comments import writing
from runs.messages.loose import plural
from runs.refusals import Refused


class VerdictForm(forms.Form):
    """`seen` and `version` are those of the page that was looked at; `up_to` the newest on it."""

    verdict = forms.CharField(max_length=20)
    reason = forms.CharField(required=False, strip=False)
    baseline = forms.BooleanField(required=False)
    which = forms.ChoiceField(choices=[("one", "one"), ("here", "here"), ("all", "all")])
    """`here`: the open ones of the experiment that the page lists."""
    one = forms.SlugField(max_length=40, required=False)
    seen = forms.IntegerField(min_value=0, max_value=KEY, required=False)
    version = forms.IntegerField(min_value=0, max_value=KEY)
    up_to = forms.IntegerField(min_value=0, max_value=KEY)
    instead_of = forms.IntegerField(min_value=1, max_value=KEY, required=False)


@require_POST
def verdict(request: HttpRequest, slug: str, cluster_id: int) -> HttpResponse:
    """Judge a cluster or one of it, then go to the next; what somebody did first is shown."""
    member = get_membership_or_404(request, slug, Role.MEMBER)
    cluster, place = cluster_or_404(member, cluster_id), _place(request)
    form = VerdictForm(request.POST)
    if not form.is_valid():
        [problem, *_] = form.errors.get("reason", ["This form cannot be read."])
        return page(request, member, place, status=400, problem=problem)
    of = _experiment(member, place) if form.cleaned_data["which"] == "here" else None
    following = place.filters.following(member.project, member.user, cluster)
    try:
        event = _judge(member, cluster, form, of)
    except Refused as problem:
        return page(request, member, place, status=422, problem=str(problem))
    except deciding.AlreadyDecided as first:
        conflict = {
            "first": first.event,
            "told": str(first),
            "left": _left(cluster, form, of),
            "wanted": form.cleaned_data,
        }
        return page(request, member, _here(place, cluster, form), status=409, conflict=conflict)
    messages.success(request, _said(event, of))
    stays = form.cleaned_data["which"] == "one" and _has_more(cluster, place)
    return _to(slug, place.cluster(cluster.pk if stays else following))


def _experiment(member: Membership, place: Place) -> Experiment:
    mine = Experiment.objects.filter(project=member.project_id)
    found = mine.filter(public_id=place.filters.experiment).first()
    if found is None:
        raise Http404
    return found


def _left(cluster: Cluster, form: VerdictForm, of: Experiment | None) -> int:
    """How many of those that somebody meant to judge are still open."""
    asked = {"replay__experiment__public_id": of.public_id} if of else {}
    return reading.open_up_to(cluster, form.cleaned_data["up_to"], **asked)


def _said(event: ReviewEvent, of: Experiment | None) -> str:
    done = f"{event.verdict}: {plural(event.count, 'divergence')}"
    if of is None:
        return f"{done}."
    left = Cluster.objects.get(pk=event.cluster_id).open_count
    return f"{done} of this experiment. {left:,} of the cluster still open." if left else f"{done}."


def _judge(
    member: Membership, cluster: Cluster, form: VerdictForm, of: Experiment | None
) -> ReviewEvent:
    given = form.cleaned_data
    ruling = deciding.checked(given["verdict"], given["reason"], baseline=given["baseline"])
    by = decider(member)
    if given["which"] == "one":
        one = divergence_or_404(member, given["one"])
        return deciding.decide(one, ruling, by, seen=given["seen"] or 0)
    return deciding.decide_cluster(
        cluster,
        ruling,
        by,
        seen=given["version"],
        up_to=given["up_to"],
        of=of,
        instead_of=_event(member, given["instead_of"]),
    )


def _event(member: Membership, pk: int | None) -> ReviewEvent | None:
    verdicts = ReviewEvent.objects.filter(project=member.project_id, kind=EventKind.VERDICT)
    return verdicts.filter(pk=pk).select_related("cluster").first() if pk else None


def _here(place: Place, cluster: Cluster, form: VerdictForm) -> Place:
    """The place that was judged, whatever the list shows first now."""
    one = form.cleaned_data["one"] if form.cleaned_data["which"] == "one" else None
    return Place({**place.kept, "cluster": cluster.pk, **({"at": one} if one else {})},
                 place.filters)  # fmt: skip


def _has_more(cluster: Cluster, place: Place) -> bool:
    left = reading.members(cluster, place.filters.state).filter(**place.filters.of_experiment)
    return left.exists()


@require_POST
def undo(request: HttpRequest, slug: str, event_id: int) -> HttpResponse:
    member = get_membership_or_404(request, slug, Role.MEMBER)
    event = _event(member, event_id)
    if event is None:
        raise Http404
    try:
        undone = deciding.undo(event, decider(member))
    except deciding.AlreadyDecided as first:
        return page(request, member, _place(request), status=409, problem=str(first))
    count = plural(undone.count, "divergence")
    messages.success(request, f"Taken back: {event.verdict} of {count}.")
    query = QueryDict(mutable=True)
    query.update({"cluster": str(event.cluster_id), "state": event.detail["before"]})
    if query["state"] == State.OPEN:
        del query["state"]
    return _to(slug, query.urlencode())


@require_POST
def assignment(request: HttpRequest, slug: str, cluster_id: int) -> HttpResponse:
    """Give a cluster to a member of the project, or to nobody."""
    member = get_membership_or_404(request, slug, Role.MEMBER)
    cluster, whom = cluster_or_404(member, cluster_id), request.POST.get("whom", "")
    deciding.assign(cluster, _person(member, whom), decider(member))
    return _to(slug, _place(request).query(cluster=cluster.pk))


def _person(member: Membership, whom: str) -> User | None:
    if not whom:
        return None
    pk = int(whom) if whom.isdecimal() and len(whom) < 19 else 0
    found = writing.people_of(member.project_id).filter(user_id=pk).first()
    if found is None:
        raise Http404
    return found.user


@require_POST
def comments(request: HttpRequest, slug: str, divergence_id: str) -> HttpResponse:
    """Say something about a divergence."""
    member = get_membership_or_404(request, slug, Role.MEMBER)
    found = divergence_or_404(member, divergence_id)
    text, problem = request.POST.get("text", ""), ""
    try:
        deciding.comment(found, text, decider(member))
    except Refused as error:
        problem = str(error)
    place = Place({"cluster": found.cluster_id, "at": found.public_id}, _place(request).filters)
    if request.headers.get("HX-Request"):
        return _thread(request, member, found, problem, text)
    if problem:
        return page(request, member, place, status=422, problem=problem, draft=text)
    return redirect(f"{reverse('replay:divergence', args=[slug, found.public_id])}#comments")


def _thread(
    request: HttpRequest, member: Membership, about: Divergence, problem: str, text: str
) -> HttpResponse:
    context = thread(member, about.cluster, about) | {"problem": problem}
    context["draft"] = text if problem else ""
    return render(request, "runs/_comments.html", context)


@require_POST
def minimum(request: HttpRequest, slug: str) -> HttpResponse:
    """From which class on differences are divergences, for what is replayed from now on."""
    member = get_membership_or_404(request, slug, Role.ADMIN)
    chosen = request.POST.get("minimum", "")
    if chosen not in [each.value for each in Difference if each.is_change]:
        return page(request, member, _place(request), status=400, problem="That is no class.")
    set_minimum(member.project_id, Difference(chosen))
    messages.success(request, f"From now on, differences from {Difference(chosen).label} up.")
    return _to(slug, "")


def _place(request: HttpRequest) -> Place:
    """Where the form stood: its own `place` field, which holds the query of the page."""
    return Place.read(QueryDict(request.POST.get("place", "")))


def _to(slug: str, query: str) -> HttpResponse:
    page_address = reverse("replay:review", args=[slug])
    return redirect(f"{page_address}?{query}" if query else page_address)
