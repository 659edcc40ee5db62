"""What a proof reads of a record, whatever the log's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.proof.ledger import Place
from rewyn_sdk.facts import as_list, as_object, as_text, request_history

OPAQUE = frozenset({"arguments", "value", "item", "additional_params", "native"})


@dataclass(frozen=True, slots=True)
class Line:
    """One record in its place: decoded, with the columns that its row holds."""

    seq: int
    effect_id: str
    value: dict[str, Any]

    @property
    def key(self) -> str:
        return as_text(self.value.get("key")) or ""

    @property
    def kind(self) -> dict[str, Any]:
        return as_object(self.value.get("kind"))

    @property
    def effect(self) -> str:
        return as_text(self.kind.get("effect")) or ""

    @property
    def scope(self) -> str:
        return as_text(self.value.get("scope")) or ""

    @property
    def circle(self) -> tuple[str, Any]:
        """Effects that may answer one another: one program, and one nesting below a dispatch."""
        return self.scope, self.value.get("parent")

    @property
    def owned(self) -> tuple[str, Any, str]:
        """The circle and the agent that owns the key (the text before the first slash)."""
        owner, slash, _ = self.key.partition("/")
        return (*self.circle, owner if slash else "")

    @property
    def ok(self) -> dict[str, Any]:
        return as_object(as_object(self.value.get("outcome")).get("Ok"))

    @property
    def has_outcome(self) -> bool:
        outcome = as_object(self.value.get("outcome"))
        return isinstance(outcome.get("Ok"), dict) or isinstance(outcome.get("Err"), dict)

    @property
    def history(self) -> list[Any]:
        return request_history(self.kind.get("request"))

    def history_path(self, index: int) -> str:
        """The pointer of a message of `history`; a later F1 keeps its system text apart."""
        request = as_object(self.kind.get("request"))
        if "chat_history" in request:
            return f"/kind/request/chat_history/{index}"
        if request.get("system") is None:
            return f"/kind/request/messages/{index}"
        return f"/kind/request/messages/{index - 1}" if index else "/kind/request/system"

    def place(self, path: str) -> Place:
        return Place(self.seq, self.effect_id, self.key, path)


def plain(value: Any) -> Any:
    """A message part without members that are null, which shapes write or leave out at will.

    What the model or a tool said (arguments, JSON values, a provider's own item) stays as it is.
    """
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: inner if key in OPAQUE else plain(inner)
        for key, inner in value.items()
        if inner is not None or key in OPAQUE
    }


def content(message: Any) -> list[Any]:
    """The parts of a message without nulls; a text alone counts as its one part."""
    held = as_object(message).get("content")
    return [held] if isinstance(held, str) else as_list(plain(held))
