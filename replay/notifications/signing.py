"""Signatures of webhooks as https://www.standardwebhooks.com specifies them. Pure.

What is signed is `id.timestamp.body`, by HMAC-SHA256 with the bytes that stand behind `whsec_` in
base64; several secrets give several signatures, separated by spaces.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
BYTES = 32
"""The specification asks for 24 to 64."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode("ascii")


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the signature by one secret."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    made = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(made).decode("ascii")


def headers(held: Iterable[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers, signed by every secret that holds."""
    signed = [signature(secret, message_id, timestamp, body) for secret in held]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signed),
    }
