"""Views of the run list kept under a name: a person's own and the project's, and a default."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_membership_or_404
from runs.accounts.forms import visible
from runs.accounts.models import Membership, Project, Role
from runs.lists.filters import RunListForm
from runs.models import SavedView

MOST = 100
"""Views a person, or a project, may keep."""
MAX_QUERY = 2000
_TOO_MUCH = f"A view's filters have at most {MAX_QUERY:,} characters, as an address says them."


class ViewForm(forms.Form):
    name = forms.CharField(max_length=80, validators=[visible])
    query = forms.CharField(max_length=4000, required=False)
    shared = forms.BooleanField(required=False)
    default = forms.BooleanField(required=False)


def default(request: HttpRequest, project: Project) -> SavedView | None:
    """What a person sees who asks for nothing: their own default view, else the project's."""
    mine = Q(owner=request.user.pk) | Q(owner=None)
    found = SavedView.objects.filter(mine, project=project, is_default=True)
    return min(found, key=lambda view: view.owner_id is None, default=None)


def address(view: SavedView) -> str:
    """The query string that shows a view."""
    query = QueryDict(view.query, mutable=True)
    query["view"] = str(view.pk)
    return query.urlencode()


def shown(request: HttpRequest, project: Project, form: RunListForm) -> SavedView | None:
    """The view the address names, if the person may see it and the list still is as it says."""
    number = form.values.get("view", "")
    if not number.isascii() or not number.isdigit():
        return None
    view = _visible(request, project).filter(pk=int(number)).first()
    return view if view is not None and view.query == form.saved else None


@require_http_methods(["GET", "HEAD", "POST"])
def views(request: HttpRequest, slug: str) -> HttpResponse:
    """The views there are; by POST, one more."""
    member = get_membership_or_404(request, slug)
    if request.method == "POST":
        return _save(request, member)
    whole = "runs/_views.html" if request.headers.get("HX-Request") else "runs/views.html"
    return render(request, whole, {"views": _listed(request, member.project)})


@require_POST
def view(request: HttpRequest, slug: str, view_id: int) -> HttpResponse:
    """Make a view the default of whom it belongs to, or no longer (`do`), or delete it."""
    member = get_membership_or_404(request, slug)
    found = _visible(request, member.project).filter(pk=view_id).first()
    if found is None:
        raise Http404
    _check(member, found.owner_id is None)
    if request.POST.get("do") == "delete":
        found.delete()
    else:
        _set_default(found, request.POST.get("do") == "default")
    return redirect("runs:views", slug)


def _save(request: HttpRequest, member: Membership) -> HttpResponse:
    form = ViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _wrong(form))
        return redirect("runs:views", member.project.slug)
    said: dict[str, Any] = form.cleaned_data
    _check(member, said["shared"])
    query = RunListForm(QueryDict(said["query"])).saved
    owner = None if said["shared"] else member.user
    kept = SavedView.objects.filter(project=member.project, owner=owner)
    if len(query) > MAX_QUERY or kept.count() >= MOST:
        most = f"There are {MOST} views already; delete one first."
        messages.error(request, _TOO_MUCH if len(query) > MAX_QUERY else most)
        return redirect("runs:views", member.project.slug)
    try:
        made, _ = kept.update_or_create(
            name=said["name"],
            defaults={"query": query},
            create_defaults={"query": query, "project": member.project, "owner": owner},
        )
    except IntegrityError:  # the same name, saved twice at once
        return redirect("runs:views", member.project.slug)
    if said["default"]:
        _set_default(made, True)
    return redirect(f"{reverse('runs:list', args=[member.project.slug])}?{address(made)}")


def _wrong(form: ViewForm) -> str:
    if "name" in form.errors:
        return f"Name: {form.errors['name'][0]}"
    too_much = form.has_error("query", "max_length")
    return _TOO_MUCH if too_much else f"Filters: {form.errors['query'][0]}"


def _check(member: Membership, shared: bool) -> None:
    if shared and not Role(member.role).covers(Role.MEMBER):
        raise PermissionDenied("Views of the project need the role member.")


def _set_default(view: SavedView, is_default: bool) -> None:
    others = SavedView.objects.filter(project=view.project_id, owner=view.owner_id)
    with transaction.atomic():
        others.filter(is_default=True).update(is_default=False)
        others.filter(pk=view.pk).update(is_default=is_default)


def _visible(request: HttpRequest, project: Project) -> QuerySet[SavedView]:
    mine = Q(owner=request.user.pk) | Q(owner=None)
    return SavedView.objects.filter(mine, project=project)


def _listed(request: HttpRequest, project: Project) -> list[dict[str, Any]]:
    found = _visible(request, project).order_by("name", "pk")
    return [{"view": one, "address": address(one), "shared": one.owner_id is None} for one in found]
