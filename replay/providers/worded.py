"""How a client library hands over what it would send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Worded(Exception):
    """The library has worded a call: `body` is what it would send, `headers` what it says beside
    it, but for its own name. There is nothing left for it to do."""

    def __init__(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        super().__init__("the library has worded the call")
        self.body = body
        spelled = {name.lower(): value for name, value in headers.items()}
        self.headers = {name: spelled[name] for name in spelled if name != "user-agent"}
