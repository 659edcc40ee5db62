"""Who asks through the API, what is in the body, and the things that filters name."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from replay.api.paging import word
from replay.jobs import Asker
from replay.models import Experiment, Replay
from replay.review.people import Decider, member, program
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from runs.accounts.keys import KeyPrincipal
from runs.accounts.models import Membership
from runs.api.auth import project_id_of
from runs.api.incoming import read_small
from runs.models import Run
from runs.refusals import Refused


def read_json(request: Request) -> Any:
    """The decoded body; Refused for what is no JSON."""
    try:
        return parse(read_small(request._request))
    except DecodeError as error:
        raise Refused("malformed", f"The body is no JSON: {error}") from None


def asker_of(request: Request) -> Asker:
    auth = request.auth
    if isinstance(auth, Membership):
        return Asker(user=auth.user)
    assert isinstance(auth, KeyPrincipal)
    return Asker(key_id=auth.key_id)


def decider_of(request: Request) -> Decider:
    """Who decides something, by the name others see."""
    auth = request.auth
    if isinstance(auth, Membership):
        return member(auth)
    assert isinstance(auth, KeyPrincipal)
    return program(auth.key_id)


def named(request: Request, columns: dict[str, str]) -> dict[str, str]:
    """The run, replay and experiment that filters name, by the columns that hold their ids.

    Refused("not_found") for one that is not here: an empty answer would read as one about it.
    """
    project = project_id_of(request)
    things: dict[str, QuerySet[Any]] = {
        "run": Run.objects.filter(project=project),
        "replay": Replay.objects.visible().filter(project=project),
        "experiment": Experiment.objects.filter(project=project),
    }
    found = {}
    for name, column in columns.items():
        value = word(request, name)
        if value is None:
            continue
        if not things[name].filter(**{column.rpartition("__")[2]: value}).exists():
            raise Refused("not_found", f"There is no {name} of this id.", name)
        found[column] = value
    return found
