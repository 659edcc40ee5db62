"""Who asks through the API, and what is in the body."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from replay.jobs import Asker
from replay.review.people import Decider, member, program
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from runs.accounts.keys import KeyPrincipal
from runs.accounts.models import Membership
from runs.api.incoming import read_small
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
