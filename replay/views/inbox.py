"""A person's inbox: where others mentioned them, and what they were given."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from replay.notifications import inbox as kept
from replay.notifications.inbox import Line, Place
from runs.access import get_membership_or_404
from runs.accounts.models import Membership
from runs.comments import threads
from runs.strangers import told

ROWS = 50
_MOST_NAMED = threads.SHOWN


class InboxForm(forms.Form):
    """The state of the page in its address; what cannot be is left out."""

    before = forms.RegexField(r"^[0-9]{1,19}\.[0-9]{1,19}$", required=False)

    def place(self) -> Place | None:
        self.full_clean()
        before = self.cleaned_data.get("before")
        if not before:
            return None
        mention, notice = (min(int(key), 2**63 - 1) for key in before.split("."))
        return Place(mention, notice)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def inbox(request: HttpRequest, slug: str) -> HttpResponse:
    """Mentions and assignments of the person who looks; by POST these are marked as read."""
    member = get_membership_or_404(request, slug)
    if request.method == "POST":
        return _read(request, member)
    place = InboxForm(request.GET).place()
    lines, older = kept.lines(member.user, member.project, place, ROWS)
    shown = [_shown(line, member) for line in lines]
    context = {"lines": shown, "older": older, **told(request.GET, InboxForm.base_fields)}
    return render(request, "replay/inbox.html", context)


def _shown(line: Line, member: Membership) -> dict[str, object]:
    said = threads.said(line.mention.comment, member) if line.mention else None
    about = line.mention or line.notice
    assert about is not None
    return {"at": line.at, "said": said, "notice": line.notice, "read_at": about.read_at}


def _read(request: HttpRequest, member: Membership) -> HttpResponse:
    comments, notices = (_keys(request.POST.getlist(name)) for name in ("comment", "notice"))
    named = "comment" in request.POST or "notice" in request.POST
    if comments or notices or not named:
        kept.read(member.user, member.project, comments=comments, notices=notices)
    return redirect("replay:inbox", member.project.slug)


def _keys(texts: Iterable[str]) -> list[int]:
    found = [int(text) for text in texts if text.isdecimal() and len(text) < 19]
    return found[:_MOST_NAMED]
