"""The certificates we believe, read once."""

from __future__ import annotations

import ssl
from functools import lru_cache

import httpx2


@lru_cache(maxsize=1)
def ssl_context() -> ssl.SSLContext:
    """One for all calls: to read the certificates takes 20 ms."""
    return httpx2.create_ssl_context()
