"""Comments as they are read: those of an effect, how many each effect has, who was mentioned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery

from runs.accounts.models import Membership, Project, User
from runs.comments import writing
from runs.comments.models import Comment, Mention
from runs.comments.names import Piece, pieces, shown_name
from runs.models import Run
from runs.prepared import prepared

SHOWN = 200
"""Comments of one effect that are shown, the newest."""
OFFERED = 30
"""People whose names are offered below a comment."""
COUNTED = 99


@dataclass(frozen=True, slots=True)
class Said:
    """One comment for one reader."""

    comment: Comment
    pieces: tuple[Piece, ...]
    may_edit: bool
    may_delete: bool
    mine: frozenset[str]
    """The names by which the reader is mentioned here."""


def comments_on(run: Run, seq: int) -> QuerySet[Comment]:
    """Comments on an effect itself, oldest first."""
    return Comment.objects.filter(run_id=run.pk, seq=seq, about="").order_by("pk")


def thread(run: Run, seq: int, reader: Membership) -> list[Said]:
    """What was said about an effect, by one query more than nothing was said."""
    if not run.comment_count:
        return []
    newest = comments_on(run, seq).order_by("-pk").prefetch_related("mentions")[:SHOWN]
    return [said(comment, reader) for comment in reversed(newest)]


def said(comment: Comment, reader: Membership) -> Said:
    mentions = comment.mentions.all()
    names = {mention.name for mention in mentions}
    return Said(
        comment,
        tuple(pieces(comment.text, names)),
        writing.may_edit(comment, reader),
        writing.may_delete(comment, reader),
        frozenset(m.name.casefold() for m in mentions if m.user_id == reader.user_id),
    )


def counts(run: Run, first: int, last: int) -> dict[int, int]:
    """How many comments effects have, of those from one position to another."""
    if not run.comment_count:
        return {}
    found = Comment.objects.filter(run_id=run.pk, seq__range=(first, last), about="").order_by()
    return dict(found.values_list("seq").annotate(Count("pk")))


def names_of(project: Project) -> list[str]:
    """The names that are offered to be mentioned, each once: it means all who are called so."""
    names = (shown_name(name, email) for _, name, email in offered(project.pk))
    return list(dict.fromkeys(names))


@prepared
def offered(project_id: int) -> QuerySet[Membership, tuple[int, str, str]]:
    """(key, name, e-mail) of people of a project, as many as are offered to choose from."""
    people = writing.people_of(project_id)
    return people.values_list("user_id", "user__name", "user__email")[:OFFERED]


def inbox(user: User, project: Project) -> QuerySet[Mention]:
    """Mentions of a person in a project, newest first, without those in deleted runs."""
    mine = Mention.objects.filter(user=user, project=project, comment__run__deleted_at=None)
    mine = mine.select_related("comment__run").exclude(comment__author=user)
    return mine.order_by("-pk")


def with_unread(memberships: QuerySet[Membership]) -> QuerySet[Membership]:
    """Memberships with the number of mentions that wait in each project as `unread`."""
    waiting = Mention.objects.filter(
        user=OuterRef("user_id"),
        project=OuterRef("project_id"),
        read_at=None,
        comment__run__deleted_at=None,
    )
    counted = waiting.order_by().values("project").annotate(count=Count("pk")).values("count")
    return memberships.annotate(unread=Subquery(counted))


def unread_in(reader: Membership, shown: Sequence[Said]) -> list[int]:
    """The keys of those comments shown in which a mention of the reader is unread."""
    return [
        one.comment.pk
        for one in shown
        for mention in one.comment.mentions.all()
        if mention.user_id == reader.user_id and mention.read_at is None
    ]
