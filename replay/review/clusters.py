"""Which divergences have one cause: the rule of docs/review.md. Pure.

Two differences are of one cluster when class, agent, effect key and cause are the same. The cause
is what the class is about: changed tools, changed paths, or the ways the two sides failed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from replay.comparison.compare import Comparison, Failed, Side, changed_in, matched
from replay.comparison.differences import Difference
from replay.dialects.answer import Answer
from rewyn_sdk.canonical import canonical_bytes
from runs.messages.loose import clean, cut_name

LONGEST = 200
"""Characters of one cause; a longer one keeps its start and a hash."""
MOST = 50
ANY = "*"
"""What stands in a path for the place in a list."""
_CALLS = "/calls"
_SAID = ("/text", "/refusal")


def digest(difference: str, agent: str, effect_key: str, cause: Iterable[str]) -> str:
    """The name of a cluster; the order of the causes does not matter."""
    mark = [difference, agent, effect_key, sorted(cause)]
    return hashlib.blake2b(canonical_bytes(mark), digest_size=16).hexdigest()


def cause(found: Comparison, recorded: Side, replayed: Side) -> tuple[str, ...]:
    """What the class of a comparison is about, sorted, each once."""
    found_causes = {cut_name(clean(each), LONGEST) for each in _cause(found, recorded, replayed)}
    return tuple(sorted(found_causes)[:MOST])


def _cause(found: Comparison, recorded: Side, replayed: Side) -> Iterator[str]:
    paths = [change.path for change in found.changes]
    if found.difference == Difference.TOOL_CALLS:
        yield from _tools(_names(recorded), _names(replayed))
    elif found.difference == Difference.ARGUMENTS:
        yield from _arguments(recorded, replayed)
    elif found.difference == Difference.ERROR:
        yield from _failures(recorded, replayed)
    elif found.difference == Difference.STRUCTURE:
        yield from (general(path) for path in paths if not path.startswith(_CALLS))
    else:
        yield from (general(path) for path in paths if path.startswith(_SAID))


def _names(side: Side) -> list[str]:
    return [call.name for call in side.calls] if isinstance(side, Answer) else []


def _tools(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The tools that left and came, with how often; where none did, that their order did."""
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    for sign, tools in (("-", gone), ("+", new)):
        yield from (f"{sign}{name}" + (f" ×{n}" if n > 1 else "") for name, n in tools.items())
    if not gone and not new:
        yield "order"


def _arguments(recorded: Side, replayed: Side) -> Iterator[str]:
    """Each changed argument by its tool: in this class both sides call the same ones."""
    if not (isinstance(recorded, Answer) and isinstance(replayed, Answer)):
        return
    for old, new in matched(recorded.calls, replayed.calls):
        for change in changed_in(old, new):
            path = change.new_pointer if change.old_pointer is None else change.old_pointer
            yield f"{new.name}: {general(path or '') or '/'}"


def _failures(recorded: Side, replayed: Side) -> Iterator[str]:
    for where, side in (("recorded", recorded), ("replayed", replayed)):
        if isinstance(side, Failed):
            yield f"{where}: {side.code}"


def general(path: str) -> str:
    """A JSON Pointer with every place in a list (every number) as `*`."""
    return "/".join(ANY if step.isdecimal() else step for step in path.split("/"))


def told(difference: str, cause: Sequence[str]) -> str:
    """The cause in a few words, for people."""
    if not cause:
        return ""
    if difference == Difference.TOOL_CALLS:
        return "another order of calls" if list(cause) == ["order"] else ", ".join(cause)
    return ", ".join(each.removeprefix("/") for each in cause)
