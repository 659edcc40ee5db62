"""Accepted answers: who accepted them and why, and how to end one."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from replay.comparison.answers import unpack
from replay.dialects import Answer
from replay.review import deciding, reading
from replay.review.baselines import revoke, why_revoked
from replay.review.people import member as decider
from runs.access import get_membership_or_404
from runs.accounts.models import Role
from runs.refusals import Refused
from runs.strangers import told

ROWS = 50
SAID = 300
UNSEEN = ("plan", "proof", "mismatches")
"""Of a replay: long, and no list shows them."""


class BaselineForm(forms.Form):
    """The state of the list in its address; what cannot be is left out."""

    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    revoked = forms.BooleanField(required=False)


@require_safe
def baseline_list(request: HttpRequest, slug: str) -> HttpResponse:
    member = get_membership_or_404(request, slug)
    form = BaselineForm(request.GET)
    form.full_clean()
    given = form.cleaned_data
    found = reading.baselines(member.project_id).select_related("divergence__replay")
    found = found.defer(*(f"divergence__replay__{name}" for name in UNSEEN))
    if not given.get("revoked"):
        found = found.filter(revoked_at=None)
    if before := given.get("before"):
        found = found.filter(pk__lt=before)
    rows = list(found[: ROWS + 1])
    why = why_revoked(rows[:ROWS])
    context = {
        "baselines": [
            (one, said(unpack(bytes(one.answer))), why.get(one.pk)) for one in rows[:ROWS]
        ],
        "older": rows[ROWS - 1].pk if len(rows) > ROWS else None,
        "revoked": bool(given.get("revoked")),
        "may_decide": Role(member.role).covers(Role.MEMBER),
        **told(request.GET, form.fields),
    }
    return render(request, "replay/baselines.html", context)


def said(answer: Answer) -> str:
    """The start of an answer on one line: its text, and its calls as `tool(arguments)`."""
    calls = (f"{call.name}({call.arguments_text[:SAID]})" for call in answer.calls)
    parts = (answer.text[:SAID], answer.refusal[:SAID] if answer.refusal else "", *calls)
    return " · ".join(filter(None, (" ".join(part.split()) for part in parts)))


@require_POST
def revocation(request: HttpRequest, slug: str, baseline_id: str) -> HttpResponse:
    member = get_membership_or_404(request, slug, Role.MEMBER)
    baseline = reading.baselines(member.project_id).filter(public_id=baseline_id).first()
    if baseline is None:
        raise Http404
    try:
        reason = deciding.checked_reason(request.POST.get("reason", ""))
    except Refused as problem:
        messages.error(request, str(problem))
        return redirect("replay:baselines", slug)
    if revoke(baseline, decider(member), reason):
        messages.success(request, "Revoked: later replays are held against the recording again.")
    else:
        messages.info(request, "It was revoked already.")
    return redirect("replay:baselines", slug)
