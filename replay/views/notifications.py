"""Webhooks and bounds of a project: made, changed, tried, looked at and removed by its admins."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from replay.notifications import bounds, keeping, sending
from replay.notifications.bounds import BadBound
from replay.notifications.forms import BoundForm, WebhookForm
from replay.notifications.keeping import BadWebhook
from replay.notifications.models import Bound, Delivery, DeliveryState, Webhook
from runs.access import get_membership_or_404
from runs.accounts.models import Membership, Role
from runs.accounts.views import shown_once
from runs.refusals import Refused
from runs.strangers import told

ROWS = 50


class LogForm(forms.Form):
    """The state of the log in its address; what cannot be is left out."""

    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    state = forms.ChoiceField(choices=DeliveryState.choices, required=False)


# --- All of a project --------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """All webhooks and bounds; POST makes a webhook and leads to it, where its secret is shown."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    if request.method != "POST":
        return _overview(request, me, WebhookForm(), BoundForm())
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            origin = request.build_absolute_uri("/")
            given = keeping.read(form.cleaned_data)
            hook, secret = keeping.add(me.project, given, by=me.user, origin=origin)
        except (BadWebhook, Refused) as wrong:
            for one in wrong.refused().each:
                form.add_error(one.field, one.message)
        else:
            return shown_once.redirect_with(secret, me, _page_of(slug, hook))
    return _overview(request, me, form, BoundForm(), status=400)


@require_POST
def new_bound(request: HttpRequest, slug: str) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.ADMIN)
    form = BoundForm(request.POST)
    if form.is_valid():
        try:
            bounds.add(me.project_id, form.sent())
        except (BadBound, Refused) as wrong:
            for one in wrong.refused().each:
                form.blame(one.field, one.message)
        else:
            messages.success(request, "It is looked at from now on, every minute.")
            return redirect("replay:notifications", slug)
    return _overview(request, me, WebhookForm(), form, status=400)


@require_POST
def bound_removal(request: HttpRequest, slug: str, bound_id: str) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.ADMIN)
    bound = Bound.objects.filter(project=me.project, public_id=bound_id).first()
    if bound is None:
        raise Http404
    bounds.remove(bound)
    messages.success(request, "The bound is removed.")
    return redirect("replay:notifications", slug)


def _overview(
    request: HttpRequest,
    me: Membership,
    form: WebhookForm,
    bound_form: BoundForm,
    status: int = 200,
) -> HttpResponse:
    hooks = list(Webhook.objects.filter(project=me.project).order_by("pk"))
    context = {
        "form": form,
        "bound_form": bound_form,
        "hooks": hooks,
        "unheard": bounds.unheard(hooks),
        "bounds": list(Bound.objects.filter(project=me.project).order_by("pk")),
    }
    return render(request, "project/notifications.html", context, status=status)


# --- One webhook -------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_page(request: HttpRequest, slug: str, webhook_id: str) -> HttpResponse:
    """One webhook and its log; POST changes it."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    hook = _hook_or_404(me, webhook_id)
    if request.method != "POST":
        secret = shown_once.take(request, me)
        return shown_once.forget(request, _one(request, hook, WebhookForm(row=hook), secret))
    form = WebhookForm(request.POST, row=hook)
    if form.is_valid():
        try:
            keeping.change(hook, keeping.read(form.cleaned_data, hook))
        except (BadWebhook, Refused) as wrong:
            for one in wrong.refused().each:
                form.add_error(one.field, one.message)
        else:
            messages.success(request, "Changed; it counts from the next event on.")
            return redirect(_page_of(slug, hook))
    return _one(request, hook, form, status=400)


@require_POST
def ping(request: HttpRequest, slug: str, webhook_id: str) -> HttpResponse:
    """Send a ping and show what came; the log keeps it."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    hook = _hook_or_404(me, webhook_id)
    row = sending.ping(hook)
    if row.state == DeliveryState.DELIVERED:
        messages.success(request, f"The ping was taken: {row.status_code}.")
    else:
        said = f"{row.status_code} {row.said}" if row.status_code else row.said
        messages.error(request, f"The ping was not taken: {said}")
    return redirect(_page_of(slug, hook))


@require_POST
def secret(request: HttpRequest, slug: str, webhook_id: str) -> HttpResponse:
    """Make a new secret; the page it leads to shows it, this once."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    hook = _hook_or_404(me, webhook_id)
    try:
        made = keeping.rotate(hook)
    except BadWebhook as bad:
        messages.error(request, bad.message)
        return redirect(_page_of(slug, hook))
    return shown_once.redirect_with(made, me, _page_of(slug, hook))


@require_POST
def removal(request: HttpRequest, slug: str, webhook_id: str) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.ADMIN)
    keeping.remove(_hook_or_404(me, webhook_id))
    messages.success(request, "The webhook is removed, its secret and its log with it.")
    return redirect("replay:notifications", slug)


@require_POST
def again(request: HttpRequest, slug: str, webhook_id: str, delivery_id: int) -> HttpResponse:
    """Send a delivery once more."""
    me = get_membership_or_404(request, slug, Role.ADMIN)
    hook = _hook_or_404(me, webhook_id)
    row = Delivery.objects.select_related("webhook").filter(webhook=hook, pk=delivery_id).first()
    if row is None:
        raise Http404
    try:
        sending.redeliver(row)
    except sending.NotNow as why:
        messages.error(request, str(why))
    else:
        messages.success(request, "It is sent again in a moment.")
    return redirect(_page_of(slug, hook))


def _hook_or_404(me: Membership, webhook_id: str) -> Webhook:
    hook = Webhook.objects.filter(project=me.project, public_id=webhook_id).first()
    if hook is None:
        raise Http404
    hook.project = me.project
    return hook


def _page_of(slug: str, hook: Webhook) -> str:
    return reverse("replay:webhook", args=[slug, hook.public_id])


def _one(
    request: HttpRequest, hook: Webhook, form: WebhookForm, secret: str = "", status: int = 200
) -> HttpResponse:
    log = LogForm(request.GET)
    log.full_clean()
    before, state = log.cleaned_data.get("before"), log.cleaned_data.get("state")
    found = Delivery.objects.filter(webhook=hook).order_by("-pk").defer("body")
    found = found.filter(state=state) if state else found
    rows = list((found.filter(pk__lt=before) if before else found)[: ROWS + 1])
    context = {
        "hook": hook,
        "form": form,
        "secret": secret,
        "state": state,
        "states": DeliveryState.choices,
        "deliveries": rows[:ROWS],
        "older": rows[ROWS - 1].pk if len(rows) > ROWS else None,
        "tries": sending.TRIES,
        **told(request.GET, log.fields),
    }
    return render(request, "project/webhook.html", context, status=status)
