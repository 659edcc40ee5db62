"""Shared fixtures: the real data, a project with people and keys, a clean cache each test."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management.commands import flush
from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations as PostgresOperations
from django.test import Client
from hypothesis import settings as hypothesis_settings
from sessions import browser_of

ROOT = Path(__file__).resolve().parent.parent
# A busy machine is no failure of a property; how long things take is measured in bench/.
hypothesis_settings.register_profile("any-machine", deadline=None)
hypothesis_settings.load_profile("any-machine")
# Thousands of collected tests stay to the end: walking them again and again to find garbage is a
# tenth of the suite's time.
gc.set_threshold(100_000, 20, 50)


def redis_of_its_own() -> None:
    """A database of Redis for each process of the tests: their workers would take each other's
    messages, and drop them, since they know the replays of their own database only. Processes that
    tests start are told by the environment. Database 0 is for a single one."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number and (url := os.environ.get("REDIS_URL")):
        url = urlsplit(url)._replace(path=f"/{int(number) + 1}").geturl()
        os.environ["REDIS_URL"] = settings.REDIS_URL = settings.CELERY_BROKER_URL = url


redis_of_its_own()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs; skipped visibly where it is missing, a failure in CI."""
    where = Path(os.environ.get("REWYN_SHARED", ROOT.parent / "shared"))
    if not (where / "data" / "rig").is_dir():
        message = f"no real data at {where} (set REWYN_SHARED)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return where


def deletions(self: object, style: object, tables: list[str], **options: bool) -> list[str]:
    """What empties tables of few rows: PostgreSQL makes each truncated table's files anew, and
    those of all its indexes, which takes ten times as long. Who still writes is waited for, as
    TRUNCATE does."""
    names = [connection.ops.quote_name(table) for table in tables]
    lock = f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE"
    return [lock, *(f"DELETE FROM {name}" for name in names)] if names else []


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker) -> Iterator[None]:
    """PostgreSQL drops no database that a thread of this process still holds a connection to."""
    with pytest.MonkeyPatch.context() as patch:
        # After each test that commits, the tables are emptied; Django would then write its
        # permissions and content types again, which nothing here reads.
        patch.setattr(flush, "emit_post_migrate_signal", lambda *args, **options: None)
        patch.setattr(PostgresOperations, "sql_flush", deletions)
        yield
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords(django_test_environment: None) -> None:
    """Argon2 is slow on purpose, and hundreds of tests make a person."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Each new `Client` makes its middleware anew, and WhiteNoise would look up every static file
    again: more than half of what a request of a test costs."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    find, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def find_once(self) -> None:
        if not found:
            find(self)
            found.update(self.files)
        self.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _time_enough(django_test_environment: None) -> Iterator[None]:
    """Some work does what it can in a second or a tenth of one, and leaves the rest plain or to be
    asked for; a busy machine is no reason. Tests of such an end set it themselves."""
    from replay import taking_turns
    from replay.experiments import planning
    from replay.ignore_rules import applying, trying
    from runs.messages import markup
    from runs.redaction import rules
    from runs.search import find

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taking_turns, "TURN_SECONDS", 60.0)
        patch.setattr(planning, "TRY_SECONDS", 60.0)
        patch.setattr(applying, "SECONDS", 60.0)
        patch.setattr(trying, "SECONDS", 60.0)
        patch.setattr(markup, "DEADLINE", 20.0)
        patch.setattr(rules, "PREVIEW_SECONDS", 60.0)
        patch.setattr(find, "SECONDS", 60.0)
        yield


@pytest.fixture(autouse=True)
def _clean_process_caches() -> Iterator[None]:
    """Ids come again after a rollback, so nothing kept in the process may outlive a test."""
    from replay import lanes, recorded_calls
    from replay.lease import stop
    from runs.accounts import keys
    from runs.storage import segments

    segments.forget_kept()
    recorded_calls.forget_kept()
    keys.forget_cached()
    vars(lanes.lanes).update(vars(lanes.Lanes()))  # nobody is in one, nobody was turned away
    stop.clear()  # a worker that ended late in a test before told all jobs of this process to end
    yield


@pytest.fixture
def project(db: None):
    from runs.accounts.models import Project

    return Project.objects.create(slug="acme", name="Acme")


@pytest.fixture
def make_member(project) -> Callable:
    """make_member("viewer", project=…) -> a signed-in-able user with that role."""
    from runs.accounts.models import Membership, User

    def make(role: str = "member", email: str = "", of=None):
        user = User.objects.create_user(email or f"{role}@example.com", "correct horse battery")
        Membership.objects.create(user=user, project=of or project, role=role)
        return user

    return make


@pytest.fixture
def member_client(make_member) -> Client:
    return browser_of(make_member("member"))


@pytest.fixture
def api_key(project) -> str:
    """The token of an admin key of `project`."""
    from runs.accounts import keys
    from runs.accounts.models import Scope

    return keys.mint(project=project, name="test", scope=Scope.ADMIN)[1]


@pytest.fixture
def api(api_key: str) -> Callable:
    """api("POST", "/api/v1/runs", body, **headers) -> Django's test response."""
    client = Client(raise_request_exception=True)

    def call(method: str, path: str, body: bytes | None = None, key: str | None = None, **headers):
        headers = {"Authorization": f"Bearer {key or api_key}", **headers}
        return client.generic(
            method, path, body or b"", content_type="application/json", headers=headers
        )

    return call


USES_DATABASE = {"db", "transactional_db", "live_server"}


def uses_database(item: pytest.Item) -> bool:
    named = USES_DATABASE & set(getattr(item, "fixturenames", ()))
    marked = {"django_db", "postgres", "redis"} & {mark.name for mark in item.iter_markers()}
    return bool(named or marked)


def depends_on_database(item: pytest.Item) -> bool:
    """Whether the answer may differ between databases."""
    return uses_database(item) and "any_database" not in item.keywords


def longest_first(items: list[pytest.Item]) -> None:
    """Files that start the product, then those that open a browser (side by side, so that they
    share one), then the rest: what begins last must not be what takes longest."""
    turns = {"slow": 0, "browser": 1}
    turn: dict[Path, int] = {}
    for item in items:
        own = min((turns[name] for name in turns if name in item.keywords), default=2)
        turn[item.path] = min(own, turn.get(item.path, 2))
    items.sort(key=lambda item: turn[item.path])


@pytest.hookimpl(trylast=True)  # after the shuffle
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`REWYN_ONLY_DATABASE` leaves out what no database changes and so was asked already.

    Tests of PostgreSQL and Redis skip visibly where none is named (`.ci/run` counts them).
    """
    longest_first(items)
    if os.environ.get("REWYN_ONLY_DATABASE"):
        left_out = [item for item in items if not depends_on_database(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if depends_on_database(item)]
    for mark, variable in (("postgres", "DATABASE_URL"), ("redis", "REDIS_URL")):
        if os.environ.get(variable, "").startswith(mark):
            continue
        why = pytest.mark.skip(reason=f"{variable} names no {mark}")
        for item in items:
            if mark in item.keywords:
                item.add_marker(why)
