"""Serve the fake provider: model answers without a network, a key or a bill."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from replay.fake_provider import BadRules, FakeProvider, load_rules


class Command(BaseCommand):
    help = (
        "Serve a loopback provider that speaks OpenAI chat, OpenAI Responses and Anthropic "
        "Messages, with answers by rule. Any non-empty key is taken."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8099)
        parser.add_argument("--rules", type=Path, help="JSON file of rules (replay.fake_provider)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rules = load_rules(options["rules"]) if options["rules"] else ()
            fake = FakeProvider(rules, host=options["host"], port=options["port"])
        except (BadRules, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"OPENAI_BASE_URL={fake.openai_base_url}")
        self.stdout.write(f"ANTHROPIC_BASE_URL={fake.base_url}")
        self.stdout.flush()
        # What a script starts in the background inherits interrupts as ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            fake.serve_forever()
        except KeyboardInterrupt:
            self.stdout.write("stopped")
        finally:
            fake.stop()
