"""A person's inbox in a project: mentions, which `runs` keeps, and notices, which are kept here."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from replay.notifications.models import Notice, NoticeKind, Webhook
from replay.review.models import Cluster
from replay.review.people import Decider
from runs.accounts.models import Membership, Project, Role, User
from runs.comments import threads, writing
from runs.comments.models import Mention

ADMINS = (Role.ADMIN, Role.OWNER)


# --- Told --------------------------------------------------------------------------------------


def tell_assigned(cluster: Cluster, whom: User | None, by: Decider) -> None:
    """A cluster is somebody's now; whoever had it and has not read so need not any more. Nobody
    is told of what they did themselves."""
    about = Notice.objects.filter(cluster=cluster, kind=NoticeKind.ASSIGNED, read_at=None)
    about.delete()
    if whom is None or (by.user is not None and by.user.pk == whom.pk):
        return
    Notice.objects.create(
        user=whom,
        project_id=cluster.project_id,
        kind=NoticeKind.ASSIGNED,
        cluster=cluster,
        signed=by.signed,
    )


def tell_switched_off(hook: Webhook) -> None:
    """Tell the admins that a webhook fails for so long that nothing more is sent to it."""
    members = Membership.objects.filter(
        project=hook.project_id, role__in=ADMINS, user__is_active=True
    )
    Notice.objects.bulk_create(
        Notice(
            user_id=member.user_id,
            project_id=hook.project_id,
            kind=NoticeKind.WEBHOOK_OFF,
            webhook=hook,
        )
        for member in members
    )


# --- Read --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that waits or waited: a mention or a notice."""

    at: datetime
    mention: Mention | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Behind which keys a page begins."""

    mention: int
    notice: int

    def __str__(self) -> str:
        return f"{self.mention}.{self.notice}"


def lines(
    user: User, project: Project, before: Place | None, limit: int
) -> tuple[list[Line], Place | None]:
    """A page of what a person was told, newest first, and the place behind it, if more is there."""
    mentions = threads.inbox(user, project).prefetch_related("comment__mentions")
    notices = _notices(user, project)
    if before is not None:
        mentions = mentions.filter(pk__lt=before.mention)
        notices = notices.filter(pk__lt=before.notice)
    found = _merged(mentions[: limit + 1], notices[: limit + 1])
    shown = found[:limit]
    return shown, _behind(shown, before) if len(found) > limit else None


def _notices(user: User, project: Project) -> QuerySet[Notice]:
    mine = Notice.objects.filter(user=user, project=project)
    return mine.select_related("cluster", "webhook").order_by("-pk")


def _merged(mentions: Iterable[Mention], notices: Iterable[Notice]) -> list[Line]:
    said = (Line(one.comment.created_at, mention=one) for one in mentions)
    told = (Line(one.created_at, notice=one) for one in notices)
    return list(heapq.merge(said, told, key=lambda line: line.at, reverse=True))


def _behind(shown: Sequence[Line], before: Place | None) -> Place:
    beyond = 2**63 - 1
    mention, notice = (before.mention, before.notice) if before else (beyond, beyond)
    for line in shown:
        mention = line.mention.pk if line.mention else mention
        notice = line.notice.pk if line.notice else notice
    return Place(mention, notice)


def with_notices(memberships: QuerySet[Membership], here: int) -> QuerySet[Membership]:
    """Memberships whose `unread` counts the notices that wait, beside the mentions."""
    waiting = Notice.objects.filter(
        user=OuterRef("user_id"), project=OuterRef("project_id"), read_at=None
    )
    counted = waiting.order_by().values("project").annotate(count=Count("pk")).values("count")
    both = Coalesce(F("unread"), 0) + Coalesce(Subquery(counted), 0)
    return memberships.annotate(unread=both)


# --- Marked ------------------------------------------------------------------------------------


def read(
    user: User, project: Project, *, comments: Sequence[int] = (), notices: Sequence[int] = ()
) -> None:
    """Mark some as read; where none is named, all."""
    every = not comments and not notices
    if every or comments:
        writing.read(user, project, None if every else comments)
    unread = Notice.objects.filter(user=user, project=project, read_at=None)
    if every or notices:
        mine = unread if every else unread.filter(pk__in=notices)
        mine.update(read_at=timezone.now())
