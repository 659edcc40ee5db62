"""`make run`: migrate, load the demo once, serve, and print how to get in."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from replay.fake_provider import FakeProvider
from rewyn_web import one_server, serve
from rewyn_web.settings import env
from runs import demo
from runs.accounts import bootstrap
from runs.accounts.models import Project, User
from runs.management.installed import pending_migrations, require_answer
from runs.tidy import tidy

LINK_LIFETIME = timedelta(hours=12)
GRACE_SECONDS = 1
"""Ctrl-C ends everything within 3 s; what runs is taken up at the next start."""


class Command(BaseCommand):
    help = "Start the product on this machine and print its address."
    # The system checks read every page's code: once here, for all web processes that are forked.

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=os.environ.get("PORT") or "8010")
        parser.add_argument("--workers", type=int, default=os.environ.get("WEB_WORKERS", "2"))
        parser.add_argument("--threads", type=int, default=os.environ.get("WEB_THREADS", "4"))

    def handle(self, *args: Any, **options: Any) -> None:
        wanted, host = options["port"], options["host"]
        if not 0 <= wanted <= 65535:
            raise CommandError(f"PORT is {wanted}: a port is 1 to 65535, or 0 for any free one.")
        be_the_only_one()
        keep_private()
        allow_this_machine()
        require_answer()
        migrate_if_needed()
        tidy()
        try:
            port = serve.free_port(host, wanted)
        except serve.NoFreePort as error:
            raise CommandError(str(error)) from error
        if wanted and port != wanted:
            self.stderr.write(f"Port {wanted} is taken; using {port}.")
        owner, project, key = first_project()
        start_demo_provider()
        base = f"http://{reachable(host)}:{port}"
        bootstrap.keep_address(base)
        one_server.say_where(base)
        link = base + bootstrap.make_sign_in_link(owner, LINK_LIFETIME)
        connection.close()
        serve.when_alive(base, lambda: self.greet(base, link, key, project))
        serve.serve(host, port, options["workers"], options["threads"], GRACE_SECONDS)

    def greet(self, base: str, link: str, key: str, project: Project) -> None:
        log = shlex.quote(os.path.relpath(demo.EXAMPLE))
        self.stdout.write(
            f"Open  {link}\n"
            f"Key   {key}\n"
            f"Try   curl -H 'Authorization: Bearer {key}' --data-binary @{log} "
            f"'{base}/api/v1/effect-logs?agent=my-agent'"
        )
        self.stdout.flush()


def allow_this_machine() -> None:
    """Let projects ask providers on this machine and its network, unless the operator says no.

    Here, for web processes that are forked, and in the environment, for those that start anew.
    """
    os.environ.setdefault("REPLAY_PRIVATE_ADDRESSES", "true")
    settings.REPLAY_PRIVATE_ADDRESSES = env.bool("REPLAY_PRIVATE_ADDRESSES")


def be_the_only_one() -> None:
    """Raises CommandError where this home's SQLite is served already; teams share PostgreSQL."""
    if connection.vendor != "sqlite":
        return
    try:
        one_server.hold(settings.REWYN_HOME)
    except one_server.AlreadyServed as already:
        where = f"at {already.address}" if already.address else "by a process that is starting"
        raise CommandError(
            f"REWYN_HOME {settings.REWYN_HOME} is served already, {where}. Open that (`manage.py"
            " sign_in_link` prints a way in), stop it, or set another REWYN_HOME."
        ) from already


def keep_private() -> None:
    """Make SQLite's file readable to its owner alone; those beside it take its mode.

    What agents said lies in it, and a home that was there before may be open to everybody.
    """
    if connection.vendor == "sqlite":
        with suppress(OSError):  # there already, or nowhere to make it, which is told next
            path = connection.settings_dict["NAME"]
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def reachable(host: str) -> str:
    """What to put in an address for `host`: "every interface" is none, and loopback is one."""
    return "127.0.0.1" if host in ("", "0.0.0.0", "::") else host


def migrate_if_needed() -> None:
    """Bring the database up to date; looking first is cheaper than `migrate` doing nothing."""
    if pending_migrations():
        call_command("migrate", interactive=False, verbosity=0)


def demo_wanted() -> bool:
    return os.environ.get("REWYN_DEMO", "1").lower() not in ("0", "false", "no", "")


def first_project() -> tuple[User, Project, str]:
    """The owner, the first project (the demo's where one is wanted) and its kept key."""
    owner = bootstrap.ensure_owner()
    marker = settings.REWYN_HOME / "demo-loaded"
    wanted = demo_wanted() and not marker.exists()
    slug, name = (demo.SLUG, demo.NAME) if wanted else ("main", "Main")
    project = Project.objects.order_by("pk").first() or bootstrap.ensure_project(slug, name, owner)
    if wanted:
        demo.load(bootstrap.ensure_project(demo.SLUG, demo.NAME, owner))
        marker.touch()
    key = bootstrap.ensure_key(project, settings.REWYN_HOME / "key")
    return owner, project, key


def start_demo_provider() -> None:
    """Give the demo a provider on loopback, so that its replays work without a key or network."""
    if not demo_wanted() or not Project.objects.filter(is_demo=True).exists():
        return
    provider = FakeProvider().__enter__()  # it ends with this process
    os.environ["REWYN_FAKE_PROVIDER_URL"] = provider.base_url
