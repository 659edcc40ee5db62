"""A log proves itself: what later requests repeat must be what was recorded. Pure: no models.

The rule is docs/replay.md's, "Reconstruct". What no later request mentions is unproven, and said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from replay.proof.calls import Calls
from replay.proof.context import Context
from replay.proof.ledger import Finding, Ledger, unexplained
from replay.proof.reading import Line
from replay.proof.turns import Turns
from rewyn_sdk.errors import HeaderError
from rewyn_sdk.facts import as_list, as_object
from rewyn_sdk.header import check_header
from rewyn_sdk.log import EffectLog
from rewyn_sdk.record import EffectRecord

__all__ = ["Finding", "Line", "Proof", "Prover", "prove"]


BREAKING = frozenset({"altered", "not_recorded"})


@dataclass(frozen=True, slots=True)
class Proof:
    """`verdicts` has every seq: unproven, proven, explained, contradicted or broken."""

    verdicts: dict[int, str]
    findings: tuple[Finding, ...]

    @property
    def whole(self) -> bool:
        """Every effect can be re-emitted with its outcome, exactly as recorded."""
        broken = (finding for finding in self.findings if finding.kind in BREAKING)
        return not unexplained(broken)

    @property
    def faithful(self) -> bool:
        return not unexplained(self.findings)


@dataclass(slots=True)
class Prover:
    """Takes a log's records in order, one at a time, and keeps only what answers said."""

    header: dict[str, Any]
    shape: str = "R44"
    ledger: Ledger = field(init=False)
    _turns: Turns = field(init=False)
    _calls: Calls = field(init=False)
    _context: Context = field(init=False)
    _slim: list[EffectRecord] = field(default_factory=list)
    _last_seq: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.header)
        self._turns = Turns(self.ledger)
        self._calls = Calls(self.ledger, self.shape)
        self._context = Context(self.ledger)

    def take(self, line: Line) -> None:
        """Check the next record against what came before it."""
        self.ledger.settle(line.seq, "unproven")
        self._expect(line.seq)
        self._slim.append(_slim(line.value))
        if not line.has_outcome:
            self.ledger.broken(_no_outcome(line))
        match line.effect:
            case "completion":
                self._take_completion(line)
            case "tool_call":
                self._calls.served(line)
            case "memory":
                self._take_memory(line)
            case "retrieve":
                self._context.searched(line)

    def altered(self, seq: int, effect_id: str, expected: str, found: str) -> None:
        """Note a record whose stored bytes are not those that came in, or say nothing."""
        text = f"#{seq} is not what was received"
        finding = Finding("altered", text, seq, effect_id, "", expected, found)
        self._expect(seq)
        self.ledger.broken(finding)

    def finish(self) -> Proof:
        """The verdicts, with the header held against all records."""
        log = EffectLog(self.header, self._slim, shape=self.shape)
        try:
            check_header(log)
        except HeaderError as error:
            text = f"The header contradicts the log: {error.message}"
            self.ledger.broken(Finding("header", text, path="/header", found=error.kind))
        return Proof(self.ledger.verdicts, tuple(self.ledger.findings.values()))

    def _take_completion(self, line: Line) -> None:
        self._context.completion(line)
        for index, message in enumerate(line.history):
            if as_object(message).get("role") == "user":
                self._calls.told(line, line.history_path(index), message)
        self._turns.completion(line)
        self._calls.asked(line)

    def _take_memory(self, line: Line) -> None:
        operation = as_object(line.kind.get("op"))
        if operation.get("op") == "load":
            self._context.loaded(line)
        messages = as_list(operation.get("messages"))
        for index, message in enumerate(messages):
            if as_object(message).get("role") == "user":
                self._calls.told(line, f"/kind/op/messages/{index}", message)
        self._turns.append(line, messages)

    def _expect(self, seq: int) -> None:
        """Name the positions before this one that are not here."""
        if seq > self._last_seq + 1:
            missing = self._last_seq + 1
            text = f"#{missing} is not here (yet)"
            if seq > missing + 1:
                text = f"#{missing} to #{seq - 1} are not here (yet)"
            self.ledger.broken(Finding("not_recorded", text, missing))
        self._last_seq = seq


def prove(header: dict[str, Any], lines: Iterable[Line], shape: str = "R44") -> Proof:
    """Prove a whole log."""
    prover = Prover(header, shape)
    for line in lines:
        prover.take(line)
    return prover.finish()


def _no_outcome(line: Line) -> Finding:
    text = f"#{line.seq} has no outcome"
    found = line.value.get("outcome")
    return Finding(
        "not_recorded", text, line.seq, line.effect_id, "/outcome", "an Ok or an Err", found
    )


def _slim(value: dict[str, Any]) -> EffectRecord:
    """What the header check reads of a record; a log's requests need not stay in memory for it."""
    kind = as_object(value.get("kind"))
    kept: dict[str, Any] = {
        "id": value.get("id"),
        "key": value.get("key"),
        "kind": {name: kind.get(name) for name in ("effect", "stream")},
    }
    if isinstance(value.get("events"), list):
        kept["events"] = [None] * len(value["events"])
    return EffectRecord(kept, b"")
