"""One text per JSON value, and Rig's 64-bit hash of it.

The form is Rig's: no spaces, keys sorted by code point, shortest digits that round-trip. What
Rig cannot hold has a form too, so that nothing crashes: a lone surrogate stays one (its three
bytes are those of "surrogatepass"), an integer beyond 64 bits is written as the float Rig would
read, one beyond a double as its digits, NaN and infinities as null.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from rewyn_sdk.errors import EncodeError

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 2**64 - 1

# json.dumps writes 1e-05 to 1e-09 and integers beyond 64 bits otherwise than serde_json. Digits or
# an "e-0" inside a string only cost the slower way.
_LONG_NUMBER = re.compile(r"[0-9]{19}")
quoted = json.JSONEncoder(ensure_ascii=False).encode
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical_json(value: Any) -> str:
    """The canonical JSON text of a value; EncodeError if JSON cannot hold it."""
    try:
        text = _encode(value)
    except ValueError:
        return write(value)
    except (TypeError, RecursionError) as error:
        raise EncodeError(f"no JSON value: {error}") from None
    return write(value) if "e-0" in text or _LONG_NUMBER.search(text) else text


def canonical_bytes(value: Any) -> bytes:
    """The canonical text as UTF-8, with the bytes of "surrogatepass" for a lone surrogate."""
    return canonical_json(value).encode("utf-8", "surrogatepass")


def stable_hash(value: Any) -> int:
    """Rig's stable hash of a value: FNV-1a over its canonical bytes, below 2^64."""
    return fnv1a(canonical_bytes(value))


def fnv1a(data: bytes) -> int:
    """FNV-1a with 64 bits. A few MB a second: it is for identities, not for bulk."""
    digest = _OFFSET
    for byte in data:
        digest = ((digest ^ byte) * _PRIME) & _MASK
    return digest


def number_text(number: float) -> str:
    """A number as serde_json 1.0.147 and newer writes it.

    Integers beyond 64 bits become floats, as they do when Rig reads them.
    """
    if isinstance(number, int):
        if -(2**63) <= number < 2**64:
            return str(number)
        try:
            number = float(number)
        except OverflowError:
            return f"{Decimal(number):f}"
    return _float_text(number)


def _float_text(number: float) -> str:
    if not math.isfinite(number):
        return "null"
    text = repr(number)
    if "e-0" not in text:
        return text
    sign, digits, exponent = Decimal(text).as_tuple()
    point = len(digits) + int(exponent)
    figures = "".join(map(str, digits))
    minus = "-" if sign else ""
    if point > -5:
        return f"{minus}0.{'0' * -point}{figures}"
    mantissa = figures if len(figures) == 1 else f"{figures[0]}.{figures[1:]}"
    return f"{minus}{mantissa}e{point - 1}"


def write(value: Any, number: Any = number_text) -> str:
    """Canonical text with a rule of its own for numbers; EncodeError if JSON cannot hold it."""
    try:
        return _write(value, number)
    except RecursionError:
        raise EncodeError("nested too deeply") from None


def _write(value: Any, number: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return str(number(value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_write(item, number) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([_member(key, value, number) for key in sorted(value)]) + "}"
    raise EncodeError(f"no JSON value: {type(value).__name__}")


def _member(key: Any, value: dict[str, Any], number: Any) -> str:
    if not isinstance(key, str):
        raise EncodeError(f"no JSON key: {key!r}")
    return f"{quoted(key)}:{_write(value[key], number)}"
