"""Ways in and out: a one-time link, a password; and where one lands."""

from __future__ import annotations

from typing import Any

from axes.helpers import get_cool_off
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import LAST_PROJECT, signed_in
from runs.accounts import links
from runs.accounts.forms import NextForm, SignInForm
from runs.accounts.models import LinkPurpose, Membership, OneTimeLink, Project, User
from runs.accounts.people import runs_page

BACKEND = "runs.accounts.backends.SignedIn"
LINK_STATUS = {"unknown": 404, "used": 410, "expired": 410}


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The project one looked at last, else the first one, else the page to make one."""
    return redirect(landing(request, signed_in(request)))


def landing(request: HttpRequest, user: User) -> str:
    mine = Project.objects.filter(memberships__user=user).order_by("name", "pk")
    last = request.session.get(LAST_PROJECT, "")
    project = mine.filter(slug=last).first() or mine.first()
    return runs_page(project) if project else "/projects"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """E-mail and password; then the page asked for, if it is ours."""
    if request.method == "POST":
        return _check_password(request)
    following = safe_next(request, request.GET.get("next", ""))
    if isinstance(request.user, User):
        return redirect(following or landing(request, request.user))
    return render(request, "accounts/sign_in.html", {"form": SignInForm(), "next": following})


def _check_password(request: HttpRequest) -> HttpResponse:
    form, following = SignInForm(request.POST), safe_next(request, request.POST.get("next", ""))
    if form.is_valid():
        email, password = form.cleaned_data["email"], form.cleaned_data["password"]
        # axes would keep a copy of all that was posted, an invitation in `next` included.
        request.POST = request.GET = QueryDict("")
        # By `email`: under another name axes counts the failures of all people as nobody's.
        user = authenticate(request, email=email, password=password)
        if isinstance(user, User):
            login(request, user)
            return redirect(following or landing(request, user))
        form.add_error(None, "E-mail and password do not fit.")
    context = {"form": form, "next": following}
    return render(request, "accounts/sign_in.html", context, status=400)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button (mail scanners and previews only look); POST signs in, once."""
    link = links.find(token, LinkPurpose.SIGN_IN)
    trouble = _trouble_with(link)
    if link is None or trouble:
        return _no_link(request, trouble)
    if request.method != "POST":
        return render(request, "accounts/sign_in_link.html", {"link": link})
    user = link.user
    assert user is not None
    if not links.use(link):
        return _no_link(request, "used")
    login(request, user, backend=BACKEND)
    return redirect(_landing_of(link, request, user))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("accounts:sign-in")


def locked_out(
    request: HttpRequest, response: HttpResponseBase | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Too many wrong passwords (named in AXES_LOCKOUT_CALLABLE)."""
    wait = get_cool_off(request)
    seconds = int(wait.total_seconds()) if wait else 0
    page = render(request, "accounts/locked_out.html", {"minutes": -(-seconds // 60)}, status=429)
    page["Retry-After"] = str(seconds)
    page["Cache-Control"] = "no-store"
    return page


def safe_next(request: HttpRequest, url: str) -> str:
    """`url` if it is a page of this host, else nothing: a word alone is the name of a route to
    Django's `redirect`."""
    form = NextForm({"next": url})
    if not form.is_valid():
        return ""
    following: str = form.cleaned_data["next"]
    if "/" not in following:
        return ""
    ours = url_has_allowed_host_and_scheme(
        following, {request.get_host()}, require_https=request.is_secure()
    )
    return following if ours else ""


def _trouble_with(link: OneTimeLink | None) -> str:
    if link is None or link.user is None or not link.user.is_active:
        return "unknown"
    if link.used_at is not None:
        return "used"
    return "" if links.is_live(link) else "expired"


def _no_link(request: HttpRequest, trouble: str) -> HttpResponse:
    context = {"trouble": trouble}
    return render(request, "accounts/link_ended.html", context, status=LINK_STATUS[trouble])


def _landing_of(link: OneTimeLink, request: HttpRequest, user: User) -> str:
    named = link.project
    if named is not None and Membership.objects.filter(user=user, project=named).exists():
        return runs_page(named)
    return landing(request, user)
