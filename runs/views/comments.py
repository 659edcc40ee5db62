"""Comments on an effect, and the mentions that wait for a person."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.access import get_effect_or_404, get_membership_or_404, get_run_or_404, signed_in
from runs.accounts.models import Membership, Role
from runs.comments import threads, writing
from runs.comments.models import Comment
from runs.models import Run
from runs.refusals import Refused
from runs.templatetags.comment_tags import thread_context


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def thread(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """What was said about an effect; by POST, something more."""
    needs = Role.MEMBER if request.method == "POST" else Role.VIEWER
    run = get_run_or_404(request, slug, run_id, needs)
    get_effect_or_404(run, seq)
    text = request.POST.get("text", "")
    if request.method != "POST":
        return _thread(request, run, seq)
    try:
        writing.write(run, seq, text, author=signed_in(request))
    except Refused as problem:
        return _thread(request, run, seq, problem=str(problem), draft=text)
    run.refresh_from_db(fields=["comment_count"])
    return _thread(request, run, seq)


@require_POST
def comment(request: HttpRequest, slug: str, comment_id: int) -> HttpResponse:
    """Change one's own comment."""
    member = get_membership_or_404(request, slug, Role.MEMBER)
    found = _comment_or_404(member, comment_id)
    if not writing.may_edit(found, member):
        raise PermissionDenied("This is somebody else's comment.")
    problem = ""
    try:
        writing.edit(found, request.POST.get("text", ""))
    except Refused as error:
        problem = str(error)
    return _thread(request, found.run, found.seq, problem=problem, about=found.about)


@require_POST
def deletion(request: HttpRequest, slug: str, comment_id: int) -> HttpResponse:
    """Take back one's own comment; an owner may take away any."""
    member = get_membership_or_404(request, slug)
    found = _comment_or_404(member, comment_id)
    if not writing.may_delete(found, member):
        raise PermissionDenied("This is somebody else's comment.")
    writing.delete(found)
    found.run.refresh_from_db(fields=["comment_count"])
    return _thread(request, found.run, found.seq, about=found.about)


@require_safe
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """The names one can mention, to be put into a comment."""
    member = get_membership_or_404(request, slug, Role.MEMBER)
    return render(request, "runs/_people.html", {"names": threads.names_of(member.project)})


def _comment_or_404(member: Membership, comment_id: int) -> Comment:
    mine = Comment.objects.filter(run__project=member.project_id, run__deleted_at=None)
    found = mine.select_related("run").filter(pk=comment_id).first()
    if found is None:
        raise Http404
    found.run.project = member.project
    return found


def _thread(
    request: HttpRequest,
    run: Run,
    seq: int,
    *,
    problem: str = "",
    draft: str = "",
    about: str = "",
) -> HttpResponse:
    """The thread alone for htmx, else the page it stands on."""
    if about:
        return _of_a_divergence(request, run, about, problem)
    if request.headers.get("HX-Request"):
        reader: Membership = request.membership  # type: ignore[attr-defined]
        context = thread_context(reader, run, seq) | {"problem": problem, "draft": draft}
        return render(request, "runs/_comments.html", context)
    if problem:
        messages.error(request, problem)
    page = reverse("runs:detail", args=[run.project.slug, run.external_id])
    return redirect(f"{page}?at={seq}#comments")


def _of_a_divergence(request: HttpRequest, run: Run, about: str, problem: str) -> HttpResponse:
    """Its thread stands on a page of another app, which its script asks for it anew."""
    if problem:
        messages.error(request, problem)
    page = f"{reverse('replay:divergence', args=[run.project.slug, about])}#comments"
    if request.headers.get("HX-Request") and not problem:
        return HttpResponse(headers={"HX-Trigger": "rewyn:thread", "HX-Reswap": "none"})
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": page})
    return redirect(page)


@require_http_methods(["GET", "HEAD", "POST"])
def mentions(request: HttpRequest, slug: str) -> HttpResponse:
    """By POST mentions of the person who looks are marked as read; they are listed in the inbox,
    which another app keeps."""
    member = get_membership_or_404(request, slug)
    if request.method == "POST":
        return _read(request, member)
    return redirect("replay:inbox", slug)


def _read(request: HttpRequest, member: Membership) -> HttpResponse:
    named = [int(pk) for pk in request.POST.getlist("comment") if pk.isdecimal() and len(pk) < 19]
    every = "comment" not in request.POST
    writing.read(member.user, member.project, None if every else named[: threads.SHOWN])
    if request.headers.get("HX-Request"):
        return render(request, "runs/_unread.html", {"oob": True})
    return redirect("replay:inbox", member.project.slug)
