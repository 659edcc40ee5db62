"""Comments written, changed and taken away: the only place that does. A run keeps their number."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import F, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from runs import bulk
from runs.accounts.models import Membership, Project, Role, User
from runs.comments.models import LONGEST, Comment, Mention
from runs.comments.names import mentioned, shown_name
from runs.messages.loose import clean, is_blank
from runs.models import Run
from runs.refusals import Refused, not_longer, not_unkept


def write(
    run: Run, seq: int, text: str, *, author: User | None, signed: str = "", about: str = ""
) -> Comment:
    """Say something about an effect, or of what is `about` it; raises Refused. `signed` names
    who is no person."""
    text = _checked(text)
    name = signed or (shown_name(author.name, author.email) if author else "")
    with bulk.turn():
        comment = Comment.objects.create(
            run=run, seq=seq, about=about, author=author, signed=clean(name)[:200], text=text
        )
        _mention(comment, run.project_id, author)
        _count(run.pk, 1)
    return comment


def edit(comment: Comment, text: str) -> None:
    """Change what a comment says; who was mentioned already is not told again."""
    text = _checked(text)
    if text == comment.text:
        return
    with bulk.turn():
        comment.text, comment.edited_at = text, timezone.now()
        comment.save(update_fields=["text", "edited_at"])
        _mention(comment, comment.run.project_id, comment.author)


def delete(comment: Comment) -> None:
    with bulk.turn():
        gone, _ = Comment.objects.filter(pk=comment.pk).delete()
        if gone:
            _count(comment.run_id, -1)


def may_edit(comment: Comment, member: Membership) -> bool:
    """Whose it is, while they may write here at all."""
    mine = comment.author_id is not None and comment.author_id == member.user_id
    return mine and Role(member.role).covers(Role.MEMBER)


def may_delete(comment: Comment, member: Membership) -> bool:
    return may_edit(comment, member) or Role(member.role).covers(Role.OWNER)


def people_of(project_id: int) -> QuerySet[Membership]:
    """Those who can be mentioned."""
    members = Membership.objects.filter(project_id=project_id, user__is_active=True)
    return members.select_related("user").order_by("user__name", "pk")


def read(user: User, project: Project, comments: Iterable[int] | None = None) -> int:
    """Mark mentions of a person as read: those in some comments, or all of a project."""
    unread = Mention.objects.filter(user=user, project=project, read_at=None)
    if comments is not None:
        unread = unread.filter(comment__in=list(comments))
    return unread.update(read_at=timezone.now())


def _checked(text: str) -> str:
    not_unkept(text, "text")
    text = clean(text.replace("\r\n", "\n")).strip()
    if is_blank(text):
        raise Refused("invalid", "A comment needs some words.", "text")
    not_longer(text, LONGEST, "text", "A comment")
    return text


def _mention(comment: Comment, project_id: int, author: User | None) -> None:
    """Keep who is named now; nobody is told of what they said themselves."""
    members = list(people_of(project_id)) if "@" in comment.text else []
    names = {one.user_id: shown_name(one.user.name, one.user.email) for one in members}
    now = timezone.now()
    rows = [
        Mention(
            comment=comment,
            user_id=user_id,
            project_id=project_id,
            name=name,
            read_at=now if author is not None and user_id == author.pk else None,
        )
        for found in mentioned(comment.text, names.values())
        for user_id, name in names.items()
        if name.casefold() == found.casefold()
    ]
    Mention.objects.filter(comment=comment).exclude(user__in=[r.user_id for r in rows]).delete()
    Mention.objects.bulk_create(rows, ignore_conflicts=True)


def _count(run_id: int, by: int) -> None:
    count = Greatest(F("comment_count") + by, 0)
    Run.everything.filter(pk=run_id).update(comment_count=count)
