"""What a project does not count as a difference: its rules, tried, added, removed, applied."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from replay.comparison.beside import both_sides
from replay.comparison.sides import SHOWS
from replay.ignore_rules import applying, keeping, trying
from replay.ignore_rules.applying import Applied, BadCursor
from replay.ignore_rules.forms import IgnoreRuleForm, SoFarForm, SuggestedForm
from replay.ignore_rules.models import IgnoreRule
from replay.ignore_rules.rule import BadRule
from replay.ignore_rules.trying import Tried
from replay.review.people import member as decider
from runs.access import get_membership_or_404
from runs.accounts.models import Membership, Role

APPLIED = "rules_applied"
"""Session key."""
BESIDE = 5
"""Examples shown with both answers."""


@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """All rules; POST tries one on what was compared last (`try`), or adds it."""
    needs = Role.ADMIN if request.method == "POST" else Role.MEMBER
    member = get_membership_or_404(request, slug, needs)
    if request.method != "POST":
        form = IgnoreRuleForm(initial=SuggestedForm(request.GET).suggested())
        return _page(request, member, form, applied=_applied(request, member))
    form = IgnoreRuleForm(request.POST)
    if not form.is_valid():
        return _page(request, member, form, status=400)
    try:
        if "try" in request.POST:
            return _page(request, member, form, tried=trying.preview(member.project, form.given()))
        keeping.add(member.project, form.given(), decider(member).signed)
    except BadRule as bad:
        form.add_error(bad.member if bad.member in form.fields else None, bad.message)
        return _page(request, member, form, status=400)
    messages.success(request, "The rule counts for what is compared from now on.")
    return redirect("replay:ignore-rules", slug)


@require_POST
def removal(request: HttpRequest, slug: str) -> HttpResponse:
    member = get_membership_or_404(request, slug, Role.ADMIN)
    if keeping.remove(member.project, request.POST.get("name", "")):
        messages.success(request, "The rule is removed. What it ignored stays so until applied.")
    return redirect("replay:ignore-rules", slug)


@require_POST
def application(request: HttpRequest, slug: str) -> HttpResponse:
    """Apply the rules to some of what was compared before; the page goes on where it ends."""
    member = get_membership_or_404(request, slug, Role.ADMIN)
    form = SoFarForm(request.POST)
    counts = form.counts()
    after = form.cleaned_data.get("after") or ""
    try:
        done = applying.apply(member.project, decider(member), after, counts)
    except BadCursor:
        messages.error(request, "This place to go on from is none of ours.")
        return redirect("replay:ignore-rules", slug)
    if request.headers.get("HX-Request"):
        return render(request, "project/ignore_rules.html#applied", {"applied": done})
    # Kept for the page: the address of this request is of no use to whoever opens it again.
    request.session[APPLIED] = {"project": member.project_id, **asdict(done)}
    return redirect(f"{reverse('replay:ignore-rules', args=[slug])}#applied")


def _applied(request: HttpRequest, member: Membership) -> Applied | None:
    """What applying the rules just did, shown once."""
    kept = request.session.pop(APPLIED, None) if APPLIED in request.session else None
    if not kept or kept.pop("project") != member.project_id:
        return None
    return Applied(**kept)


def _page(
    request: HttpRequest,
    member: Membership,
    form: IgnoreRuleForm,
    tried: Tried | None = None,
    applied: Applied | None = None,
    status: int = 200,
) -> HttpResponse:
    found = IgnoreRule.objects.filter(project=member.project_id).order_by("pk")
    context = {
        "form": form,
        "rules": [(rule, keeping.problem_of(rule)) for rule in found],
        "tried": tried,
        "beside": _beside(tried) if tried else [],
        "last": trying.LAST,
        "applied": applied,
    }
    return render(request, "project/ignore_rules.html", context, status=status)


def _beside(tried: Tried) -> list[tuple[Any, Any]]:
    """Examples, the first with both answers as blocks."""
    shown = tried.examples[:BESIDE]
    rest = tried.examples[BESIDE:]
    return [(one, both_sides(one.row, SHOWS[0])) for one in shown] + [(one, None) for one in rest]
