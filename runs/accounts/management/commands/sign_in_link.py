"""A way in for whoever has the machine: print a one-time sign-in link."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_email, validate_slug

from runs.accounts import bootstrap
from runs.accounts.forms import EMAIL_LENGTH
from runs.accounts.models import Project, Role, User
from runs.accounts.people import SLUG_LENGTH
from runs.management.installed import InstalledCommand


class Command(InstalledCommand):
    help = (
        "Print a one-time sign-in link. Without --email it is for the owner. An unknown e-mail "
        "becomes a new person; --project with --role also gives (never lowers) a membership."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", default="", help="whom to sign in (default: the owner)")
        parser.add_argument("--project", default="", help="address of the project to land in")
        parser.add_argument("--role", choices=Role.values, help="membership to give in --project")
        parser.add_argument("--minutes", type=int, default=60, help="how long the link works")
        parser.add_argument("--base-url", default="", help="where this installation answers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["role"] and not options["project"]:
            raise CommandError("--role needs --project")
        _refuse_nonsense(options["email"], options["project"])
        user = bootstrap.ensure_owner(options["email"] or None)
        if not user.is_active:
            raise CommandError(f"{user.email} is not active")
        project = _project_of(options["project"], user)
        if project and options["role"]:
            bootstrap.ensure_membership(user, project, Role(options["role"]))
        lifetime = timedelta(minutes=options["minutes"])
        path = bootstrap.make_sign_in_link(user, lifetime, project=project)
        self.stderr.write(f"Signs in {user.email}, once, within {options['minutes']} minutes:")
        self.stdout.write((options["base_url"] or _base_url()).rstrip("/") + path)


def _base_url() -> str:
    """What the environment names, else where `up` last answered from this REWYN_HOME."""
    if named := os.environ.get("BASE_URL"):
        return named
    if port := os.environ.get("PORT"):
        return f"http://127.0.0.1:{port}"
    return bootstrap.kept_address() or "http://127.0.0.1:8010"


def _refuse_nonsense(email: str, slug: str) -> None:
    for value, check, what, longest in (
        (email, validate_email, "an e-mail address", EMAIL_LENGTH),
        (slug, validate_slug, "a project's address", SLUG_LENGTH),
    ):
        try:
            if value:
                check(value)
        except ValidationError as error:
            raise CommandError(f"{value!r} is not {what}") from error
        if len(value) > longest:
            raise CommandError(f"{what} has at most {longest} characters")


def _project_of(slug: str, user: User) -> Project | None:
    """The project, made if new; `user` becomes the owner of one that has none."""
    return bootstrap.ensure_project(slug, slug, user) if slug else None
