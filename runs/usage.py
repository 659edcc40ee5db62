"""The one rule for tokens (pure).

*Input* includes cached reads and writes, *output* includes reasoning; the parts stay parts of
them. What was not reported is None, never zero. Only model, embedding and rerank effects count,
and a parent that repeats the sum of its children does not.

Whether a source's input count includes its cache counts, as measured on recorded logs (each has a
test): Rig 0.44 and newer always includes them, for `openai.chat` and `openai.responses` as the
provider does, for `anthropic.messages` by adding what the provider reports apart. Logs of older
shapes may hold the provider's own count. Their numbers tell: cache counts larger than the input, or
a total that only adds up with the cache counts, say that the input came without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

COUNTING_FAMILIES = frozenset({"completion", "embed", "rerank"})
MAX_TOKENS = 10**12
"""A larger count is no count of one call: it is read as not reported."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one effect; None is unknown. `recorded_cost` is what the log itself says."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None
    recorded_cost: Decimal | None = None


UNKNOWN = Usage()


def of_rig(usage: Any, *, has_origin: bool) -> Usage:
    """The normal form of a usage object of an effect log (any shape; see the module's rule).

    Shapes without an `origin` write zeros where nothing was reported, so all zeros are unknown.
    """
    if not isinstance(usage, dict):
        return UNKNOWN
    given = {name: _count(usage.get(name)) for name in _NAMES}
    if not has_origin and not any(given.values()):
        return UNKNOWN
    read, write = given["cached_input_tokens"], given["cache_creation_input_tokens"]
    inp, out = given["input_tokens"], given["output_tokens"]
    if inp is not None and _came_without_cache(inp, out, read, write, given["total_tokens"]):
        inp += (read or 0) + (write or 0)
    total = inp + out if inp is not None and out is not None else given["total_tokens"]
    if total is None and out is None:
        total = inp
    return Usage(inp, out, read, write, given["reasoning_tokens"], total, _cost(usage.get("cost")))


_NAMES = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
)


def _came_without_cache(
    inp: int, out: int | None, read: int | None, write: int | None, total: int | None
) -> bool:
    cached = (read or 0) + (write or 0)
    return cached > inp or (bool(cached) and total == inp + cached + (out or 0))


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def _cost(value: Any) -> Decimal | None:
    total = value.get("total") if isinstance(value, dict) else value
    if not isinstance(total, int | float) or isinstance(total, bool) or not 0 <= total < 1e7:
        return None
    return round(Decimal(repr(total)), 12)


def is_complete(family: str, usage: Usage) -> bool:
    """Whether nothing about this effect's tokens is unknown (an embedding has no output)."""
    if family == "completion":
        return usage.input is not None and usage.output is not None
    return usage.total is not None


def repeats(parent: Usage, children: Iterable[Usage]) -> bool:
    """Whether a parent's usage is no usage of its own: it is the sum of its children's."""
    held = list(children)
    if not held or parent.input is None or parent.output is None:
        return False
    return (parent.input, parent.output) == (
        sum(child.input or 0 for child in held),
        sum(child.output or 0 for child in held),
    )
