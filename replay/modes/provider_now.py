"""The provider a replay asks, as its project has it now: hours of calls may wait, and meanwhile its
key be taken away, or its address."""

from __future__ import annotations

import time
from dataclasses import replace

from django.conf import settings

from replay.models import Replay
from replay.project_providers import limits
from replay.project_providers.catalog import catalog_of
from replay.providers import BadModel, Provider
from runs.redaction.rules import for_project
from runs.refusals import Refused

LOOK_SECONDS = 1.0
"""How often a replay looks whether its provider was changed or removed."""


def provider_of(replay: Replay) -> tuple[Provider, str]:
    """Who is asked for a candidate; Refused where that is not possible here and now."""
    try:
        provider, model = catalog_of(replay.project_id).choose(replay.candidate)
    except BadModel as error:
        raise Refused(error.code, str(error), "models") from None
    return replace(provider, redactor=for_project(replay.project.redaction_rules)), model


class ProviderNow:
    """`provider`, the `model` it is asked for, and the `gate` of its limits, None where it has
    none. Refused where nobody can be asked."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self.provider, self.model = provider_of(replay)
        self._stands = limits.standing(replay.project_id, self.provider.name)
        self.gate = self._gate()
        self._look_at = time.monotonic() + LOOK_SECONDS

    def follow(self) -> limits.Spent | None:
        """Go by it as it is now; gives why it is not asked any more, if so."""
        if self._stands is None or time.monotonic() < self._look_at:
            return None
        self._look_at = time.monotonic() + LOOK_SECONDS
        before, name = self._stands, self.provider.name
        now = limits.standing(self._replay.project_id, name)
        if now is None or now[0] != before[0]:
            return limits.REMOVED
        if now != before:
            self._stands = now
            try:
                self.provider, self.model = provider_of(self._replay)
                self.gate = self._gate()
            except Refused as refusal:
                return limits.Spent(refusal.code, refusal.message)
        return None

    def _gate(self) -> limits.Gate | None:
        seconds = settings.REPLAY_CALL_TIMEOUT_SECONDS
        if settings.WORKER_PARALLEL_CALLS:  # one that stands by waits for the end of another
            seconds *= 2
        return limits.gate_of(self._stands, self._replay.pk, seconds)
