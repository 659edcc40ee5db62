"""Every route, asked by nobody, a stranger and each role: the table in `route_needs` holds."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import pytest
from accounts.route_needs import METHODS, NEEDS, PARAMETERS
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from runs.accounts import keys
from runs.accounts.models import Role, Scope, User
from runs.api.auth import ROLE_FOR_SCOPE

pytestmark = pytest.mark.django_db

ROLES = [str(role) for role in Role]


def routes(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = ":".join(part for part in (space, pattern.namespace) if part)
            yield from routes(pattern, inner)
        else:
            yield ":".join(part for part in (space, pattern.name) if part), pattern


ROUTES = list(routes(get_resolver()))
DECLARED = [(name, method, need) for name, by in NEEDS.items() for method, need in by.items()]
BY_ROLE = [case for case in DECLARED if case[2] in ROLES]
BY_SCOPE = [(name, method, need[6:]) for name, method, need in DECLARED if need[:6] == "scope:"]
BY_KEY = [case for case in DECLARED if case[2] == "key" or case[2][:6] == "scope:"]
ANY_KEY = [(name, method) for name, method, need in DECLARED if need == "key"]
PRIVATE = [case for case in DECLARED if case[2] == "person" or case[2] in ROLES]
TOO_LOW = [(n, m, ROLES[: ROLES.index(need)]) for n, m, need in BY_ROLE if need != ROLES[0]]
HIGH_ENOUGH = [(*case, role) for case in BY_ROLE for role in ROLES[ROLES.index(case[2]) :]]
TOO_WEAK = [(n, m, [s for s in Scope if not s.covers(Scope(need))]) for n, m, need in BY_SCOPE]
STRONG_ENOUGH = [(*c, s) for c in BY_SCOPE for s in Scope if s.covers(Scope(c[2]))]
SMALL_BODIES = [
    (n, m) for n, m, s in BY_SCOPE if s != Scope.INGEST and m in ("POST", "PUT", "PATCH")
]
BOMB = gzip.compress(b"[" + b"[]," * 4_000_000 + b"[]]", 1)
UNDECLARED = [(name, [m for m in METHODS if m not in by]) for name, by in NEEDS.items()]


def address(name: str, /, **parameters: object) -> str:
    """The route's address, filled in with what `route_needs` says."""
    wanted = next(names for names in parameter_names(name))
    return reverse(name, kwargs={n: {**PARAMETERS, **parameters}[n] for n in wanted})


def parameter_names(name: str) -> list[list[str]]:
    resolver = get_resolver()
    for part in name.split(":")[:-1]:
        resolver = resolver.namespace_dict[part][1]
    found = resolver.reverse_dict.getlist(name.rsplit(":", 1)[-1])
    return [names for possibility in found for _, names in possibility[0]]


def ask(client: Client, name: str, method: str, **options) -> HttpResponse:
    parameters = options.pop("parameters", {})
    return client.generic(method, address(name, **parameters), **options)


def said(response: HttpResponse) -> tuple[int, str]:
    """Status and body, without the CSRF token that is another in every answer."""
    return response.status_code, re.sub(r'"\w{64}"', "", response.content.decode())


def was_let_in(response: HttpResponse) -> bool:
    to_sign_in = response.headers.get("Location", "").startswith("/sign-in")
    return (
        not to_sign_in
        and response.status_code < 500
        and response.status_code not in (401, 403, 405)
    )


def test_every_route_is_declared():
    assert {name for name, _ in ROUTES} - NEEDS.keys() == set(), "declare these in route_needs.py"


def test_every_declaration_is_a_route():
    assert NEEDS.keys() - {name for name, _ in ROUTES} == set()


def test_every_page_of_a_project_names_a_role():
    pages = {n for n, _ in ROUTES for names in parameter_names(n) if "slug" in names}
    assert {n for n, _, need in DECLARED if n in pages and need not in ROLES} == set()


@pytest.mark.parametrize(("name", "method", "need"), PRIVATE)
def test_nobody_is_sent_to_sign_in(client, project, name, method, need):
    answer = ask(client, name, method)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in")


@pytest.mark.parametrize(("name", "method", "need"), BY_ROLE)
def test_nobody_cannot_tell_what_is_there(client, project, name, method, need):
    there, not_there = (
        ask(client, name, method, parameters={"slug": slug}) for slug in ("acme", "qqqq")
    )
    assert there["Location"].replace("acme", "qqqq") == not_there["Location"]


