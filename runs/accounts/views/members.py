"""Members of a project: roles, invitations by link, leaving."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import get_membership_or_404
from runs.accounts import links, people
from runs.accounts.forms import InviteForm, JoinForm, RoleForm
from runs.accounts.models import ApiKey, LinkPurpose, Membership, OneTimeLink, Role, User
from runs.accounts.views import shown_once
from runs.accounts.views.sign_in import BACKEND

KEYS_TOLD = 5


@never_cache
@require_safe
def member_list(request: HttpRequest, slug: str) -> HttpResponse:
    me = get_membership_or_404(request, slug)
    response = _page(request, me, InviteForm(), new_link=shown_once.take(request, me))
    return shown_once.forget(request, response)


@require_POST
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link and lead to the members, where it is shown, this once; no mail is sent."""
    me = get_membership_or_404(request, slug, Role.OWNER)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, me, form, status=400)
    role = Role(form.cleaned_data["role"])
    token = people.invite(by=me, role=role, email=form.cleaned_data["email"])
    link = request.build_absolute_uri(reverse("accounts:join", args=[token]))
    return shown_once.redirect_with(link, me, reverse("accounts:members", args=[slug]))


@require_POST
def revoke_invite(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.OWNER)
    if not people.revoke_invite(me.project, link_id):
        raise Http404
    messages.success(request, "The invitation is revoked.")
    return redirect("accounts:members", slug)


@require_POST
def change_role(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.OWNER)
    member = _member_or_404(me, member_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such role.")
        return redirect("accounts:members", slug)
    role = Role(form.cleaned_data["role"])
    try:
        people.change_role(by=me, member=member, role=role)
    except people.NotPossible as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{member.user.email} is now {role}.")
    return redirect("accounts:members", slug)


@require_POST
def remove(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    me = get_membership_or_404(request, slug, Role.OWNER)
    member = _member_or_404(me, member_id)
    try:
        people.remove_member(by=me, member=member)
    except people.NotPossible as error:
        messages.error(request, str(error))
        return redirect("accounts:members", slug)
    if member.pk == me.pk:
        return redirect("accounts:home")
    messages.success(request, f"{member.user.email} is no longer a member.")
    _tell_of_keys(request, member)
    return redirect("accounts:members", slug)


def _tell_of_keys(request: HttpRequest, gone: Membership) -> None:
    """A key is the project's, and agents may live by it; whoever made it may still know it."""
    made = ApiKey.objects.live().filter(project=gone.project_id, created_by=gone.user_id)
    names = list(made.order_by("name").values_list("name", flat=True)[: KEYS_TOLD + 1])
    if names:
        told = ", ".join(f"“{name}”" for name in names[:KEYS_TOLD])
        more = " and others" if len(names) > KEYS_TOLD else ""
        said = f"Keys they made still work: {told}{more}. Revoke what they may have kept."
        messages.warning(request, said)


@require_POST
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    me = get_membership_or_404(request, slug)
    try:
        people.remove_member(by=me, member=me)
    except people.NotPossible as error:
        messages.error(request, str(error))
        return redirect("accounts:members", slug)
    messages.success(request, f"You have left “{me.project.name}”.")
    return redirect("accounts:home")


@never_cache
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Accept an invitation: a signed-in person by a button, a new one with name and password."""
    link = links.find(token, LinkPurpose.INVITE)
    if link is None or link.project is None or not links.is_live(link):
        status = 404 if link is None else 410
        return render(request, "accounts/invite_ended.html", status=status)
    if isinstance(request.user, User):
        return _join_as(request, link, request.user)
    return _join_as_new(request, link)


def _join_as(request: HttpRequest, link: OneTimeLink, user: User) -> HttpResponse:
    assert link.project is not None
    if Membership.objects.filter(user=user, project=link.project).exists():
        return redirect(people.runs_page(link.project))
    if request.method != "POST":
        return render(request, "accounts/join.html", {"link": link})
    try:
        people.join(link, user)
    except people.NotPossible as error:
        return render(request, "accounts/join.html", {"link": link, "error": error}, status=400)
    return redirect(people.runs_page(link.project))


def _join_as_new(request: HttpRequest, link: OneTimeLink) -> HttpResponse:
    assert link.project is not None
    form = JoinForm(
        request.POST if request.method == "POST" else None, initial={"email": link.email}
    )
    if form.is_valid():
        user = _new_person(link, form)
        if user is not None:
            login(request, user, backend=BACKEND)
            return redirect(people.runs_page(link.project))
    status = 400 if form.is_bound else 200
    return render(request, "accounts/join.html", {"link": link, "form": form}, status=status)


def _new_person(link: OneTimeLink, form: JoinForm) -> User | None:
    data = form.cleaned_data
    try:
        return people.join_as_new(
            link, email=data["email"], name=data["name"], password=data["password"]
        )
    except people.NotPossible as error:
        form.add_error("email", str(error))
    except IntegrityError:
        form.add_error("email", "Somebody has this address. If it is you, sign in first.")
    return None


def _member_or_404(me: Membership, member_id: int) -> Membership:
    mine = Membership.objects.select_related("user", "project").filter(project=me.project)
    return get_object_or_404(mine, pk=member_id)


def _page(
    request: HttpRequest, me: Membership, form: InviteForm, new_link: str = "", status: int = 200
) -> HttpResponse:
    members = me.project.memberships.select_related("user").order_by("user__email")
    context = {
        "members": members,
        "invites": people.open_invites(me.project) if me.role == Role.OWNER else [],
        "form": form,
        "new_link": new_link,
        "roles": Role.choices,
    }
    return render(request, "project/members.html", context, status=status)
