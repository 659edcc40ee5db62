"""API keys of a project."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_membership_or_404
from runs.accounts import keys
from runs.accounts.forms import KeyForm
from runs.accounts.models import ApiKey, Membership, Role, Scope
from runs.accounts.views import shown_once


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All keys; POST makes one and leads back here, where its token is shown, this once."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    if request.method != "POST":
        token = shown_once.take(request, me)
        response = _page(request, me, KeyForm(me.project), token=token)
        return shown_once.forget(request, response)
    form = KeyForm(me.project, request.POST)
    if not form.is_valid():
        return _page(request, me, form, status=400)
    _, token = keys.mint(
        project=me.project,
        name=form.cleaned_data["name"],
        scope=Scope(form.cleaned_data["scope"]),
        expires_at=form.expires_at(),
        created_by=me.user,
    )
    return shown_once.redirect_with(token, me, reverse("accounts:keys", args=[slug]))


@require_POST
def revoke(request: HttpRequest, slug: str, key_id: int) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.ADMIN)
    key = get_object_or_404(ApiKey, project=me.project, pk=key_id)
    keys.revoke(key)
    messages.success(request, f"The key “{key.name}” is revoked; it ends within 5 seconds.")
    return redirect("accounts:keys", slug)


def _page(
    request: HttpRequest, me: Membership, form: KeyForm, token: str = "", status: int = 200
) -> HttpResponse:
    rows = list(me.project.api_keys.select_related("created_by").order_by("-created_at", "-pk"))
    now = timezone.now()
    context = {
        "live_keys": [key for key in rows if key.is_live(now)],
        "ended_keys": [key for key in rows if not key.is_live(now)],
        "form": form,
        "token": token,
    }
    return render(request, "project/keys.html", context, status=status)
