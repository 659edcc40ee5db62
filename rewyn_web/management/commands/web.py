"""The web process of an installation with its own database and broker (docker-compose.yml)."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

from rewyn_web import serve
from runs.management.installed import require_answer, require_installation


class Command(BaseCommand):
    help = "Serve the pages and the API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=os.environ.get("PORT", "8010"))
        parser.add_argument("--workers", type=int, default=2)
        parser.add_argument("--threads", type=int, default=8)
        parser.add_argument("--grace", type=int, default=20, help="seconds to end requests in")
        parser.add_argument("--migrate", action="store_true", help="update the database first")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["migrate"]:
            require_answer()
            call_command("migrate", interactive=False, verbosity=0)
        require_installation()
        connection.close()
        parts = ("host", "port", "workers", "threads", "grace")
        serve.serve(**{part: options[part] for part in parts})
