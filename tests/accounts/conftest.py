"""Signed-in browsers by role."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from sessions import browser_of


@pytest.fixture
def signed_in() -> Callable[..., Client]:
    """signed_in(user) -> a browser with that person's session."""
    return browser_of


@pytest.fixture
def client_as(make_member, signed_in) -> Callable[..., Client]:
    """client_as("owner") -> a browser of a new person with that role in `project`."""
    return lambda role, **options: signed_in(make_member(role), **options)


@pytest.fixture
def owner(client_as) -> Client:
    return client_as("owner")
