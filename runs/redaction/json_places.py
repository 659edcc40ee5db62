"""Where in a JSON text a token stands, found by walking the bytes forward. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

STRING = re.compile(rb'"(?:[^"\\]+|\\.)*"', re.DOTALL)
SCALAR = re.compile(rb'"(?:[^"\\]+|\\.)*"|-?[0-9][0-9.eE+\-]*', re.DOTALL)
"""A string or a number."""
_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*"|[\[\]{},:]', re.DOTALL)


def decoded(token: bytes) -> str:
    """The text of a string token."""
    if b"\\" not in token:
        return token[1:-1].decode()
    text: str = json.loads(token)
    return text


def quoted(text: str) -> bytes:
    """A text as a string token."""
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate has only its escape
        return json.dumps(text).encode()


class Place:
    """Walks a JSON text forward and tells where it is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._path: list[Any] = []
        self._key = b'""'

    def steps(self, token: re.Match[bytes]) -> list[int | str]:
        """The way to a token further on, or to the member it is the key of."""
        for passed in _TOKEN.finditer(self._data, self._at, token.start()):
            self._pass(passed[0])
        self._at = token.start()
        path = list(self._path)
        if path and isinstance(path[-1], str) and self.is_key(token):
            path[-1] = decoded(token[0])
        return path

    def is_key(self, token: re.Match[bytes]) -> bool:
        """Whether it is the name of a member."""
        end = token.end()
        while self._data[end : end + 1] in (b" ", b"\t", b"\r", b"\n"):
            end += 1
        return self._data[end : end + 1] == b":"

    def _pass(self, token: bytes) -> None:
        if token == b"{":
            self._path.append("")
        elif token == b"[":
            self._path.append(0)
        elif token in b"]}":
            self._path.pop()
        elif token == b"," and isinstance(self._path[-1], int):
            self._path[-1] += 1
        elif token == b":":
            self._path[-1] = decoded(self._key)
        elif token[:1] == b'"':
            self._key = token
