"""Two effects that stand beside each other: the class of their difference, and what was asked
otherwise. Pure.

The classes are those of a replay (docs/replay.md). Of a model call the answer alone is classed, as
there; what it was asked is told beside it. Of anything else both are: a tool that was called with
other arguments is `arguments`, one that answered otherwise `facts` or `wording`.

For the paths of ignore rules a tool's arguments stand where those of a call do
(`/calls/0/arguments`), what anything but a model gave is `/result`, what it was asked `/request`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replay.comparison.compare import Comparison, Failed, Side, compare, lessened, value_difference
from replay.comparison.differences import Difference, worst
from replay.comparison.recorded import recorded_side
from replay.dialects.answer import Answer
from replay.ignore_rules.masking import Taken as TakenOut
from replay.ignore_rules.masking import explaining, value_without
from replay.ignore_rules.rule import Rule
from replay.two_runs.marks import SAID, Asked, Parts, members_of, opened, parts_of, without_ids
from rewyn_sdk.diff import diff
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.facts import as_object
from rewyn_sdk.jsontext import parse
from runs.messages.loose import plural

LARGE = 512 * 1024
"""Bytes of an answer up to which a difference is classed; beyond it is only told whether it is
the same."""
_NAMED = 3
_LEFT = re.compile(r"\brecorded (named|refused|did not)\b")
_NOT_WITH_AN_ANSWER = frozenset({"usage", "origin", "raw", "provider_request_id", "response_id"})


@dataclass(frozen=True, slots=True)
class Taken:
    """One effect with what is known of it without reading its record."""

    family: str
    key: str
    name: str
    record: bytes

    def parts(self) -> Parts:
        return parts_of(self.record)


@dataclass(frozen=True, slots=True)
class Told:
    """`difference` is None where the answers are too large to be classed; `asked` is empty where
    both were asked the same. `ignored` is what it would be without the rules that `rules` names."""

    difference: Difference | None
    summary: str = ""
    asked: str = ""
    ignored: Difference | None = None
    rules: tuple[str, ...] = ()


def compare_effects(a: Taken, b: Taken, asked: Asked, rules: Sequence[Rule] = ()) -> Told:
    """How the effect `b` of one run differs from the effect `a` of another."""
    left, right = a.parts(), b.parts()
    otherwise = _asked_otherwise(a, b, left, right, asked)
    outcome = _outcome(a, left, right, rules)
    if outcome is None:
        size = max(len(left.outcome), len(right.outcome))
        return Told(None, f"not the same, and too large to be classed: {size:,} bytes", otherwise)
    if a.family == "completion" or not otherwise:
        return _told((outcome,), otherwise)
    return _told((_request(a, left, right, rules), outcome), otherwise)


def _told(found: Sequence[Comparison], otherwise: str) -> Told:
    """The gravest of the comparisons of one effect, and what rules took away of all."""
    both = worst(one.difference for one in found)
    summaries = [one.summary for one in found if one.difference == both]
    summary = "; ".join(filter(None, map(_in_words, summaries)))
    without = worst(one.ignored or one.difference for one in found)
    if without == both:
        return Told(both, summary, otherwise)
    names = dict.fromkeys(name for one in found for name in one.rules)
    return Told(both, summary, otherwise, without, tuple(names))


def _in_words(summary: str) -> str:
    """What a comparison says of the recorded side, said of A."""
    told = _LEFT.sub(r"A \1", summary).replace(", recorded ", ", in A ")
    return told.replace("where the recording failed", "where A failed")


# --- What was asked ----------------------------------------------------------------------------


def _asked_otherwise(a: Taken, b: Taken, left: Parts, right: Parts, asked: Asked) -> str:
    if bytes(left.kind) == bytes(right.kind):
        return ""
    before, after = (asked.members(one.kind, t.family) for one, t in ((left, a), (right, b)))
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    told = [
        _messages(before.get(name, ()), after.get(name, ())) if name in SAID else name or "request"
        for name in names
    ]
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return ", ".join(told[:_NAMED]) + more


def _messages(before: Any, after: Any) -> str:
    same = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), None)
    if same is not None:
        return f"message {same + 1}"
    count = abs(len(after) - len(before))
    return f"{plural(count, 'message')} {'more' if len(after) > len(before) else 'less'}"


def _request(a: Taken, left: Parts, right: Parts, rules: Sequence[Rule]) -> Comparison:
    before, after = (request_of(one) for one in (left, right))
    if rules:
        (before, taken), (after, also) = (_without(a, one, rules) for one in (before, after))
        if names := explaining(taken, also):
            found = _requests(*(request_of(one) for one in (left, right)))
            return lessened(found, _requests(before, after), names)
    return _requests(before, after)


def _without(a: Taken, request: dict[str, Any], rules: Sequence[Rule]) -> tuple[Any, TakenOut]:
    """A request as rules leave it; a tool's arguments stand where those of a call do."""
    if a.family != "tool" or "args" not in request:
        return value_without(request, rules, ("request",))
    args, taken = value_without(request["args"], rules, ("calls", "0", "arguments"), a.name)
    return {**request, "args": args}, taken


