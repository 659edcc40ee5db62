"""What is taken out of a project's records before they are stored: its own rules."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_project_or_404
from runs.accounts.forms import RedactionRuleForm
from runs.accounts.models import Project, Role
from runs.redaction import rules as redaction_rules
from runs.redaction.rules import BadRule, ChangedMeanwhile, Preview

_CHANGED = "Somebody else has just changed the rules. Look at them, and do it again."


@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """All rules; POST tries one on what came in last (`try`), or adds it."""
    project = get_project_or_404(request, slug, Role.ADMIN)
    if request.method != "POST":
        return _page(request, project, RedactionRuleForm())
    form = RedactionRuleForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form, status=400)
    try:
        if "try" in request.POST:
            tried = redaction_rules.preview(project, form.rule())
            return _page(request, project, form, tried)
        redaction_rules.add(project, form.rule())
    except BadRule as bad:
        form.add_error(bad.member if bad.member in form.fields else None, bad.message)
        return _page(request, project, form, status=400)
    except ChangedMeanwhile:
        form.add_error(None, _CHANGED)
        return _page(request, project, form, status=409)
    messages.success(request, "The rule counts for what comes in from now on.")
    return redirect("accounts:redaction", slug)


@require_POST
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug, Role.ADMIN)
    try:
        if redaction_rules.remove(project, request.POST.get("name", "")):
            messages.success(request, "The rule is removed. What it took out stays out.")
    except ChangedMeanwhile:
        messages.error(request, _CHANGED)
    return redirect("accounts:redaction", slug)


def _page(
    request: HttpRequest,
    project: Project,
    form: RedactionRuleForm,
    tried: Preview | None = None,
    status: int = 200,
) -> HttpResponse:
    stored = [rule for rule in project.redaction_rules if isinstance(rule, dict)]
    context = {
        "form": form,
        "tried": tried,
        "rules": [(rule, redaction_rules.problem_of(rule)) for rule in stored],
        "built_in": redaction_rules.BUILT_IN_NAMES,
    }
    return render(request, "project/redaction.html", context, status=status)
