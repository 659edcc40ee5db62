"""Read, check, compare and send the effect logs of AI agents.

The names load their modules on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # not from typing, whose import costs more than all of this

if TYPE_CHECKING:
    from rewyn_sdk.canonical import canonical_bytes, canonical_json, stable_hash
    from rewyn_sdk.client import Client, PushResult
    from rewyn_sdk.diff import Change, diff, to_json_patch
    from rewyn_sdk.errors import (
        DecodeError,
        EncodeError,
        HeaderError,
        LogError,
        PushError,
        RewynError,
    )
    from rewyn_sdk.facts import ResponseFacts
    from rewyn_sdk.header import check_header
    from rewyn_sdk.identity import fingerprint, run_spec
    from rewyn_sdk.log import EffectLog, LogWarning
    from rewyn_sdk.match import Mismatch, compare_requests
    from rewyn_sdk.record import EffectRecord
    from rewyn_sdk.textdiff import Span, line_diff, word_diff

__version__ = "0.1.0"

_HOMES = {
    "Change": "diff",
    "Client": "client",
    "DecodeError": "errors",
    "EffectLog": "log",
    "EffectRecord": "record",
    "EncodeError": "errors",
    "HeaderError": "errors",
    "LogError": "errors",
    "LogWarning": "log",
    "Mismatch": "match",
    "PushError": "errors",
    "PushResult": "client",
    "ResponseFacts": "facts",
    "RewynError": "errors",
    "Span": "textdiff",
    "canonical_bytes": "canonical",
    "canonical_json": "canonical",
    "check_header": "header",
    "compare_requests": "match",
    "diff": "diff",
    "fingerprint": "identity",
    "line_diff": "textdiff",
    "run_spec": "identity",
    "stable_hash": "canonical",
    "to_json_patch": "diff",
    "word_diff": "textdiff",
}

__all__ = [
    "Change",
    "Client",
    "DecodeError",
    "EffectLog",
    "EffectRecord",
    "EncodeError",
    "HeaderError",
    "LogError",
    "LogWarning",
    "Mismatch",
    "PushError",
    "PushResult",
    "ResponseFacts",
    "RewynError",
    "Span",
    "canonical_bytes",
    "canonical_json",
    "check_header",
    "compare_requests",
    "diff",
    "fingerprint",
    "line_diff",
    "run_spec",
    "stable_hash",
    "to_json_patch",
    "word_diff",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
