"""One at a time: whoever writes the review of a project waits for the one before."""

from __future__ import annotations

from django.db.models import F

from replay.differences import Difference
from replay.review.models import MINIMUM, ReviewRules
from runs import bulk


def turn_of(project_id: int) -> None:
    """The first statement of such a transaction: it locks, so that no two wait for each other."""
    mine = ReviewRules.objects.filter(project_id=project_id)
    if not mine.update(turn=F("turn") + 1):
        ReviewRules.objects.bulk_create([ReviewRules(project_id=project_id)], ignore_conflicts=True)
        mine.update(turn=F("turn") + 1)


def minimum_of(project_id: int) -> Difference:
    """From which class on a difference is a divergence."""
    found = bulk.find(ReviewRules, ("minimum",), project_id=project_id)
    return Difference(found[0] if found else MINIMUM)


def set_minimum(project_id: int, minimum: Difference) -> None:
    """For what is replayed from now on."""
    ReviewRules.objects.update_or_create(project_id=project_id, defaults={"minimum": minimum})
