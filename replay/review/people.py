"""Who decides: a person, or a program by its key."""

from __future__ import annotations

from dataclasses import dataclass

from runs.accounts.models import ApiKey, Membership, User
from runs.comments.names import shown_name
from runs.messages.loose import clean
from runs.models import NAME


@dataclass(frozen=True, slots=True)
class Decider:
    """`signed` is the name others see, now and later."""

    user: User | None
    signed: str


def person(user: User) -> Decider:
    return Decider(user, clean(shown_name(user.name, user.email))[:NAME])


def member(membership: Membership) -> Decider:
    return person(membership.user)


def program(key_id: int) -> Decider:
    name = ApiKey.objects.values_list("name", flat=True).get(pk=key_id)
    return Decider(None, clean(name)[:NAME])
