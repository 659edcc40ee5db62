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

import json
from collections.abc import Iterable, Iterator, Mapping
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


def of_span(attributes: Mapping[str, Any]) -> Usage:
    """The normal form of the counts among a span's attributes, whichever convention names them.

    One count may be there under several names: the first is taken, none is added to another.
    """
    named = dict(_reported(attributes))
    counts = {
        ours: next((named[name] for name in theirs if name in named), None)
        for ours, theirs in _SPAN_NAMES.items()
    }
    return of_rig(counts, has_origin=True)


def wraps(attributes: Mapping[str, Any]) -> bool:
    """Whether a span says that it is no call itself, but an agent, a chain or a step around calls.
    The counts it may have are sums, of calls below it or of a whole session: never its own."""
    for key, calls in _CALLS.items():
        said = attributes.get(key)
        if isinstance(said, str) and said:
            return not said.lower().endswith(calls)
    return "agent_name" in attributes and "model_name" in attributes  # pydantic-ai 1 says no more


_CALLS = {
    "openinference.span.kind": ("llm", "embedding", "reranker"),
    "langsmith.span.kind": ("llm", "embedding"),
    "ai.operationId": (".dogenerate", ".dostream", ".doembed"),
    "langfuse.observation.type": ("generation", "embedding"),
    "gen_ai.operation.name": (
        "chat", "text_completion", "generate_content", "embeddings", "completion", "rerank",
    ),
    "traceloop.span.kind": ("llm",),
}  # fmt: skip
"""How a span says what it is, most telling first: key → endings of what a call says."""
_SPAN_COUNTS = ("gen_ai.usage.", "ai.usage.", "llm.token_count.", "llm.usage.")
_SPAN_OBJECTS = (
    "langsmith.metadata.usage_metadata", "langfuse.observation.usage_details",
    "mlflow.chat.tokenUsage",
)  # fmt: skip
_SPAN_NAMES = {
    "input_tokens": (
        "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "prompt", "tokens",
    ),
    "output_tokens": (
        "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "completion",
    ),
    "total_tokens": ("total_tokens", "totalTokens", "total"),
    "cached_input_tokens": (
        "cache_read.input_tokens", "cache_read_input_tokens", "details.cache_read_tokens",
        "details.cache_read_input_tokens", "details.cached_tokens",
        "inputTokenDetails.cacheReadTokens", "cachedInputTokens", "prompt_details.cache_read",
        "input_token_details.cache_read", "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
    ),
    "cache_creation_input_tokens": (
        "cache_creation.input_tokens", "cache_write.input_tokens", "cache_creation_input_tokens",
        "cache_write_input_tokens", "details.cache_write_tokens",
        "details.cache_creation_input_tokens", "inputTokenDetails.cacheWriteTokens",
        "prompt_details.cache_write", "input_token_details.cache_creation",
    ),
    "reasoning_tokens": (
        "reasoning_tokens", "reasoning.output_tokens", "details.reasoning_tokens",
        "outputTokenDetails.reasoningTokens", "reasoningTokens", "completion_details.reasoning",
        "output_token_details.reasoning", "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
    ),
}  # fmt: skip
"""Our count → its names behind those starts, as measured on recorded spans."""


def _reported(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every count by its name, of an object those inside it too."""
    for key in _SPAN_OBJECTS:
        for name, value in _object(attributes.get(key)).items():
            yield name, value
            yield from ((f"{name}.{inner}", held) for inner, held in _object(value).items())
    for key, value in attributes.items():
        for start in _SPAN_COUNTS:
            if key.startswith(start):
                yield key.removeprefix(start), value


def _object(value: Any) -> dict[str, Any]:
    """A JSON object, which may be written as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


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
