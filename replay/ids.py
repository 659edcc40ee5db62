"""Public ids: opaque, and sortable by the time they were made."""

from __future__ import annotations

import secrets
import time

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """`prefix_` + 10 digits of milliseconds + 12 random ones (60 bits), base 32."""
    number = (time.time_ns() // 1_000_000 << 60) | secrets.randbits(60)
    digits = []
    for _ in range(22):
        digits.append(_DIGITS[number & 31])
        number >>= 5
    return f"{prefix}_{''.join(reversed(digits))}"


def new_replay_id() -> str:
    return new_id("rp")


def new_experiment_id() -> str:
    return new_id("ex")