@pytest.mark.parametrize(("name", "method", "need"), BY_ROLE)
def test_stranger_cannot_tell_what_is_there(project, signed_in, name, method, need):
    stranger = signed_in(User.objects.create_user("stranger@example.com"))
    there = said(ask(stranger, name, method))
    assert there[0] == 404
    assert there == said(ask(stranger, name, method, parameters={"slug": "nowhere"}))


@pytest.mark.parametrize(("name", "method", "lower"), TOO_LOW)
def test_lower_roles_are_refused(client_as, name, method, lower):
    answers = {role: ask(client_as(role), name, method).status_code for role in lower}
    assert answers == dict.fromkeys(lower, 403)


@pytest.mark.parametrize(("name", "method", "need", "role"), HIGH_ENOUGH)
def test_role_is_let_in(client_as, name, method, need, role):
    assert was_let_in(ask(client_as(role), name, method))


@pytest.mark.parametrize(("name", "methods"), UNDECLARED)
def test_other_methods_are_not_allowed(owner, name, methods):
    acme = {"X-Project": "acme"}
    answers = {method: ask(owner, name, method, headers=acme).status_code for method in methods}
    assert answers == dict.fromkeys(methods, 405)


@pytest.mark.parametrize(("name", "method", "need"), BY_KEY)
def test_api_without_a_key_is_401(client, project, name, method, need):
    answer = ask(client, name, method)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"


@pytest.mark.parametrize(("name", "method", "weaker"), TOO_WEAK)
def test_weaker_keys_are_refused(client, project, name, method, weaker):
    tokens = {scope: keys.mint(project=project, name=scope, scope=scope)[1] for scope in weaker}
    answers = {
        scope: ask(client, name, method, headers={"Authorization": f"Bearer {token}"}).status_code
        for scope, token in tokens.items()
    }
    assert answers == dict.fromkeys(weaker, 403)


@pytest.mark.parametrize(("name", "method", "need", "scope"), STRONG_ENOUGH)
def test_key_is_let_in(client, project, name, method, need, scope):
    token = keys.mint(project=project, name="k", scope=scope)[1]
    assert was_let_in(ask(client, name, method, headers={"Authorization": f"Bearer {token}"}))


@pytest.mark.parametrize(("name", "scope"), [(n, s) for n, m, s in BY_SCOPE if m == "GET"])
def test_head_needs_what_get_needs(client, project, name, scope):
    token = keys.mint(project=project, name="k", scope=scope)[1]
    headers = {"Authorization": f"Bearer {token}"}
    whole, head = (ask(client, name, method, headers=headers) for method in ("GET", "HEAD"))
    assert head.status_code == whole.status_code


@pytest.mark.parametrize(("name", "method"), SMALL_BODIES)
def test_a_body_that_is_no_log_is_bounded(client, project, name, method):
    """What is small compressed would be gigabytes of values; those of logs are counted first."""
    token = keys.mint(project=project, name="k", scope=Scope.ADMIN)[1]
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    answer = ask(client, name, method, headers=headers, data=BOMB)
    assert answer.status_code in (404, 413)
    if answer.status_code == 413:
        assert answer.json()["error"]["limit"] <= 8 * 1024 * 1024


@pytest.mark.parametrize(("name", "method", "need"), BY_SCOPE)
def test_api_asks_people_for_the_role(client_as, name, method, need):
    enough = ROLES.index(ROLE_FOR_SCOPE[Scope(need)])
    answers = [
        ask(client_as(role), name, method, headers={"X-Project": "acme"}).status_code == 403
        for role in ROLES
    ]
    assert answers == [True] * enough + [False] * (len(ROLES) - enough)


@pytest.mark.parametrize(("name", "method"), ANY_KEY)
@pytest.mark.parametrize("scope", Scope)
def test_any_key_is_let_in(client, project, name, method, scope):
    token = keys.mint(project=project, name="k", scope=scope)[1]
    assert was_let_in(ask(client, name, method, headers={"Authorization": f"Bearer {token}"}))


@pytest.mark.parametrize(("name", "method"), ANY_KEY)
@pytest.mark.parametrize("role", ROLES)
def test_any_member_is_let_in(client_as, name, method, role):
    assert was_let_in(ask(client_as(role), name, method, headers={"X-Project": "acme"}))


@pytest.mark.parametrize(("name", "method", "need"), BY_KEY)
def test_api_tells_a_stranger_nothing(project, signed_in, name, method, need):
    stranger = signed_in(User.objects.create_user("stranger@example.com"))
    there, not_there = (
        said(ask(stranger, name, method, headers={"X-Project": slug})) for slug in ("acme", "nope")
    )
    assert there == not_there
    assert there[0] in (401, 404)
