"""What a proof has found so far: a verdict for each effect, and each contradiction once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rewyn_sdk.diff import Change, diff
from rewyn_sdk.facts import as_list, as_object, as_text

ADDS_ONLY = frozenset({"DynamicContext"})
"""Rig's own hooks that never change what a tool, a model or a store answered."""

RANK = ("unproven", "proven", "explained", "contradicted", "broken")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: in which effect, under which handler key, at which JSON pointer."""

    seq: int
    effect_id: str
    key: str
    path: str

    def below(self, pointer: str) -> Place:
        return replace(self, path=self.path + pointer)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not line up.

    `kind` is `content_changed`, `not_recorded`, `altered` or `header`. `seq` and `path` say where
    `expected` was recorded, `at_seq` and `at_path` where a later request has `found`.
    """

    kind: str
    text: str
    seq: int | None = None
    effect_id: str = ""
    path: str = ""
    expected: Any = None
    found: Any = None
    at_seq: int | None = None
    at_path: str = ""
    explained: bool = False


@dataclass(slots=True)
class Ledger:
    header: dict[str, Any]
    verdicts: dict[int, str] = field(default_factory=dict)
    findings: dict[tuple[Any, ...], Finding] = field(default_factory=dict)
    _hooked: bool = field(init=False)
    _layered: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        hooks = set(map(str, as_list(self.header.get("hooks"))))
        self._hooked = bool(hooks - ADDS_ONLY)
        handlers = [as_object(handler) for handler in as_list(self.header.get("handlers"))]
        keys = (as_text(handler.get("key")) for handler in handlers if handler.get("layers"))
        self._layered = frozenset(key for key in keys if key)

    def settle(self, seq: int, verdict: str) -> None:
        """Give an effect a verdict, unless it has a graver one."""
        before = self.verdicts.get(seq, RANK[0])
        self.verdicts[seq] = max(before, verdict, key=RANK.index)

    def broken(self, finding: Finding) -> None:
        if finding.seq is not None:
            self.settle(finding.seq, "broken")
        self.findings.setdefault((finding.kind, finding.seq, finding.path), finding)

    def compare(self, what: str, recorded: Place, expected: Any, at: Place, found: Any) -> bool:
        """Hold a later request's value against the recorded one; True when they are equal."""
        change = next(iter(diff(expected, found)), None)
        if change is None:
            self.settle(recorded.seq, "proven")
            return True
        self._contradict(what, recorded, at, change)
        return False

    def lacks(self, text: str, recorded: Place, at: Place) -> None:
        """Note something that must have been recorded and is not."""
        finding = Finding(
            kind="not_recorded",
            text=text,
            seq=recorded.seq,
            effect_id=recorded.effect_id,
            path=recorded.path,
            at_seq=at.seq,
            at_path=at.path,
            explained=self._explains(recorded, at),
        )
        self.findings.setdefault((finding.kind, finding.seq, finding.path), finding)

    def _explains(self, recorded: Place, at: Place) -> bool:
        """Whether hooks or layers may have changed a value on its way from one to the other."""
        return self._hooked or not self._layered.isdisjoint((recorded.key, at.key))

    def _contradict(self, what: str, recorded: Place, at: Place, change: Change) -> None:
        explained = self._explains(recorded, at)
        self.settle(recorded.seq, "explained" if explained else "contradicted")
        place = recorded.below(_pointer(change.old_pointer, change.new_pointer))
        there = at.below(_pointer(change.new_pointer, change.old_pointer))
        finding = Finding(
            kind="content_changed",
            text=f"#{at.seq} repeats {what} of #{recorded.seq} otherwise",
            seq=recorded.seq,
            effect_id=recorded.effect_id,
            path=place.path,
            expected=change.old,
            found=change.new,
            at_seq=at.seq,
            at_path=there.path,
            explained=explained,
        )
        self.findings.setdefault((finding.kind, finding.seq, finding.path), finding)


def _pointer(own: str | None, other: str | None) -> str:
    """The pointer on this side; of a value that is only on the other side, its parent's."""
    if own is not None:
        return own
    return (other or "").rpartition("/")[0]


def unexplained(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.explained]
