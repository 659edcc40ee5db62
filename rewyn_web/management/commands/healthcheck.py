"""Exit 0 when this machine's web process answers that it is ready (a container's health check)."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Ask /readyz; fails with the parts that are not ready."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        port = os.environ.get("PORT", "8010")
        parser.add_argument("--url", default=f"http://127.0.0.1:{port}/readyz")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with urllib.request.urlopen(options["url"], timeout=3) as response:
                self.stdout.write(response.read().decode())
        except urllib.error.HTTPError as error:
            raise CommandError(json.dumps(json.loads(error.read()))) from error
        except (urllib.error.URLError, OSError) as error:
            raise CommandError(f"no answer from {options['url']}: {error}") from error
