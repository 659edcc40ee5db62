"""Keeps a run's row true to its effects, whatever order their batches come in.

Counts and sums are added to; fields that go by position (title, output, error, status) remember
the position they come from in `Run.ledger`, so that a batch from elsewhere neither wins nor loses
by being late. Members the sender states are kept apart from those told from effects.

`Run.ledger` holds: `given` (what the sender stated; the value itself is in its column), `finished`
(when the sender said the run is over), `title` and `output` (the positions they come from),
`completion` and `last` ([position, status]), `error` ([position, text]), `shape` (bits), `is_f1`,
`span` (first start, last end and last start without an end of the effects), `suspect` (a clock
among them), `unknown_tokens`,
`unknown_cost` and `orphans` (numbers of effects), `models` (see `labels.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models.base import ModelState

from runs import usage
from runs.accounts.models import Project
from runs.formats import shape
from runs.formats.record import CANCELLED, ERROR, MAX_TEXT, OPEN, brief
from runs.formats.run_fields import NAMES, RunFields
from runs.formats.times import NO_TIMES, Times, is_plausible
from runs.ingest.items import Item
from runs.models import Family, Run, RunStatus
from runs.refusals import Rejected

_COUNTS = {
    Family.COMPLETION.value: "model_count",
    Family.TOOL.value: "tool_count",
    Family.MEMORY.value: "memory_count",
    Family.RETRIEVE.value: "search_count",
}
_COLUMNS = {"user_id": "end_user"}
_TEXTS = (("title", "title"), ("output", "output_text"), ("error", "error_text"))
_TIMES = (("started_at", "started_at"), ("ended_at", "ended_at"))
_ONE_EACH = ("metadata", "status", *(name for name, _ in _TEXTS + _TIMES))
ENDS = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED)
_ENDED = {ERROR: RunStatus.FAILED, CANCELLED: RunStatus.CANCELLED, OPEN: RunStatus.RUNNING}
TOKENS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
    "reasoning_tokens": "reasoning",
    "total_tokens": "total",
}
MAX_WARNINGS = 50


_BLANK = {field.attname: field.get_default() for field in Run._meta.concrete_fields}


def open_run(project: Project, run_id: str, source: str, received_at: datetime) -> Run:
    """The row, not stored, of a run nothing is known of yet."""
    run = Run.__new__(Run)  # the defaults once for all: a tenth of the time of Run()
    run.__dict__.update(_BLANK, _state=ModelState())
    run.project, run.external_id, run.source = project, run_id, source
    run.received_at = run.updated_at = received_at
    run.ledger, run.metadata, run.warnings = {"given": {}, "shape": 0}, {}, []
    run.tokens_complete = run.cost_complete = True
    run.status = RunStatus.UNKNOWN
    return run


def stated(run: Run) -> dict[str, Any]:
    """What the sender may have stated, by its name; empty for what nobody did."""
    given = run.ledger["given"]
    known = {name: getattr(run, _COLUMNS.get(name, name)) for name in (*NAMES, "metadata")}
    known |= {name: given.get(name) and getattr(run, of) for name, of in _TEXTS + _TIMES}
    return known | {"status": given.get("status")}


def restated(before: dict[str, Any], run: Run) -> list[str]:
    """The names of what was stated otherwise before."""
    after = stated(run)
    return [name for name, known in before.items() if known and after[name] != known]


def unstated(run: Run, fields: RunFields) -> RunFields:
    """Of the fields those that say what is not known yet."""
    known = stated(run)
    blank = RunFields()
    new = {n: getattr(blank if known.get(n) else fields, n) for n in _ONE_EACH}
    names = {name: text for name, text in fields.names.items() if not known[name]}
    return replace(fields, names=names, **new)


def take_fields(run: Run, fields: RunFields, finished_at: datetime | None) -> None:
    """What the sender states about the run; a member that says nothing changes nothing.

    `finished_at` is when the sender said that the run is over, if this request says so.
    """
    for name, text in fields.names.items():
        setattr(run, _COLUMNS.get(name, name), text)
    if fields.metadata is not None:
        run.metadata = fields.metadata
    run.is_replay = run.is_replay or bool(run.forked_from)
    given = run.ledger["given"]
    if fields.status and not is_over(run):
        given["status"] = fields.status
    if finished_at is not None:
        run.ledger.setdefault("finished", finished_at.isoformat())
    for name, column in _TEXTS:
        if getattr(fields, name):
            setattr(run, column, getattr(fields, name))
            given[name] = True
    for name, column in _TIMES:
        if getattr(fields, name) is not None:
            setattr(run, column, getattr(fields, name))
            given[name] = True


def is_over(run: Run) -> bool:
    """Whether the sender has said how the run ended: no later word changes that."""
    stated = run.ledger["given"].get("status", RunStatus.RUNNING)
    return stated in ENDS or ("finished" in run.ledger and stated != RunStatus.RUNNING)


def other_end(run: Run, fields: RunFields) -> Rejected | None:
    """The rejection of a request that says that a run which is over ended otherwise."""
    stated = run.ledger["given"].get("status")
    if not is_over(run) or fields.status in ("", RunStatus.RUNNING, stated):
        return None
    message = f"The run was finished as {stated}; the first end that is stated stays."
    return Rejected(None, None, "conflict", message, "run.status")


def take_items(run: Run, items: Sequence[Item]) -> None:
    """Add new effects to the counts, sums and remembered positions."""
    for item in items:
        _count(run, item)
        _remember(run, item)
        if item.counted:
            add_tokens(run, item.facts.usage, item.facts.family, item.cost, 1)
    take_times(run, [item.times for item in items])


def _count(run: Run, item: Item) -> None:
    run.effect_count += 1
    column = _COUNTS.get(item.facts.family)
    if column:
        setattr(run, column, getattr(run, column) + 1)
    if item.facts.status in (ERROR, CANCELLED):
        run.error_count += 1
    run.last_seq = max(run.last_seq, item.seq)


def _remember(run: Run, item: Item) -> None:
    ledger, facts, seq = run.ledger, item.facts, item.seq
    ledger["shape"] |= facts.shape
    _keep_last(ledger, "last", seq, facts.status)
    if facts.status in (ERROR, CANCELLED):
        _keep_last(ledger, "error", seq, facts.error)
    if facts.family != Family.COMPLETION:
        return
    _keep_last(ledger, "completion", seq, facts.status)
    given = ledger["given"]
    if facts.asked and seq < ledger.get("title", seq + 1) and "title" not in given:
        ledger["title"], run.title = seq, brief(facts.asked, MAX_TEXT)
    if facts.answered and seq > ledger.get("output", -1) and "output" not in given:
        ledger["output"], run.output_text = seq, brief(facts.answered, MAX_TEXT)


def _keep_last(ledger: dict[str, Any], name: str, seq: int, value: str) -> None:
    if seq >= ledger.get(name, [-1])[0]:
        ledger[name] = [seq, value]


def take_times(run: Run, every: Iterable[Times]) -> None:
    """Widen the span of the effects by the times of some."""
    told = [times for times in every if times is not NO_TIMES]
    if any(times.is_suspect for times in told):
        run.ledger["suspect"] = True
    spans = [
        (t.started_at, t.ended_at) for t in told if t.started_at and is_plausible(t.started_at)
    ]
    if not spans:
        return
    first, last, open_from = _held_span(run.ledger)
    run.ledger["span"] = [
        _first(first, min(start for start, _ in spans)),
        _last(last, max((end for _, end in spans if end), default=None)),
        _last(open_from, max((start for start, end in spans if not end), default=None)),
    ]


def _first(held: str | None, new: datetime) -> str:
    return min(filter(None, (held, new.isoformat())))


def _last(held: str | None, new: datetime | None) -> str | None:
    told = (held, new.isoformat() if new else None)
    return max((moment for moment in told if moment), default=None)


def _held_span(ledger: dict[str, Any]) -> tuple[str | None, ...]:
    """Its three times; a run stored by an earlier version may have the first two."""
    return (*ledger.get("span", ()), None, None, None)[:3]


def add_tokens(run: Run, used: usage.Usage, family: str, cost: Decimal | None, sign: int) -> None:
    """Add an effect to the sums, or (sign -1) take it out again."""
    for column, part in TOKENS.items():
        tokens = getattr(used, part)
        if tokens is not None:
            setattr(run, column, (getattr(run, column) or 0) + sign * tokens)
    if cost is not None:
        run.cost = (run.cost or Decimal(0)) + sign * cost
    _count_unknown(run, "tokens", not usage.is_complete(family, used), sign)
    _count_unknown(run, "cost", cost is None, sign)


def change_cost(run: Run, old: Decimal | None, new: Decimal | None) -> None:
    """Put an effect's new cost in the place of its old one in the run's sum."""
    if old is not None:
        run.cost = (run.cost or Decimal(0)) - old
    if new is not None:
        run.cost = (run.cost or Decimal(0)) + new
    _count_unknown(run, "cost", True, (new is None) - (old is None))


def _count_unknown(run: Run, what: str, is_unknown: bool, sign: int) -> None:
    if is_unknown:
        add(run, f"unknown_{what}", sign)


def add(run: Run, name: str, number: int) -> None:
    """Add to a counter of the ledger; one at zero is not there."""
    total = run.ledger.pop(name, 0) + number
    if total:
        run.ledger[name] = total


def add_warnings(run: Run, warnings: Iterable[dict[str, Any]]) -> None:
    """Merge warnings; the first fifty by position are kept."""
    orphans = run.ledger.get("orphans")
    held = [w for w in (*run.warnings, *warnings) if w["code"] != "missing_parent"]
    if orphans:
        message = f"effects whose parent is not here: {orphans}"
        held.append({"code": "missing_parent", "message": message, "seq": None})
    merged = {(w["seq"] or 0, w["code"], w["message"]): w for w in held}
    run.warnings = [merged[mark] for mark in sorted(merged)][:MAX_WARNINGS]


def settle(run: Run, header: dict[str, Any] | None) -> None:
    """Work out the columns that follow from what was given and what was told from effects."""
    ledger = run.ledger
    run.tokens_complete = not ledger.get("unknown_tokens")
    run.cost_complete = not ledger.get("unknown_cost")
    run.status = _status(ledger)
    _settle_error(run)
    _settle_times(run)
    if header is not None:
        ledger.pop("is_f1", None)
        if header.get("format") == 1:
            ledger["is_f1"] = True
    run.shape = shape.name_of(ledger["shape"], is_f1=bool(ledger.get("is_f1")))


def _status(ledger: dict[str, Any]) -> str:
    given = ledger["given"].get("status", "")
    if given == RunStatus.RUNNING and "finished" in ledger:
        given = ""
    return given or _told_status(ledger)


def _told_status(ledger: dict[str, Any]) -> str:
    """A bare log's status: its last completion's, else its last record's."""
    decider = ledger.get("completion") or ledger.get("last")
    if decider is None:
        return RunStatus.UNKNOWN
    return _ENDED.get(decider[1], RunStatus.SUCCEEDED)


