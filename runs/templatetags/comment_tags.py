"""Comments on a page: the thread of an effect, and what waits for its reader."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import mark_safe

from runs.accounts.models import Membership, Role
from runs.addresses import address_of
from runs.comments import threads
from runs.comments.threads import Said
from runs.models import Run

register = template.Library()


def thread_context(reader: Membership, run: Run, seq: int) -> dict[str, Any]:
    """What the template of a thread needs."""
    shown = threads.thread(run, seq, reader)
    return {
        "run": run,
        "seq": seq,
        "thread": shown,
        "may_write": Role(reader.role).covers(Role.MEMBER),
        "unread": threads.unread_in(reader, shown),
    }


@register.inclusion_tag("runs/_comments.html", takes_context=True)
def comments_on(context: template.Context, run: Run, seq: int) -> dict[str, Any]:
    """The thread of an effect."""
    kept = {name: context[name] for name in ("request", "project", "csrf_token")}
    return kept | thread_context(context["membership"], run, seq)


@register.simple_tag
def words(said: Said) -> str:
    """A comment's text with the people it names as chips."""
    return format_html_join("", "{}", ([_piece(one, said)] for one in said.pieces))


def _piece(piece: Any, said: Said) -> str:
    if not piece.name:
        return escape(piece.text)
    mine = " me" if piece.name.casefold() in said.mine else ""
    return format_html('<span class="mention{}">{}</span>', mine, piece.text)


@register.simple_tag(takes_context=True)
def unread_mentions(context: template.Context) -> str:
    """How much waits in one's inbox; empty where nothing does."""
    here = context["project"].pk
    memberships = context.get("memberships") or ()
    count = next((one.unread for one in memberships if one.project_id == here), 0) or 0
    return f"{threads.COUNTED}+" if count > threads.COUNTED else str(count or "")


@register.simple_tag(takes_context=True)
def inbox_link(context: template.Context) -> str:
    """The inbox in the rail, with how many wait in it."""
    address = address_of("replay:inbox", context["project"].slug)
    here = mark_safe(' aria-current="page"') if context["request"].path == address else ""
    shape = '<a class="item" href="{}"{}>Inbox {}</a>'
    return format_html(shape, address, here, unread_badge(unread_mentions(context)))


def unread_badge(count: str, *, oob: bool = False) -> str:
    swap = mark_safe(' hx-swap-oob="true"') if oob else ""
    told = format_html('<span class="visually-hidden">{} unread</span>', count) if count else ""
    shown = format_html('<b aria-hidden="true">{}</b>', count) if count else ""
    return format_html('<span class="unread" id="unread"{}>{}{}</span>', swap, shown, told)


@register.simple_tag(takes_context=True)
def fresh_badge(context: template.Context) -> str:
    """The same by itself, to take the place of the one on the page."""
    return unread_badge(unread_mentions(context), oob=True)
