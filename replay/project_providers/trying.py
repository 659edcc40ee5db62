"""The test button: one tiny request, and what the provider said to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils import timezone

from replay.project_providers.catalog import catalog_of
from replay.project_providers.models import SAID, ProjectProvider
from replay.providers import BadModel, Result, build_call, send
from runs.messages.loose import clean
from runs.redaction.rules import for_project

SECONDS = 20.0
MOST_TOKENS = 16
ASK = "Say OK."
MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Tried:
    """`code` is empty where an answer came, else the error's kind; `said` is the provider's."""

    passed: bool
    code: str
    said: str
    status: int | None = None
    latency_ms: float | None = None
    url: str = ""


def try_out(row: ProjectProvider, model: str) -> Tried:
    """Ask once, and keep what came with the provider. Never raises for the provider."""
    tried = _asked(row, model)
    ProjectProvider.objects.filter(pk=row.pk).update(
        tested_at=timezone.now(),
        test_model=clean(model)[:200],
        test_passed=tried.passed,
        test_said=tried.said[:SAID],
    )
    return tried


def _asked(row: ProjectProvider, model: str) -> Tried:
    try:
        provider, name = catalog_of(row.project_id).choose(f"{row.name}:{model}")
    except BadModel as bad:
        return Tried(False, bad.code, str(bad))
    provider = replace(provider, redactor=for_project(row.project.redaction_rules))
    history = [{"role": "user", "content": [{"type": "text", "text": ASK}]}]
    request = {"chat_history": history, "max_tokens": MOST_TOKENS}
    record = {"kind": {"effect": "completion", "request": request}}
    call = build_call(record, None, provider=provider, model=name)
    return _told(send(call, timeout=SECONDS, most_bytes=MOST_BYTES), call.url)


def _told(result: Result, url: str) -> Tried:
    times = (result.status, result.latency_ms, url)
    if result.error is not None:
        code = result.error.code if result.error.kind == "address" else result.error.kind
        return Tried(False, code or result.error.kind, clean(result.error.message), *times)
    assert result.answer is not None
    said = result.answer.text or result.answer.refusal or "An answer without text."
    return Tried(True, "", clean(said), *times)
