"""One's own account: name and password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import signed_in
from runs.accounts.forms import NameForm, NewPasswordForm
from runs.accounts.models import User


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    if request.method != "POST":
        return _page(request, NameForm(initial={"name": user.name}), NewPasswordForm(user))
    form = NameForm(request.POST)
    if not form.is_valid():
        return _page(request, form, NewPasswordForm(user), status=400)
    User.objects.filter(pk=user.pk).update(name=form.cleaned_data["name"])
    messages.success(request, "Your name is saved.")
    return redirect("accounts:account")


@never_cache
@sensitive_post_parameters("current", "password", "again")
@require_POST
def password(request: HttpRequest) -> HttpResponse:
    """Set or change the password. Other sessions of the person end; this one goes on."""
    user = signed_in(request)
    form = NewPasswordForm(user, request.POST)
    if not form.is_valid():
        return _page(request, NameForm(initial={"name": user.name}), form, status=400)
    user.set_password(form.cleaned_data["password"])
    user.save(update_fields=["password"])
    update_session_auth_hash(request, user)
    messages.success(request, "Your password is set. Other sessions have ended.")
    return redirect("accounts:account")


def _page(
    request: HttpRequest, name_form: NameForm, password_form: NewPasswordForm, status: int = 200
) -> HttpResponse:
    context = {"name_form": name_form, "password_form": password_form}
    return render(request, "accounts/account.html", context, status=status)
