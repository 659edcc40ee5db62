"""The envelope's `run` object: what a log has no place for (names, times, people, tags)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from runs.formats import jsonbytes, times
from runs.formats.record import MAX_NAME, MAX_TEXT
from runs.messages.loose import clean, cut_name, one_line
from runs.refusals import Refused, not_longer

ID = re.compile(r"[A-Za-z0-9._:-]{1,200}")
STATUSES = ("running", "succeeded", "failed", "cancelled", "unknown")
MAX_TAGS = 100
NAMES = (
    "agent",
    "agent_version",
    "environment",
    "name",
    "session_id",
    "user_id",
    "parent_run_id",
    "forked_from",
)


@dataclass(slots=True)
class RunFields:
    """The members that were given. A None or an empty text says nothing."""

    id: str = ""
    names: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    status: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    title: str = ""
    output: str = ""
    error: str = ""
    raw: bytes | None = None
    """The object as received (as redacted)."""


def read(raw: bytes, *, prefix: str = "run") -> RunFields:
    """The fields of a `run` object; Refused names the one that cannot be taken."""
    if jsonbytes.depth_exceeds(raw, jsonbytes.MAX_DEPTH):
        raise Refused("too_deep", f"`{prefix}` nests too deeply.", prefix)
    value = jsonbytes.read_finite(raw)
    if not isinstance(value, dict):
        raise Refused("invalid", "Expected an object.", prefix)
    return RunFields(
        id=run_id(value.get("id"), f"{prefix}.id"),
        names=names_of(value, prefix),
        tags=_tags(value.get("tags"), f"{prefix}.tags"),
        metadata=_metadata(value.get("metadata"), f"{prefix}.metadata"),
        status=status(value.get("status"), f"{prefix}.status"),
        started_at=times.moment(value.get("started_at"), f"{prefix}.started_at"),
        ended_at=times.moment(value.get("ended_at"), f"{prefix}.ended_at"),
        title=brief(value.get("input")),
        output=brief(value.get("output")),
        error=brief(value.get("error")),
        raw=raw,
    )


def run_id(value: Any, field: str) -> str:
    """A run's id, "" for none; Refused unless it is a text of letters, digits and `._:-`."""
    if value is None:
        return ""
    if isinstance(value, str):
        not_longer(value, MAX_NAME, field, "An id")
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise Refused("invalid", "An id has only letters, digits and `._:-`.", field)
    if value in (".", ".."):  # a browser takes these out of an address, so no page could be opened
        raise Refused("invalid", "`.` and `..` are no ids.", field)
    return value


def names_of(value: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """The named texts that were given, fit for their columns.

    Those of a `run` object (`prefix`) are kept whole in it, so a long one is only cut here.
    """
    if prefix:
        given = {n: kept_name(value.get(n), f"{prefix}.{n}") for n in NAMES}
    else:
        given = {n: name(value.get(n), n) for n in NAMES}
    return {n: text for n, text in given.items() if text}


def name(value: Any, field: str) -> str:
    """One text of at most 200 characters, which nothing else keeps whole."""
    text = _text(value, field)
    if len(text) > MAX_NAME:
        raise Refused(
            "too_long",
            f"{field} has {len(text):,} characters; the limit is {MAX_NAME}.",
            field,
            limit=MAX_NAME,
        )
    return clean(text)


def kept_name(value: Any, field: str) -> str:
    """One text for a column; a long one is cut with a mark."""
    return cut_name(_text(value, field), MAX_NAME)


def _text(value: Any, field: str) -> str:
    """A number is taken as its digits."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Refused("invalid", "Expected a text.", field)
    return value


def status(value: Any, field: str) -> str:
    if value is None:
        return ""
    if value not in STATUSES:
        raise Refused("invalid", f"Expected one of {', '.join(STATUSES)}.", field)
    return str(value)


def brief(value: Any) -> str:
    """One line of an input, output or error of any shape."""
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, str):
        return one_line(value, MAX_TEXT)
    if isinstance(value, dict):
        words = (value.get(n) for n in ("message", "text", "content", "prompt"))
        found = next((w for w in words if isinstance(w, str) and w), None)
        if found is not None:
            return one_line(found, MAX_TEXT)
    try:
        return one_line(msgspec.json.encode(value).decode(), MAX_TEXT)
    except (UnicodeEncodeError, msgspec.MsgspecError):
        return one_line(str(value), MAX_TEXT)


def _tags(value: Any, field: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Refused("invalid", f"Expected a list of at most {MAX_TAGS} texts.", field)
    if len(value) > MAX_TAGS:
        raise Refused("too_many", f"At most {MAX_TAGS} tags.", field, limit=MAX_TAGS)
    given = (kept_name(tag, f"{field}[{i}]") for i, tag in enumerate(value))
    return tuple(dict.fromkeys(tag for tag in given if tag))


def _metadata(value: Any, field: str) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Refused("invalid", "Expected an object.", field)
    return {clean(k): _clean(v) for k, v in value.items()}


def _clean(value: Any) -> Any:
    """The value as a JSON column takes it: no NUL, no lone surrogate."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(k): _clean(v) for k, v in value.items()}
    return value
