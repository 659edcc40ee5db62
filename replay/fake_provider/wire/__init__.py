"""A reply as each API spells it: whole, and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replay.fake_provider.prompts import count_tokens
from replay.fake_provider.rules import Reply

CREATED = 1764403200


@dataclass(frozen=True)
class Exchange:
    """One answer about to be written: the request, the reply, and the number that names it."""

    number: int
    body: dict[str, Any]
    reply: Reply

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    def call_id(self, prefix: str, index: int) -> str:
        """The id of the reply's call at ``index``: the rule's, or one made from the number."""
        return self.reply.calls[index].id or f"{prefix}fake{self.number:04d}{index:02d}"

    def input_tokens(self) -> int:
        keys = ("messages", "input", "system", "instructions", "tools")
        asked = {key: self.body[key] for key in keys if key in self.body}
        return self.reply.usage.get("input", max(1, count_tokens(asked)))

    def reasoning_tokens(self) -> int:
        return self.reply.usage.get("reasoning", count_tokens(self.reply.reasoning or ""))

    def output_tokens(self) -> int:
        said = [self.reply.text or "", self.reply.refusal or ""]
        said += [call.name + call.arguments_text() for call in self.reply.calls]
        whole = max(1, count_tokens(said)) + self.reasoning_tokens()
        return self.reply.usage.get("output", whole)

    def cache_read(self) -> int:
        return self.reply.usage.get("cache_read", 0)

    def cache_write(self) -> int:
        return self.reply.usage.get("cache_write", 0)


def pieces(text: str) -> Iterator[str]:
    """A text in the fragments a model streams: a few words each, nothing lost."""
    words = text.split(" ")
    for start in range(0, len(words), 3):
        piece = " ".join(words[start : start + 3])
        yield piece if start == 0 else f" {piece}"
