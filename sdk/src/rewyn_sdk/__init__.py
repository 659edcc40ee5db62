"""Read, check, compare and send the effect logs of AI agents.

The names load their modules on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewyn_sdk.canonical import canonical_bytes, canonical_json, stable_hash
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
    from rewyn_sdk.record import EffectRecord

__version__ = "0.1.0"

_HOMES = {
    "DecodeError": "errors",
    "EffectLog": "log",
    "EffectRecord": "record",
    "EncodeError": "errors",
    "HeaderError": "errors",
    "LogError": "errors",
    "LogWarning": "log",
    "PushError": "errors",
    "ResponseFacts": "facts",
    "RewynError": "errors",
    "canonical_bytes": "canonical",
    "canonical_json": "canonical",
    "check_header": "header",
    "fingerprint": "identity",
    "run_spec": "identity",
    "stable_hash": "canonical",
}

__all__ = [
    "DecodeError",
    "EffectLog",
    "EffectRecord",
    "EncodeError",
    "HeaderError",
    "LogError",
    "LogWarning",
    "PushError",
    "ResponseFacts",
    "RewynError",
    "canonical_bytes",
    "canonical_json",
    "check_header",
    "fingerprint",
    "run_spec",
    "stable_hash",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
