"""NUL in whatever an address or a form can hold: no parameter reaches the database with it
(PostgreSQL takes none), and a program is told which one it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from everything import QUERIES, address_of, routes
from sessions import browser_of

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


def broken(answers: dict[str, Any]) -> list[str]:
    return [place for place, answer in answers.items() if answer.status_code == 500]


def test_no_page_breaks_at_nul(everything, ada, looked_for):
    ask = browser_of(ada, raise_request_exception=False).get
    answers = asked(ask, routes("GET", api=False), everything, looked_for)
    assert not broken(answers), "|".join(broken(answers))
    assert len(answers) > 150


def test_no_form_breaks_at_nul(everything, ada, looked_for):
    ask = browser_of(ada, raise_request_exception=False).post
    left = ("accounts:sign-out", "accounts:leave", "accounts:remove-project")
    sent = [name for name in routes("POST", api=False) if name not in left]
    answers = asked(ask, sent, everything, looked_for)
    assert not broken(answers), "|".join(broken(answers))
    assert len(answers) > 80


def test_the_api_names_the_parameter_that_holds_nul(everything, api_key, looked_for):
    client = Client(raise_request_exception=False, headers={"authorization": f"Bearer {api_key}"})
    answers = asked(client.get, routes("GET", api=True), everything, looked_for)
    assert not broken(answers), "|".join(broken(answers))
    told = {p: a.json().get("error", {"code": a.status_code, "field": None}) if "json" in a.headers["Content-Type"] else {"code": a.status_code, "field": None} for p, a in answers.items()}
    wrong = [
        (place, error)
        for place, error in told.items()
        if (error["code"], error["field"]) != ("invalid", place.partition(" ")[2])
    ]
    assert not wrong, "\n".join(map(str, wrong))
