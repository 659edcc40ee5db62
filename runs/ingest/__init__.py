"""The only writer of runs and effects: what a client sends becomes rows and segments.

Each function takes a request's body as bytes (already decompressed) and gives an `Outcome`; it
raises `Refused`, by name, when the request cannot be taken as a whole. No HTTP in here.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from runs import busy
from runs.accounts.models import Project
from runs.formats import body as bodies
from runs.formats import run_fields
from runs.formats.body import Sent
from runs.ingest.items import Intake, prepare
from runs.ingest.outcome import Outcome
from runs.ingest.store import store
from runs.redaction import keyed_hash
from runs.redaction import rules as redaction_rules
from runs.refusals import Refused

_MANY_BYTES = 1_000_000


def accept_run(project: Project, body: bytes) -> Outcome:
    """Take a run with its log (the body of `POST /api/v1/runs`), or what is new of it."""
    return _accept(project, body, bodies.read_envelope, "", {})


def accept_log(
    project: Project,
    body: bytes,
    *,
    run_id: str = "",
    agent: str = "",
    agent_version: str = "",
    environment: str = "",
    name: str = "",
    session_id: str = "",
    user_id: str = "",
) -> Outcome:
    """Take a bare effect log (JSON or JSON Lines), or an exported envelope.

    A log that is given no `run_id` gets one from its content, so that sending it again is the same
    run.
    """
    names = {
        "agent": agent,
        "agent_version": agent_version,
        "environment": environment,
        "name": name,
        "session_id": session_id,
        "user_id": user_id,
    }
    return _accept(project, body, bodies.read_log, run_id, names)


def append_effects(project: Project, run_id: str, body: bytes) -> Outcome:
    """Take effects, times or wire exchanges of a run that is there; batches come in any order."""
    busy.mark()
    with _unhurried_collector(body):
        intake = prepare(project, bodies.read_batch(body), body, {})
        return store(project, run_id, intake, may_create=False)


def finish_run(project: Project, run_id: str, body: bytes) -> Outcome:
    """End a run: its status, times, output and final header. Later effects are still taken."""
    intake = prepare(project, bodies.read_finish(body), body, {})
    intake.is_final = True
    return store(project, run_id, intake, may_create=False)


def _accept(
    project: Project,
    body: bytes,
    read: Callable[[bytes], Sent],
    run_id: str,
    names: Mapping[str, str],
) -> Outcome:
    busy.mark()
    # An id that holds a secret is none any more once that is taken out, and so is refused.
    run_id = redaction_rules.for_project(project.redaction_rules).text(run_id)[0]
    run_id = run_fields.run_id(run_id or None, "run_id")
    with _unhurried_collector(body):
        sent = read(body)
        intake = prepare(project, sent, body, names)
        if not intake.has_log:
            intake.fields.status = intake.fields.status or "running"
        run_id = run_id or intake.fields.id
        intake.fills_only = not run_id
        run_id = run_id or _own_id(sent, intake)
        return store(project, run_id, intake, may_create=True)


def _own_id(sent: Sent, intake: Intake) -> str:
    if not sent.has_log:
        raise Refused("invalid", "A run without a log needs an id.", "run.id")
    mark = sent.canonical_hash()
    if intake.header != sent.header or any(item.original is not None for item in intake.items):
        # Everybody sees the id, and the rest of the log: what was taken out could be tried until
        # the hash fits.
        mark = keyed_hash(mark.encode())
    return f"log-{mark}"


@contextmanager
def _unhurried_collector(body: bytes) -> Iterator[None]:
    """Parsing a large body makes many objects and no garbage; a collection would walk them all."""
    if len(body) < _MANY_BYTES or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


__all__ = ["Outcome", "Refused", "accept_log", "accept_run", "append_effects", "finish_run"]
