"""What a project takes out by where it stands: under a member's name, or at a pointer. Pure.

Everything under the place goes, texts and numbers alike; JSON in a text (as the arguments of many
tool calls are) is looked into for names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runs.redaction.json_places import SCALAR, Place, decoded, quoted

MAX_FIELD = 200
"""Characters of a field."""
MAX_INSIDE = 3
"""How often JSON in a text in JSON is opened."""
_OF_THE_FORMAT = {
    *("id", "parent", "scope", "key", "kind", "effect", "outcome", "ok", "err", "header", "log"),
    *("record", "records", "run", "type", "role", "status", "request", "response"),
}
_OPENS = re.compile(r"[ \t\r\n]*+[{\[]")
_NO_ESCAPE = re.compile(r"~(?![01])")
Steps = Sequence[int | str]
Taken = tuple[Steps, str, str]
"""Where, by which rule, and the text that stood there."""


class BadField(ValueError):
    """A field that cannot be a rule's; the message says why."""


@dataclass(frozen=True, slots=True)
class Field:
    """A rule by place. `steps` are those of a pointer (`*` for any), or one name in lower case."""

    rule: str
    steps: tuple[str, ...]
    is_pointer: bool
    pattern: re.Pattern[str] | None = None
    """What goes of a text there; the whole of it where there is none."""

    def covers(self, steps: Steps, inside: bool) -> bool:
        if not self.is_pointer:
            return any(isinstance(one, str) and one.lower() == self.steps[0] for one in steps)
        if inside or len(steps) < len(self.steps):
            return False
        return all(want in ("*", str(step)) for want, step in zip(self.steps, steps, strict=False))


def read_field(rule: str, field: str, pattern: re.Pattern[str] | None) -> Field:
    """A member's name or a JSON pointer as a rule; BadField says what cannot be taken."""
    if not 1 <= len(field) <= MAX_FIELD:
        raise BadField(f"A field has 1 to {MAX_FIELD} characters.")
    if not field.startswith("/"):
        if field.lower() in _OF_THE_FORMAT:
            raise BadField(f"The format itself stands on `{field}`; name what is inside of it.")
        return Field(rule, (field.lower(),), False, pattern)
    if _NO_ESCAPE.search(field):
        raise BadField("In a JSON pointer `~` stands as `~0` and `/` as `~1`.")
    steps = tuple(s.replace("~1", "/").replace("~0", "~") for s in field[1:].split("/"))
    if all(step == "*" or step.lower() in _OF_THE_FORMAT for step in steps):
        raise BadField("The format itself stands on what is there; name what is inside of it.")
    return Field(rule, steps, True, pattern)


class Fields:
    """The rules by place of one project."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = tuple(fields)
        self.rules = frozenset(field.rule for field in fields)
        names = {next((s for s in f.steps[::-1] if s != "*"), "") for f in fields}
        spelled = "|".join(re.escape(json.dumps(n, ensure_ascii=False)[1:-1]) for n in names)
        self._names = re.compile(spelled.encode("utf-8", "replace"), re.IGNORECASE)
        self._is_ascii = spelled.isascii()  # of bytes, no other letters have another case

    def __bool__(self) -> bool:
        return bool(self._fields)

    def may_be_in(self, data: bytes) -> bool:
        """A quick look: whether one of the names stands anywhere, or may be there as escapes or in
        another case."""
        if not self._fields:
            return False
        if not self._is_ascii or b"\\u" in data:
            return True
        return self._names.search(data) is not None

    def take(self, data: bytes, inside: int = 0) -> tuple[bytes, list[Taken]]:
        """A JSON text without what the rules name, and what that was."""
        out: list[bytes] = []
        taken: list[Taken] = []
        done, place = 0, Place(data)
        for token in SCALAR.finditer(data):
            steps = place.steps(token)
            new, found = self._without(token, place, steps, inside)
            if found:
                out += [data[done : token.start()], new]
                taken += [(steps, rule, text) for rule, text in found]
                done = token.end()
        return b"".join([*out, data[done:]]), taken

    def _without(
        self, token: re.Match[bytes], place: Place, steps: Steps, inside: int
    ) -> tuple[bytes, list[tuple[str, str]]]:
        is_text = token[0].startswith(b'"')
        if is_text and place.is_key(token):
            return token[0], []
        text = decoded(token[0]) if is_text else token[0].decode()
        found: list[tuple[str, str]] = []
        for field in self._fields:
            if field.covers(steps, inside > 0):
                text = _without(field, text, found)
        if is_text and inside < MAX_INSIDE and _OPENS.match(text):
            text = self._opened(text, inside + 1, found)
        return quoted(text), found

    def _opened(self, text: str, inside: int, found: list[tuple[str, str]]) -> str:
        try:
            data = text.encode()
            if not self.may_be_in(data):
                return text
            json.loads(data)
        except (ValueError, RecursionError):
            return text
        new, taken = self.take(data, inside)
        found += [(rule, was) for _, rule, was in taken]
        return new.decode()


def _without(field: Field, text: str, found: list[tuple[str, str]]) -> str:
    mark = f"[redacted:{field.rule}]"
    if field.pattern is not None:
        return field.pattern.sub(_noted(field.rule, mark, found), text)
    if text == mark or not text:
        return text
    found.append((field.rule, text))
    return mark


def _noted(rule: str, mark: str, found: list[tuple[str, str]]) -> Callable[[re.Match[str]], str]:
    def take(match: re.Match[str]) -> str:
        found.append((rule, match[0]))
        return mark

    return take
