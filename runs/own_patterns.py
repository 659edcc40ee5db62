"""A project's regular expressions, made so that none can stall ingest. Pure.

Every quantifier is possessive and every group atomic, so that nothing is tried twice from one
place; what is tried from each place is bounded by `MAX_STEPS`. Two repeats need no bound of their
own: one that a pattern begins with looks once at each run of its characters (from within the run it
would end where it ended before), and one that a pattern ends with cannot fail behind what it took.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_PATTERN = 300
"""Characters of a pattern."""
MAX_REPEAT = 500
"""What a quantifier may ask for, and what those without an upper bound share."""
MAX_STEPS = 1000
"""Characters a pattern may look at from one place (2.5 microseconds)."""
_A_GROUP = 10
"""What a repeat of a group costs beside its characters, in steps (measured)."""
_GROUPS_SHARE = 20
"""A group is repeated so many times less often."""
_PIECE = re.compile(
    r"""(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^0-9]))
      | (?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<repeat>(?:[*+?]|\{\d*(?:,\d*)?\}))
      | (?P<open>\((?:\?:)?(?!\?))
      | (?P<other>\(\?)
      | (?P<close>\))
      | (?P<or>\|)
      | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_NOT_ALLOWED = re.compile(r"\\[AZGgkp]|\\$")
_ATOMS = ("escape", "class", "plain")
_NO_CHARACTER = ("\\b", "\\B", "^", "$")


class BadPattern(ValueError):
    """A pattern that cannot be a rule; the message says why."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A project's pattern, made safe. BadPattern says what cannot be taken.

    Allowed: literals, classes, escapes, groups, alternatives and quantifiers. Not allowed: lazy
    quantifiers, look-around, back references and flags. Quantifiers take what they can and never
    give back, and an alternative once taken is kept.
    """
    if not 3 <= len(pattern) <= MAX_PATTERN:
        raise BadPattern(f"A pattern has 3 to {MAX_PATTERN} characters.")
    if _NOT_ALLOWED.search(pattern):
        raise BadPattern("Anchors and back references are not allowed.")
    _check(pattern)
    try:
        compiled = re.compile(f"(?>{_Safe(pattern).text})")
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"Not a regular expression: {error}.") from None
    if compiled.search("") is not None:
        raise BadPattern("The pattern matches the empty text.")
    return compiled


def _check(pattern: str) -> None:
    """Python's own words for what is wrong, at the place where the person wrote it."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"Not a regular expression: {error}.") from None


@dataclass(slots=True)
class _Group:
    steps: int = 0
    last: int = 0
    """Steps of its last item, which a quantifier multiplies."""

    def add(self, steps: int) -> None:
        self.steps += steps
        self.last = steps

    def repeat(self, most: int, extra: int = 0) -> None:
        self.steps += extra * most
        self.steps += self.last * (most - 1)
        self.last *= most


class _Safe:
    """The pattern written anew; `text` is the result."""

    def __init__(self, pattern: str) -> None:
        self._pieces = [(str(m.lastgroup), m[0]) for m in _PIECE.finditer(pattern)]
        endless = sum(kind == "repeat" and _most(text) is None for kind, text in self._pieces)
        self._share = MAX_REPEAT // max(endless, 1)
        self._groups = [_Group()]
        self.text = "".join(self._write(at, *piece) for at, piece in enumerate(self._pieces))
        steps = self._groups[0].steps
        if steps > MAX_STEPS:
            raise BadPattern(
                f"This could look at {steps:,} characters from each place; {MAX_STEPS:,} are"
                " allowed. Repeat less, and nothing that repeats inside of a repeat."
            )

    def _write(self, at: int, kind: str, text: str) -> str:
        if kind == "other":
            raise BadPattern("Look-around, flags and named groups are not allowed.")
        if kind == "repeat":
            return self._repeat(at, text)
        if kind == "open":
            self._groups.append(_Group())
            return "(?>(?>"
        if kind == "close" and len(self._groups) > 1:
            inner = self._groups.pop()
            self._groups[-1].add(inner.steps)
            return ")" if self._kind(at + 1) == "repeat" else "))"
        elif kind in _ATOMS:
            self._groups[-1].add(1)
            if self._begins_with_endless(at):
                return f"(?<!{text}){text}"
        return text

    def _repeat(self, at: int, text: str) -> str:
        if self._pieces[at - 1][0] == "repeat":
            raise BadPattern("A quantifier may not follow a quantifier.")
        most, least, is_group = _most(text), _least(text), self._pieces[at - 1][0] == "close"
        if max(least, most or 0) > MAX_REPEAT:
            raise BadPattern(f"A quantifier may ask for at most {MAX_REPEAT}.")
        if most is None and self._is_free(at):
            return f"{{{least},}}+"
        if most is None:
            most = max(least, self._share // (_GROUPS_SHARE if is_group else 1))
        self._groups[-1].repeat(most, _A_GROUP if is_group else 0)
        # What is around the group keeps its repeat from giving back.
        return f"{{{least},{most}}}" + (")" if is_group else "+")

    def _kind(self, at: int) -> str:
        return self._pieces[at][0] if at < len(self._pieces) else ""

    def _is_free(self, at: int) -> bool:
        """Whether a quantifier without end needs none, by where it stands."""
        ends = at + 1 == len(self._pieces) or self._pieces[at + 1][0] == "or"
        is_atom = self._pieces[at - 1][0] in _ATOMS
        return is_atom and (self._begins_with_endless(at - 1) or (ends and len(self._groups) == 1))

    def _begins_with_endless(self, at: int) -> bool:
        """Whether a branch of the whole pattern begins here, with one character without end."""
        kind, text = self._pieces[at]
        if kind not in _ATOMS or text in _NO_CHARACTER or at + 1 == len(self._pieces):
            return False
        begins = len(self._groups) == 1 and (at == 0 or self._pieces[at - 1][0] == "or")
        following, repeat = self._pieces[at + 1]
        return begins and following == "repeat" and _most(repeat) is None


def _least(repeat: str) -> int:
    if len(repeat) == 1:
        return int(repeat == "+")
    return int(repeat[1:-1].partition(",")[0] or 0)


def _most(repeat: str) -> int | None:
    """The upper bound, None where there is none."""
    if len(repeat) == 1:
        return 1 if repeat == "?" else None
    low, comma, high = repeat[1:-1].partition(",")
    if not (low or high):
        raise BadPattern("A quantifier needs a number.")
    if high or not comma:
        return int(high or low)
    return None
