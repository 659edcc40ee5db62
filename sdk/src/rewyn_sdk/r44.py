"""The tables of the format: every object of shape R44 as Rig 0.44 decodes and writes it (§1, §2).

Three types are exported for use: LOG_HEADER, RECORD and EFFECT.
"""

from __future__ import annotations

import re
from typing import Any

from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from rewyn_sdk.schema import (
    Type,
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
    provider_call_id,
    required,
    some_text,
    struct,
    tagged,
    text,
    unsigned,
    uuid,
    words,
    wrong,
)
from rewyn_sdk.stream import checked_sequence

U64, U32, U16, U8 = unsigned(64), unsigned(32), unsigned(16), unsigned(8)
_HEX = re.compile(r"[0-9a-fA-F]{16}")


def _native(value: Any) -> dict[str, Any] | None:
    """Rig drops a native item whose fingerprint is no string of 16 hex digits."""
    if not isinstance(value, dict) or "item" not in value:
        return None
    mark = value.get("fingerprint")
    if not isinstance(mark, str) or not _HEX.fullmatch(mark):
        return None
    return {"item": value["item"], "fingerprint": mark.lower()}


def _arguments(value: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The arguments as an object, and their text if they were none."""
    given = value.get("arguments")
    if given is None or isinstance(given, dict):
        return given or {}, None
    if not isinstance(given, str):
        return {}, rig_json(given)
    try:
        read = parse(given, strict=True) if given.strip() else {}
    except DecodeError:
        return {}, given
    return (read, None) if isinstance(read, dict) else ({}, None if read is None else given)


def _function(value: Any) -> dict[str, Any]:
    function: dict[str, Any] = _FUNCTION(value)
    function["arguments"], invalid = _arguments(value)
    if "invalid_arguments" not in function and invalid is not None:
        function["invalid_arguments"] = invalid
    return function


def _schema(value: Any) -> Any:
    if isinstance(value, (dict, bool)):
        return value
    raise wrong(value, "a JSON Schema")


def _effect_id(value: Any) -> str:
    if not (value.isascii() and value.isdigit() and int(value) < 2**64):
        raise DecodeError(f"invalid type: string {value!r}, expected u64")
    return str(int(value))


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

IMAGE_TYPE = words("jpeg", "png", "gif", "webp", "heic", "heif", "svg")
DOCUMENT_TYPE = words(
    *("pdf", "txt", "rtf", "html", "css", "markdown", "csv", "xml", "javascript", "python")
)
AUDIO_TYPE = words("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "pcm16", "pcm24")
VIDEO_TYPE = words("avi", "mp4", "mpeg", "mov", "webm")

# Messages and their parts (§2.2)

CALL_ID = external({"provider": provider_call_id, "local": uuid})
ORIGIN = struct(
    {
        "api": required(text),
        "provider": required(text),
        "model": required(text),
        "response_model": optional(identifier),
        "response_id": optional(identifier),
        "context": optional(text),
    }
)
SOURCE = adjacent(
    "type",
    "value",
    {
        "url": text,
        "base64": text,
        "fileId": text,
        "raw": array(U8),
        "string": text,
        "unknown": None,
    },
)
TEXT_PART = struct(
    {"text": required(text), "citations": optional(anything), "native": optional(_native)}
)
IMAGE_PART = struct(
    {
        "data": required(SOURCE),
        "media_type": optional(IMAGE_TYPE),
        "detail": optional(words("low", "high", "auto")),
        "native": optional(_native),
    }
)


def _media(types: Type, *, with_params: bool) -> Type:
    params = {"additional_params": optional(anything)} if with_params else {}
    return struct({"data": required(SOURCE), "media_type": optional(types), **params})


RESULT_PART = tagged(
    "type",
    {"text": TEXT_PART, "json": struct({"value": required(anything)}), "image": IMAGE_PART},
)
USER_PART = tagged(
    "type",
    {
        "text": TEXT_PART,
        "toolresult": struct(
            {
                "call": required(CALL_ID),
                "name": required(some_text),
                "content": required(array(RESULT_PART)),
                "is_error": optional(boolean, False),
            }
        ),
        "image": IMAGE_PART,
        "audio": _media(AUDIO_TYPE, with_params=False),
        "video": _media(VIDEO_TYPE, with_params=True),
        "document": _media(DOCUMENT_TYPE, with_params=True),
    },
)
_FUNCTION = struct(
    {
        "name": required(some_text),
        "arguments": nulled(anything),
        "invalid_arguments": optional(text),
    }
)
ASSISTANT_PART = tagged(
    "type",
    {
        "text": TEXT_PART,
        "reasoning": struct(
            {
                "text": required(text),
                "redacted": optional(boolean, False),
                "native": optional(_native),
            }
        ),
        "toolcall": struct(
            {
                "id": required(CALL_ID),
                "function": required(_function),
                "native": optional(_native),
            }
        ),
        "image": IMAGE_PART,
        "opaque": struct({"item": required(anything), "replay": required(boolean)}),
    },
)
STOP = external({"stop": None, "length": None, "tool_use": None, "error": text, "aborted": text})
MESSAGE = tagged(
    "role",
    {
        "system": struct({"content": required(text)}),
        "user": struct({"content": required(array(USER_PART))}),
        "assistant": struct(
            {
                "content": required(array(ASSISTANT_PART)),
                "origin": optional(ORIGIN),
                "stop": optional(STOP),
            }
        ),
    },
)

# Requests (§2.2)

TOOL_DEFINITION = struct(
    {"name": required(text), "description": required(text), "parameters": required(anything)}
)
DOCUMENT = struct({"id": required(text), "text": required(text)}, rest=text)
TOOL_CHOICE = external(
    {
        "auto": None,
        "none": None,
        "required": None,
        "specific": struct({"function_names": required(array(text))}),
    }
)
REASONING = external(
    {
        "off": None,
        "effort": words("minimal", "low", "medium", "high", "xhigh", "max"),
        "budget": struct({"tokens": required(U64)}),
    }
)
OPTIONS = struct(
    {
        "reasoning": nulled(REASONING),
        "cache": nulled(words("none", "short", "long")),
        "service_tier": nulled(words("auto", "default", "flex", "priority")),
        "verbosity": nulled(words("low", "medium", "high")),
        "parallel_tool_calls": nulled(boolean),
        "top_p": nulled(double),
        "seed": nulled(U64),
        "stop": optional(array(text), []),
        "on_unsupported": optional(words("error", "ignore")),
    }
)
REQUEST = struct(
    {
        "model": nulled(text),
        "chat_history": required(array(MESSAGE)),
        "documents": required(array(DOCUMENT)),
        "tools": required(array(TOOL_DEFINITION)),
        "temperature": nulled(double),
        "max_tokens": nulled(U64),
        "tool_choice": nulled(TOOL_CHOICE),
        "additional_params": nulled(anything),
        "output_schema": nulled(_schema),
        "accept_unknown_finish_reasons": optional(boolean, False),
        "options": optional(OPTIONS, OPTIONS({})),
        "provider_options": optional(mapping(mapping(mapping(anything))), {}),
    }
)

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
_CONVERSATION = {"conversation": required(text)}
EFFECT = tagged(
    "effect",
    {
        "completion": struct({"request": required(REQUEST), "stream": required(boolean)}),
        "tool_call": struct({"name": required(text), "args": required(text)}),
        "embed": struct(
            {
                "inputs": required(
                    adjacent(
                        "modality", "inputs", {"texts": array(text), "images": array(array(U8))}
                    )
                )
            }
        ),
        "rerank": struct(
            {
                "request": required(
                    struct({"query": required(text), "documents": required(array(text))})
                )
            }
        ),
        "memory": struct(
            {
                "op": required(
                    tagged(
                        "op",
                        {
                            "load": struct(_CONVERSATION),
                            "append": struct(
                                {**_CONVERSATION, "messages": required(array(MESSAGE))}
                            ),
                            "clear": struct(_CONVERSATION),
                        },
                    )
                )
            }
        ),
        "retrieve": struct(
            {"query": required(tagged("query", {"top_n": _QUERY, "top_n_ids": _QUERY}))}
        ),
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
OUTCOME = tagged(
    "outcome",
    {
        "completion": struct(
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
        ),
        "tool_result": struct(
            {
                "result": required(
                    adjacent(
                        "status",
                        "value",
                        {
                            "success": TOOL_OUTPUT,
                            "error": TOOL_ERROR,
                            "refused": TOOL_ERROR,
                            "skipped": TOOL_OUTPUT,
                        },
                    )
                )
            }
        ),
        "embeddings": struct(
            {
                "modality": required(words("texts", "images")),
                "response": required(
                    struct(
                        {
                            "embeddings": required(
                                array(
                                    struct(
                                        {
                                            "document": required(text),
                                            "vec": required(array(double)),
                                        }
                                    )
                                )
                            ),
                            "usage": required(USAGE),
                            "provider": required(text),
                            "model": nulled(text),
                            **_PROVIDED,
                        }
                    )
                ),
            }
        ),
        "reranked": struct(
            {
                "results": required(
                    array(
                        struct(
                            {
                                "index": required(U64),
                                "document": nulled(text),
                                "relevance_score": required(double),
                            }
                        )
                    )
                ),
                "model": nulled(text),
                "usage": required(USAGE),
                "provider": required(text),
                **_PROVIDED,
            }
        ),
        "memory": tagged(
            "memory",
            {
                "loaded": struct({"messages": required(array(MESSAGE))}),
                "appended": struct({}),
                "cleared": struct({}),
            },
        ),
        "documents": adjacent(
            "retrieved",
            "results",
            {
                "scored": array(positional(double, text, anything)),
                "ids": array(positional(double, text)),
            },
        ),
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
HANDLER = struct(
    {
        "key": required(text),
        "family": required(
            tagged(
                "family",
                {
                    "completion": struct(
                        {
                            "model": required(text),
                            "capabilities": required(
                                struct(
                                    {
                                        "composes_native_output_with_tools": required(boolean),
                                        "rejects_forced_tool_choice": optional(boolean, False),
                                    }
                                )
                            ),
                        }
                    ),
                    "tool": struct(
                        {
                            "name": required(text),
                            "description": required(text),
                            "parameters": required(anything),
                            "embedding": optional(
                                struct(
                                    {
                                        "context": required(anything),
                                        "embedding_docs": required(array(text)),
                                    }
                                )
                            ),
                        }
                    ),
                    "embed": struct(
                        {
                            "model": required(text),
                            "dims": optional(U64),
                            "max_documents": required(U64),
                            "modality": required(words("text", "image")),
                        }
                    ),
                    "rerank": struct({"model": required(text), "max_documents": required(U64)}),
                    "memory": struct({}),
                    "retrieve": struct({}),
                    "custom": struct({"kind": required(text)}),
                },
            )
        ),
        "layers": optional(array(text), []),
    }
)
DELIVERY = struct(
    {
        "batch": required(U64),
        "id": required(U64),
        "kind": required(
            tagged(
                "delivery",
                {
                    "outcome": struct({}),
                    "cancelled": struct({}),
                    "stream": struct({"items": required(U64)}),
                },
            )
        ),
    }
)
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
