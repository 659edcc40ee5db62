"""One at a time: whoever writes the review of a project waits for the one before."""

from __future__ import annotations

from replay.comparison.differences import Difference
from replay.review.models import MINIMUM, ReviewRules
from runs import bulk, statements


def turn_of(project_id: int) -> None:
    """The first statement of such a transaction: it locks, so that no two wait for each other."""
    if not statements.change(ReviewRules, {"project_id": project_id}, add={"turn": 1}):
        statements.create([ReviewRules(project_id=project_id)], ignore=True)
        statements.change(ReviewRules, {"project_id": project_id}, add={"turn": 1})


def minimum_of(project_id: int) -> Difference:
    """From which class on a difference is a divergence."""
    found = bulk.find(ReviewRules, ("minimum",), project_id=project_id)
    return Difference(found[0] if found else MINIMUM)


def set_minimum(project_id: int, minimum: Difference) -> None:
    """For what is replayed from now on."""
    ReviewRules.objects.update_or_create(project_id=project_id, defaults={"minimum": minimum})
