"""The command palette: what one can go to or do from anywhere, as one types."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs.access import get_membership_or_404
from runs.models import NAME, Run
from runs.palette import groups


class PaletteForm(forms.Form):
    """What is typed, and the run one stands on; what cannot be is left out."""

    q = forms.CharField(max_length=NAME, required=False)
    run = forms.CharField(max_length=NAME, required=False)


@require_safe
@vary_on_headers("HX-Request")
def palette(request: HttpRequest, slug: str) -> HttpResponse:
    """The choices alone for htmx, else a page that does without scripts."""
    member = get_membership_or_404(request, slug)
    form = PaletteForm(request.GET)
    form.full_clean()
    asked, name = (form.cleaned_data.get(part) or "" for part in ("q", "run"))
    here = Run.objects.of(member.project).filter(external_id=name).first() if name else None
    context = {"asked": asked, "here": here, "groups": groups(member, asked, here)}
    alone = request.headers.get("HX-Request")
    return render(request, "runs/_choices.html" if alone else "runs/palette.html", context)
