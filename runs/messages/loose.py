"""Reading decoded JSON that nobody promised a shape for: each getter answers with an empty value
instead of failing, so that no record can break the page that shows it."""

import re
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACE = re.compile(r"\s+")


def obj(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def pick(value: object, *path: str) -> Any:
    """The member at `path`, or None where any step of it is missing or no object."""
    for key in path:
        value = obj(value).get(key)
    return value


def clean(value: str) -> str:
    """`value` fit for a text column: NUL, lone surrogates and controls are shown as U+FFFD."""
    return _CONTROL.sub("\ufffd", value)


def one_line(value: str, limit: int) -> str:
    """`value` on one line of at most `limit` characters; an ellipsis says that there is more."""
    # A line needs only its first characters: a 20 MB text must not be copied for it.
    start = _SPACE.sub(" ", clean(value[: limit * 8])).strip()
    cut = len(start) > limit or len(value) > limit * 8
    return start[: limit - 1].rstrip() + "…" if cut else start


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
