"""What an effect asked, as marks to pair it by and parts to tell what was asked otherwise. Pure.

Ids of calls are left out, as everywhere in a comparison: they differ from run to run. A model
call repeats all that was said before, so each message is read once and then known by its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from replay.two_runs.pairing import Marks
from rewyn_sdk.errors import DecodeError, EncodeError
from rewyn_sdk.exact import exact_json
from rewyn_sdk.jsontext import parse

SAID = ("chat_history", "messages")
_IDS = frozenset(
    ("id", "call", "call_id", "tool_call_id", "local", "provider", "native", "origin", "signature")
)
_members = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])


class Parts(msgspec.Struct):
    """What a record is made of, as bytes."""

    kind: Raw = Raw(b"null")
    outcome: Raw = Raw(b"null")


_record = msgspec.json.Decoder(Parts)


def parts_of(record: bytes) -> Parts:
    """Request and outcome of a record; the whole of one that is no object is its request."""
    try:
        return _record.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Parts(Raw(record))


def members_of(value: Raw | None) -> dict[str, Raw]:
    """The members of an object as bytes; none where it is no object."""
    try:
        return {} if value is None else _members.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


class Asked:
    """Reads requests and remembers what it read, for two runs that are compared."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bool], str] = {}

    def marks(self, kind: Raw, family: str, key: str, name: str) -> Marks:
        """The marks of an effect; `name` counts where it says what kind of call it is."""
        members = self.members(kind, family)
        said = [digest for value in SAID for digest in members.get(value, ())]
        every = _digest(repr((family, sorted(members.items()))).encode())
        new = _digest(repr((family, said[-1])).encode()) if said else every
        called = name if family in ("tool", "custom", "unknown") else ""
        return Marks(every, new, repr((family, key, called)), repr((family, called)))

    def members(self, kind: Raw, family: str) -> dict[str, Sequence[str]]:
        """The digests of what a request consists of, by name; of messages one each."""
        whole = members_of(kind)
        asked = members_of(whole.get("request")) if family == "completion" else whole
        if not asked:
            return {"": (_digest(bytes(kind)),)}
        return {
            name: self._messages(value) if name in SAID else (self._of(value),)
            for name, value in asked.items()
        }

    def _messages(self, value: Raw) -> Sequence[str]:
        try:
            return tuple(self._of(one, is_message=True) for one in _list.decode(value))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return (self._of(value),)

    def _of(self, value: Raw, *, is_message: bool = False) -> str:
        data = bytes(value), is_message
        if data not in self._known:
            self._known[data] = _canonical(*data)
        return self._known[data]


def _canonical(data: bytes, is_message: bool) -> str:
    try:
        value = parse(data, exact=True)
        value = without_ids(value) if is_message else opened(value)
        return _digest(exact_json(value).encode("utf-8", "surrogatepass"))
    except (DecodeError, EncodeError):
        return _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def without_ids(message: Any) -> Any:
    """A message without the ids by which its parts refer to each other."""
    if not isinstance(message, dict):
        return message
    return {
        name: [_part(one) for one in value] if isinstance(value, list) else value
        for name, value in message.items()
        if name not in _IDS
    }


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: one for name, one in value.items() if name not in _IDS}


def opened(value: Any) -> Any:
    """The JSON in a text, such as a tool's arguments; messages inside without their ids."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parse(value, exact=True)
        except DecodeError:
            return value
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return {**value, "messages": [without_ids(one) for one in value["messages"]]}
    return value
