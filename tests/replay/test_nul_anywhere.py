"""NUL in whatever parameter the API looks for: none reaches the database with it (PostgreSQL takes
none), and a program is told which one it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from everything import QUERIES, address_of, routes

pytestmark = pytest.mark.django_db

BAD = "a\0b"
LOOKS = ("get", "getlist", "__getitem__", "__contains__")


@pytest.fixture
def looked_for(monkeypatch) -> set[str]:
    """The names that were looked for in a query string or a form."""
    names: set[str] = set()

    def noting(look: Callable) -> Callable:
        def noted(self: QueryDict, name: Any, *args: Any) -> Any:
            names.add(name)
            return look(self, name, *args)

        return noted

    for look in LOOKS:
        monkeypatch.setattr(QueryDict, look, noting(getattr(QueryDict, look)), raising=False)
    return names


def asked(ask: Callable, routes: Any, there: dict, names: set[str]) -> dict[str, Any]:
    """The answers of each route to NUL in each of the parameters that it looks for."""
    answers = {}
    for route in routes:
        address, query = address_of(route, there), QUERIES.get(route, {})
        names.clear()
        ask(address, query)
        for name in sorted(names - {"csrfmiddlewaretoken"}):
            answers[f"{route} {name}"] = ask(address, {**query, name: BAD})
    return answers


def test_the_api_names_the_parameter_that_holds_nul(everything, api_key, looked_for):
    client = Client(raise_request_exception=False, headers={"authorization": f"Bearer {api_key}"})
    # The first two know no parameter of ours: they are the description of the others.
    asked_of = [name for name in routes("GET", api=True) if name not in ("api:schema", "api:docs")]
    answers = asked(client.get, asked_of, everything, looked_for)
    told = {place: answer.json()["error"] for place, answer in answers.items()}
    wrong = [
        f"{place}: {error}"
        for place, error in told.items()
        if error["code"] not in ("invalid", "unknown_field")
        or error["field"] != place.partition(" ")[2]
    ]
    assert not wrong, "\n".join(wrong)
    assert len(told) > 60