def _settle_error(run: Run) -> None:
    seq, text = run.ledger.get("error", [None, ""])
    run.error_seq = seq
    if "error" not in run.ledger["given"]:
        failed = run.status in (RunStatus.FAILED, RunStatus.CANCELLED)
        run.error_text = text if failed else ""


def _settle_times(run: Run) -> None:
    ledger = run.ledger
    given = ledger["given"]
    first, last = _span(ledger)
    if "started_at" not in given:
        run.started_at = _moment(first)
    if "ended_at" not in given:
        over = last or ledger.get("finished")
        run.ended_at = _moment(over) if run.status != RunStatus.RUNNING else None
    if "started_at" in given and "ended_at" in given:
        ledger.pop("span", None)  # it tells nothing any more
    run.duration_ms = None
    suspect = bool(ledger.get("suspect"))
    if run.started_at and run.ended_at:
        span = (run.ended_at - run.started_at).total_seconds() * 1000
        run.duration_ms = span if span >= 0 else None
        suspect = suspect or span < 0
    sane = run.started_at is not None and is_plausible(run.started_at)
    run.clock_suspect = suspect or (run.started_at is not None and not sane)
    run.sort_at = run.started_at if sane and run.started_at else run.received_at


def _span(ledger: dict[str, Any]) -> tuple[str | None, str | None]:
    """When the effects began and ended; an end that the last of them does not tell is unknown."""
    first, last, open_from = _held_span(ledger)
    return first, last if last and last >= (open_from or "") else None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
