"""Projects: the list, a new one, its settings and its end."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import demo
from runs.access import get_membership_or_404, get_project_or_404, signed_in
from runs.accounts import people
from runs.accounts.forms import ProjectForm, ProjectNameForm, RemoveProjectForm
from runs.accounts.models import Role, User


@require_http_methods(["GET", "HEAD", "POST"])
def project_list(request: HttpRequest) -> HttpResponse:
    """One's projects, and a form for a new one; whoever makes a project owns it."""
    user = signed_in(request)
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        made = _create(user, form)
        if made:
            return redirect(made)
    status = 400 if form.is_bound else 200
    return render(request, "accounts/projects.html", {"form": form}, status=status)


def _create(user: User, form: ProjectForm) -> str:
    name, slug = form.cleaned_data["name"], form.cleaned_data["slug"]
    try:
        project = people.create_project(name=name, slug=slug, owner=user)
    except people.SlugTaken as error:
        form.add_error("slug", str(error))
        return ""
    return f"/p/{project.slug}/connect"


@require_safe
def open_project(request: HttpRequest, slug: str) -> HttpResponse:
    return redirect(people.runs_page(get_project_or_404(request, slug)))


@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest, slug: str) -> HttpResponse:
    """GET for every member; only an owner renames."""
    needs = Role.OWNER if request.method == "POST" else Role.VIEWER
    project = get_project_or_404(request, slug, needs)
    if request.method != "POST":
        return _settings(request, ProjectNameForm(initial={"name": project.name}))
    form = ProjectNameForm(request.POST)
    if not form.is_valid():
        return _settings(request, form, status=400)
    people.rename_project(project, form.cleaned_data["name"])
    messages.success(request, "The name is saved.")
    return redirect("accounts:settings", slug)


@require_POST
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete the project and all its runs, its address typed."""
    project = get_membership_or_404(request, slug, Role.OWNER).project
    form = RemoveProjectForm(project, request.POST)
    if not form.is_valid():
        name_form = ProjectNameForm(initial={"name": project.name})
        return _settings(request, name_form, remove_form=form, status=400)
    people.remove_project(project)
    messages.success(request, f"“{project.name}” and everything in it is removed.")
    return redirect("accounts:home")


@require_POST
def remove_demo(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete the runs the demo brought, at one press; everything else stays."""
    project = get_membership_or_404(request, slug, Role.OWNER).project
    count = demo.remove(project)
    messages.success(request, f"The demo is removed: {count} runs.")
    return redirect(people.runs_page(project))


def _settings(
    request: HttpRequest,
    form: ProjectNameForm,
    remove_form: RemoveProjectForm | None = None,
    status: int = 200,
) -> HttpResponse:
    project = request.membership.project  # type: ignore[attr-defined]
    context = {"form": form, "remove_form": remove_form or RemoveProjectForm(project)}
    return render(request, "project/settings.html", context, status=status)
