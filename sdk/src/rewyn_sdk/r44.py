"""The tables of the format: every object of shape R44 as Rig 0.44 decodes and writes it (§1, §2).

LOG_HEADER, RECORD and EFFECT are what the other modules use; messages have a module of their own.
"""

from __future__ import annotations

from typing import Any

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.messages import (
    ASSISTANT_PART,
    MESSAGE,
    ORIGIN,
    REQUEST,
    RESULT_PART,
    U8,
    U16,
    U32,
    U64,
)
from rewyn_sdk.schema import (
    adjacent,
    anything,
    array,
    boolean,
    double,
    external,
    identifier,
    mapping,
    nullable,
    nulled,
    optional,
    positional,
    required,
    struct,
    tagged,
    text,
    words,
)
from rewyn_sdk.stream import checked_sequence

TOOL_ERROR_KINDS = (
    "invalid_args",
    "timeout",
    "cancelled",
    "not_found",
    "permission_denied",
    "rate_limited",
    "provider",
    "network",
    "other",
)
ERROR_KINDS = (
    *("http", "json", "url", "request", "response", "provider", "provider_response"),
    *("memory_backend", "memory_policy", "internal", "cancelled", "timeout", "bus_closed"),
    *("handler_unavailable", "divergence", "denied", "other"),
)
FAMILY_NAMES = ("completion", "tool", "embed", "rerank", "memory", "retrieve", "custom")

# Effects (§2.1)


def FILTER(value: Any) -> Any:
    """A search filter; it nests in itself."""
    return _FILTER(value)


_COMPARED = positional(text, anything)
_FILTER = external(
    {
        "eq": _COMPARED,
        "gt": _COMPARED,
        "lt": _COMPARED,
        "and": positional(FILTER, FILTER),
        "or": positional(FILTER, FILTER),
    }
)
SEARCH = struct(
    {
        "query": required(text),
        "samples": required(U64),
        "threshold": nulled(double),
        "filter": nulled(FILTER),
    }
)
_QUERY = struct({"req": required(SEARCH)})
EMBED_INPUTS = adjacent("modality", "inputs", {"texts": array(text), "images": array(array(U8))})
RERANK_REQUEST = struct({"query": required(text), "documents": required(array(text))})
_CONVERSATION = {"conversation": required(text)}
MEMORY_OP = tagged(
    "op",
    {
        "load": struct(_CONVERSATION),
        "append": struct({**_CONVERSATION, "messages": required(array(MESSAGE))}),
        "clear": struct(_CONVERSATION),
    },
)
QUERY = tagged("query", {"top_n": _QUERY, "top_n_ids": _QUERY})
EFFECT = tagged(
    "effect",
    {
        "completion": struct({"request": required(REQUEST), "stream": required(boolean)}),
        "tool_call": struct({"name": required(text), "args": required(text)}),
        "embed": struct({"inputs": required(EMBED_INPUTS)}),
        "rerank": struct({"request": required(RERANK_REQUEST)}),
        "memory": struct({"op": required(MEMORY_OP)}),
        "retrieve": struct({"query": required(QUERY)}),
        "custom": struct({"kind": required(text), "payload": required(anything)}),
    },
)

# Errors and outcomes (§2.3, §2.4)

PROVIDER_RESPONSE = struct(
    {
        "status": nulled(U16),
        "body": required(text),
        "provider_request_id": nulled(identifier),
        "code": optional(text),
        "transient": optional(boolean),
        "refusal": optional(boolean, False),
    },
    closed=True,
)
ERROR_REPORT = struct(
    {
        "kind": required(
            external({**dict.fromkeys(ERROR_KINDS), "tool": words(*TOOL_ERROR_KINDS)})
        ),
        "retryable": required(boolean),
        "message": required(text),
        "code": nulled(text),
        "http_status": nulled(U16),
        "refusal": required(boolean),
        "source_chain": required(array(text)),
        "request_id": optional(identifier),
        "provider_response": optional(PROVIDER_RESPONSE),
    }
)
TOOL_ERROR = struct(
    {
        "kind": required(words(*TOOL_ERROR_KINDS)),
        "message": required(text),
        "model_output": required(array(RESULT_PART)),
        "retryable": nulled(boolean),
        "code": nulled(text),
        "http_status": nulled(U16),
        "refusal": required(boolean),
    }
)
TOOL_OUTPUT = array(
    RESULT_PART,
    empty="tool output has no content blocks; an empty text block would be one",
)
TOKENS = (
    *("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens"),
    *("cache_creation_input_tokens", "tool_use_prompt_tokens", "reasoning_tokens"),
)
COST = struct(
    {
        "input": optional(double),
        "output": optional(double),
        "cache_read": optional(double),
        "cache_write": optional(double),
        "total": required(double),
    }
)
USAGE = struct({**{name: optional(U64) for name in TOKENS}, "cost": optional(COST)})
FINISH_REASON = external(
    {**dict.fromkeys(("stop", "length", "tool_calls", "content_filter")), "other": text}
)
_PROVIDED = {
    "response_id": optional(identifier),
    "provider_request_id": optional(identifier),
    "raw": optional(anything),
}
COMPLETION = struct(
    {
        "choice": required(array(ASSISTANT_PART)),
        "usage": required(USAGE),
        "origin": required(ORIGIN),
        "error": optional(text),
        "aborted": optional(text),
        "provider_request_id": optional(identifier),
        "finish_reason": nulled(FINISH_REASON),
        "accepts_unknown_finish_reasons": optional(boolean, False),
        "raw": required(anything),
    }
)
TOOL_RESULT = adjacent(
    "status",
    "value",
    {
        "success": TOOL_OUTPUT,
        "error": TOOL_ERROR,
        "refused": TOOL_ERROR,
        "skipped": TOOL_OUTPUT,
    },
)
EMBEDDING = struct({"document": required(text), "vec": required(array(double))})
EMBEDDINGS = struct(
    {
        "embeddings": required(array(EMBEDDING)),
        "usage": required(USAGE),
        "provider": required(text),
        "model": nulled(text),
        **_PROVIDED,
    }
)
RANKED = struct(
    {"index": required(U64), "document": nulled(text), "relevance_score": required(double)}
)
RERANKED = struct(
    {
        "results": required(array(RANKED)),
        "model": nulled(text),
        "usage": required(USAGE),
        "provider": required(text),
        **_PROVIDED,
    }
)
REMEMBERED = tagged(
    "memory",
    {
        "loaded": struct({"messages": required(array(MESSAGE))}),
        "appended": struct({}),
        "cleared": struct({}),
    },
)
RETRIEVED = adjacent(
    "retrieved",
    "results",
    {
        "scored": array(positional(double, text, anything)),
        "ids": array(positional(double, text)),
    },
)
OUTCOME = tagged(
    "outcome",
    {
        "completion": COMPLETION,
        "tool_result": struct({"result": required(TOOL_RESULT)}),
        "embeddings": struct(
            {"modality": required(words("texts", "images")), "response": required(EMBEDDINGS)}
        ),
        "reranked": RERANKED,
        "memory": REMEMBERED,
        "documents": RETRIEVED,
        "custom": struct({"payload": required(anything)}),
    },
)