def _requests(before: Any, after: Any) -> Comparison:
    if not value_difference(before, after).difference.is_change:
        return Comparison(Difference.EQUIVALENT, "asked the same, spelled otherwise")
    changes = diff(before, after)
    paths = [(change.new_pointer or change.old_pointer or "").lstrip("/") for change in changes]
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return Comparison(Difference.ARGUMENTS, f"other {', '.join(paths[:_NAMED])}{more}")


def request_of(parts: Parts) -> dict[str, Any]:
    """What an effect asked, JSON in texts opened, without the family's name."""
    kind = as_object(_value(parts.kind))
    return {name: opened(value) for name, value in kind.items() if name != "effect"}


# --- What came back ----------------------------------------------------------------------------


def _outcome(a: Taken, left: Parts, right: Parts, rules: Sequence[Rule] = ()) -> Comparison | None:
    if bytes(left.outcome) == bytes(right.outcome):
        return Comparison(Difference.SAME)
    if max(len(left.outcome), len(right.outcome)) > LARGE:
        return None
    before, after = _value(left.outcome), _value(right.outcome)
    if before is None or after is None:
        return _open(before, after)
    if a.family == "completion":
        return compare(side_of(left), side_of(right), _schema(left), rules)
    old, new = _failed(before), _failed(after)
    if old or new:
        return compare(old or Answer(), new or Answer())
    tool = a.name if a.family == "tool" else ""
    return value_difference(answered(before), answered(after), rules, tool=tool)


def _open(before: Any, after: Any) -> Comparison:
    if before is None and after is None:
        return Comparison(Difference.SAME, "neither has an answer")
    return Comparison(Difference.ERROR, f"no answer in {'A' if before is None else 'B'}")


def _failed(outcome: Any) -> Failed | None:
    """The way an effect failed; a tool may say so in an outcome that is fine."""
    side = recorded_side({"outcome": outcome})
    return side if isinstance(side, Failed) else None


def answered(outcome: Any) -> Any:
    """What came back, without what tells of the call and not of the answer; of a tool its words."""
    ok = as_object(outcome).get("Ok", outcome)
    if not isinstance(ok, dict):
        return ok
    kept = {name: value for name, value in ok.items() if name not in _NOT_WITH_AN_ANSWER}
    if isinstance(kept.get("messages"), list):
        kept["messages"] = [without_ids(one) for one in kept["messages"]]
    said = as_object(kept.get("result")).get("value")
    return _words(said) if isinstance(said, list) and said else kept


def _words(parts: list[Any]) -> Any:
    """A tool's text or JSON as it is; several parts as a list of them."""
    found = [_word(part) for part in parts]
    return found[0] if len(found) == 1 else found


def _word(part: Any) -> Any:
    members = as_object(part)
    name = {"json": "value", "text": "text"}.get(str(members.get("type")), "")
    return members.get(name, part)


def _schema(parts: Parts) -> Any:
    """The JSON Schema of a model's answer; the conversation beside it is not read for it."""
    asked = members_of(members_of(parts.kind).get("request"))
    return _value(asked["output_schema"]) if "output_schema" in asked else None


def side_of(parts: Parts) -> Side:
    """A model's answer, or the way it failed."""
    return recorded_side({"outcome": _value(parts.outcome)})


def _value(data: Any) -> Any:
    try:
        return parse(bytes(data), exact=True)
    except DecodeError:
        return None
