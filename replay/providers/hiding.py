"""What is not kept of an answer: keys that a server says back, and what redaction takes out.

The built-in rules and the project's own (`runs.redaction`) hold for what a provider answers as they
do for what is ingested, before anything of it is read or stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from replay.dialects import Note
from replay.dialects.loose import read_value
from replay.providers.catalog import Provider


@dataclass(frozen=True, slots=True)
class Hidden:
    """Bytes as they may be kept; `rules` took something out, each named as often as it did."""

    data: bytes
    is_whole: bool
    """Nothing was hidden, not even a key."""
    rules: tuple[str, ...] = ()


def hidden(provider: Provider, data: bytes) -> Hidden:
    """A response, JSON or whatever else came, without keys and secrets."""
    masked = provider.masked(data)
    is_whole = masked == data
    if not provider.redactor.may_hold_secrets(masked):
        return Hidden(masked, is_whole)
    if _is_json(masked):
        without, marks = provider.redactor.json(masked)
        return Hidden(without, is_whole and not marks, tuple(mark.rule for mark in marks))
    text, found = provider.redactor.text(masked.decode("utf-8", "replace"))
    rules = tuple(rule for rule, _ in found)
    return Hidden(text.encode() if rules else masked, is_whole and not rules, rules)


def is_clean(provider: Provider, stream: bytes) -> bool:
    """Whether no event of a stream holds anything to hide. Its events cut texts into pieces, so
    what they are put together to has to be looked at as well."""
    if not provider.redactor.may_hold_secrets(stream):
        return provider.masked(stream) == stream
    lines = (line.removeprefix(b"data:").strip() for line in stream.splitlines())
    return all(hidden(provider, line).is_whole for line in lines)


def notes_of(rules: Iterable[str]) -> tuple[Note, ...]:
    """What redaction took out of an answer, told beside it."""
    counted = sorted(Counter(rules).items())
    if not counted:
        return ()
    told = ", ".join(f"{rule} × {times}" if times > 1 else rule for rule, times in counted)
    return (Note("answer_redacted", "", f"redaction took out of the answer: {told}"),)


STREAM_NOT_KEPT = Note(
    "stream_not_kept",
    "",
    "something was taken out of the stream, which is kept as the answer that it came to",
)


def _is_json(data: bytes) -> bool:
    try:
        read_value(data)
    except (ValueError, RecursionError):
        return False
    return True