# Stream items (§2.5)

PART_KIND = words("text", "reasoning", "tool_call", "image", "opaque")
_PART = {"part": required(U32)}
EVENT = tagged(
    "event",
    {
        "start": struct({**_PART, "kind": required(PART_KIND), "name": optional(text)}),
        "text": struct({**_PART, "text": required(text)}),
        "reasoning": struct({**_PART, "text": required(text)}),
        "arguments": struct({**_PART, "json": required(text)}),
        "end": struct({**_PART, "content": required(ASSISTANT_PART)}),
    },
)
ITEMS = array(adjacent("item", "value", {"event": EVENT, "unknown": anything}))


def EVENTS(value: Any) -> list[Any]:
    """Kept stream items, in an order a stream can have."""
    return checked_sequence(ITEMS(value))


def _effect_id(value: Any) -> str:
    if not (value.isascii() and value.isdigit() and int(value) < 2**64):
        raise DecodeError(f"invalid type: string {value!r}, expected u64")
    return str(int(value))


# Record and header (§1)

RECORD = struct(
    {
        "tool_output": required(nullable(mapping(anything))),
        "id": required(U64),
        "key": required(text),
        "kind": required(EFFECT),
        "outcome": required(external({"Ok": OUTCOME, "Err": ERROR_REPORT})),
        "events": optional(EVENTS),
        "stream_origin": optional(ORIGIN),
        "parent": optional(U64),
        "scope": optional(text),
    }
)
ROW = mapping(words(*FAMILY_NAMES))
CAPABILITIES = struct(
    {
        "composes_native_output_with_tools": required(boolean),
        "rejects_forced_tool_choice": optional(boolean, False),
    }
)
TOOL = struct(
    {
        "name": required(text),
        "description": required(text),
        "parameters": required(anything),
        "embedding": optional(
            struct({"context": required(anything), "embedding_docs": required(array(text))})
        ),
    }
)
EMBEDDER = struct(
    {
        "model": required(text),
        "dims": optional(U64),
        "max_documents": required(U64),
        "modality": required(words("text", "image")),
    }
)
FAMILY = tagged(
    "family",
    {
        "completion": struct({"model": required(text), "capabilities": required(CAPABILITIES)}),
        "tool": TOOL,
        "embed": EMBEDDER,
        "rerank": struct({"model": required(text), "max_documents": required(U64)}),
        "memory": struct({}),
        "retrieve": struct({}),
        "custom": struct({"kind": required(text)}),
    },
)
HANDLER = struct(
    {"key": required(text), "family": required(FAMILY), "layers": optional(array(text), [])}
)
DELIVERED = tagged(
    "delivery",
    {
        "outcome": struct({}),
        "cancelled": struct({}),
        "stream": struct({"items": required(U64)}),
    },
)
DELIVERY = struct({"batch": required(U64), "id": required(U64), "kind": required(DELIVERED)})
STREAM_ERRORS = array(struct({"item": required(U64), "error": required(ERROR_REPORT)}))
POLICY = struct(
    {
        "command_capacity": required(U64),
        "stream_capacity": required(U64),
        "serial_per_handler": required(boolean),
    }
)
PROGRAM = struct({"required": required(ROW), "policy": required(U64)}, closed=True)
LOG_HEADER = struct(
    {
        "deliveries": optional(array(DELIVERY)),
        "delivery_limitations": optional(array(text), []),
        "stream_errors": optional(mapping(STREAM_ERRORS, _effect_id), {}),
        "run_spec": optional(U64),
        "handlers": required(array(HANDLER)),
        "signature": required(ROW),
        "hooks": required(array(text)),
        "required": required(ROW),
        "bus": optional(POLICY),
        "programs": optional(mapping(PROGRAM), {}),
    },
    closed=True,
)
