"""How to send runs here: snippets that work as they are, and a line that waits for the first."""

from __future__ import annotations

from django import forms
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from runs.access import get_membership_or_404, get_project_or_404
from runs.accounts import keys
from runs.accounts.models import Membership, Project, Role, Scope
from runs.accounts.snippets import snippets
from runs.accounts.views import shown_once
from runs.models import Run

STOP_POLLING = 286


class AfterForm(forms.Form):
    """The run the page was opened behind: only a later one is news."""

    after = forms.IntegerField(min_value=0, max_value=2**62, required=False)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, slug: str) -> HttpResponse:
    """GET for every member; POST (admin) makes a key and leads back here, where it is filled in,
    this once."""
    if request.method == "POST":
        me = get_membership_or_404(request, slug, Role.ADMIN)
        here = reverse("accounts:connect", args=[slug])
        return shown_once.redirect_with(_new_key(me), me, here)
    me = get_membership_or_404(request, slug)
    response = _page(request, me, shown_once.take(request, me))
    return shown_once.forget(request, response)


@never_cache
@require_safe
def first_run(request: HttpRequest, slug: str) -> HttpResponse:
    """The waiting line alone; 286 tells htmx to stop asking."""
    project = get_project_or_404(request, slug)
    after = _after(request) or 0
    run = _first_behind(project, after)
    context = {"run": run, "after": after}
    status = STOP_POLLING if run and request.headers.get("HX-Request") else 200
    return render(request, "project/_first_run.html", context, status=status)


def _new_key(me: Membership) -> str:
    name = f"connect page, {timezone.now():%Y-%m-%d %H:%M}"
    return keys.mint(project=me.project, name=name, scope=Scope.INGEST, created_by=me.user)[1]


def _page(request: HttpRequest, me: Membership, token: str = "") -> HttpResponse:
    base = request.build_absolute_uri("/").rstrip("/")
    given = _after(request)
    context = {
        "token": token,
        "snippets": snippets(base, token),
        "after": _newest(me.project) if given is None else given,
        "run": None if given is None else _first_behind(me.project, given),
    }
    return render(request, "project/connect.html", context)


def _after(request: HttpRequest) -> int | None:
    form = AfterForm(request.GET)
    return form.cleaned_data["after"] if form.is_valid() else None


def _first_behind(project: Project, after: int) -> Run | None:
    return Run.objects.of(project).for_list().filter(pk__gt=after).order_by("pk").first()


def _newest(project: Project) -> int:
    newest: int | None = Run.objects.of(project).aggregate(newest=Max("pk"))["newest"]
    return newest or 0
