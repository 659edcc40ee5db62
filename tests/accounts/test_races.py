"""Two at once: one sign-in a link, one member an invite, always an owner."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client

from runs.accounts import bootstrap, links, people
from runs.accounts.models import Membership, Role, User

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(calls: list[Callable]) -> list:
    """The calls' results, or the rule that forbade them; all start together."""
    start = Barrier(len(calls))

    def run(call: Callable):
        start.wait()
        try:
            return call()
        except people.NotPossible as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_many_presses_at_once_are_one_sign_in(make_member):
    link = bootstrap.make_sign_in_link(make_member("owner"))
    answers = at_once([lambda: Client().post(link).status_code] * 8)
    assert sorted(answers) == [302] + [410] * 7


def test_many_people_with_one_invite_are_one_member(project, make_member):
    token = links.make_invite(project=project, role=Role.VIEWER, created_by=make_member("owner"))
    link = links.find(token, "invite")
    people_ = [User.objects.create_user(f"{n}@example.com") for n in range(6)]
    at_once([lambda user=user: people.join(link, user) for user in people_])
    assert Membership.objects.filter(role=Role.VIEWER).count() == 1


@pytest.mark.parametrize("attempt", range(3))
def test_two_owners_cannot_end_each_other(project, make_member, attempt):
    make_member("owner", "a@example.com")
    make_member("owner", "b@example.com")
    a, b = Membership.objects.select_related("project").order_by("pk")
    outcomes = at_once(
        [
            lambda: people.change_role(by=a, member=b, role=Role.VIEWER),
            lambda: people.remove_member(by=b, member=a),
        ]
    )
    assert Membership.objects.filter(role=Role.OWNER).count() == 1
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["LastOwner", "NoneType"]


def test_two_starts_at_once_make_one_owner_and_project(db):
    starts = [lambda: bootstrap.ensure_project("main", "Main", bootstrap.ensure_owner())] * 4
    assert {project.pk for project in at_once(starts)} == {Membership.objects.get().project_id}
