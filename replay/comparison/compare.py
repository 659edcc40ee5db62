"""Two answers to one request, held against each other: the class, the reason, what changed. Pure.

The classes are those of docs/replay.md. Reasoning, ids of calls and usage are not compared: they
differ from call to call.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from replay.comparison.conforms import conforms
from replay.comparison.differences import Difference, worst
from replay.comparison.differing import differing
from replay.comparison.facts import collapsed, moved, only_in, read, spelled_alike
from replay.dialects.answer import Answer, AnswerCall
from replay.ignore_rules.masking import FENCED, explaining, read_json, value_without, without
from replay.ignore_rules.rule import Rule
from rewyn_sdk.diff import Change, diff
from rewyn_sdk.exact import as_written, exact_json, worth_of

KEPT_CHANGES = 50
LOOKED_THROUGH = 200_000
"""Characters of a text in which facts are looked for, a fifth of a second's work. Of a larger one
where it differs is taken alone: a fact that it has elsewhere too then counts as another."""
NAMED = 60
OPENING = '"“„«`'
BESIDE = 40
"""Characters beside that stretch which may say what a number in it is: a version, an amount."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A side that has no answer: `code` says which way it failed."""

    code: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed value, None on a side without; `path` is a JSON Pointer into `document(answer)`, on
    into a text that is JSON on both sides."""

    path: str
    recorded: Any = None
    replayed: Any = None


Side = Answer | Failed | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`ignored` is what it would have been without the ignore rules that `rules` names; `sides`
    are the answers as rules left them, where that is what was compared."""

    difference: Difference
    summary: str = ""
    changes: tuple[Changed, ...] = field(default=())
    ignored: Difference | None = None
    rules: tuple[str, ...] = ()
    sides: tuple[Side, Side] | None = field(default=None, compare=False, repr=False)

    @property
    def is_settled(self) -> bool:
        """Nothing differs, and no rule had to say so."""
        return not self.difference.is_change and self.ignored is None


def compare(
    recorded: Side, replayed: Side, schema: Any = None, rules: Sequence[Rule] = ()
) -> Comparison:
    """How `replayed` differs from `recorded`; `schema` is the JSON Schema the answer must fit.

    None stands for a call that is not there: recorded and never asked, or asked and not recorded.
    What `rules` cover does not count; a broken schema, a failure and an absent side always do.
    """
    if recorded is None or replayed is None:
        return _absent(recorded, replayed)
    if isinstance(recorded, Failed) or isinstance(replayed, Failed):
        return _failed(recorded, replayed)
    shape = list(_shape(recorded, replayed, schema))
    found = _answers(recorded, replayed, shape)
    if not (rules and found.difference.is_change):
        return found
    old, new = without(recorded, rules), without(replayed, rules)
    names = explaining(old.taken, new.taken)
    if not names:
        return found
    left = replace(_answers(old.answer, new.answer, shape), sides=(old.answer, new.answer))
    return lessened(found, left, names)


def _answers(recorded: Answer, replayed: Answer, shape: Sequence[Comparison]) -> Comparison:
    texts = _Texts(recorded.text, replayed.text)
    found = [
        *_finish(recorded, replayed),
        *shape,
        *_calls(recorded.calls, replayed.calls),
        *_text(texts, recorded, replayed),
    ]
    difference = worst(each.difference for each in found)
    said_of_it = [each.summary for each in found if each.difference == difference and each.summary]
    changes = tuple(_changes(texts, recorded, replayed, difference))
    return Comparison(difference, "; ".join(said_of_it), changes)


def lessened(found: Comparison, left: Comparison, names: tuple[str, ...]) -> Comparison:
    """What rules leave of a comparison. Where they silence it, it still says what was otherwise."""
    if left.difference.severity > found.difference.severity:
        return found  # calls that are ignored made the rest look graver
    if left.difference == found.difference:
        return left
    otherwise = f"{found.difference.label}: {found.summary}".removesuffix(": ")
    why = f"ignored: {', '.join(names)} (else {otherwise})"
    if left.difference.is_change:
        return replace(
            left, summary=f"{left.summary}; {why}", ignored=found.difference, rules=names
        )
    return Comparison(Difference.EQUIVALENT, why, found.changes, found.difference, names)


def document(answer: Answer) -> dict[str, Any]:
    """An answer as the JSON that the paths of `Changed` point into."""
    shown: dict[str, Any] = {"text": answer.text}
    if answer.refusal is not None:
        shown["refusal"] = answer.refusal
    shown["calls"] = [{"name": call.name, "arguments": said(call)} for call in answer.calls]
    shown["finish_reason"] = answer.finish_reason
    return shown


def said(call: AnswerCall) -> Any:
    """A call's arguments; the text itself where it is no JSON."""
    return call.arguments_text if call.arguments is None else call.arguments


def value_difference(
    recorded: Any,
    replayed: Any,
    rules: Sequence[Rule] = (),
    at: Sequence[str] = ("result",),
    tool: str = "",
) -> Comparison:
    """Two JSON values that should be one: equal but for spelling, in facts, or in words. `at` is
    where they stand for the paths of rules, `tool` whose they are."""
    found = _values(recorded, replayed)
    if not (rules and found.difference.is_change):
        return found
    (old, taken), (new, also) = (value_without(v, rules, at, tool) for v in (recorded, replayed))
    names = explaining(taken, also)
    return lessened(found, _values(old, new), names) if names else found


def _values(recorded: Any, replayed: Any) -> Comparison:
    if isinstance(recorded, str) or isinstance(replayed, str):
        return _texts(_Texts(_leaf_text(recorded), _leaf_text(replayed)))
    if _loose(recorded) == _loose(replayed):
        return Comparison(_spelling(recorded, replayed))
    return _documents(recorded, replayed)


def _absent(recorded: Side, replayed: Side) -> Comparison:
    if recorded is None and replayed is None:
        return Comparison(Difference.SAME)
    if recorded is None:
        return Comparison(Difference.NOT_RECORDED, "asked in the replay, not in the recording")
    return Comparison(Difference.NOT_ASKED, "in the recording, not asked in the replay")


def _failed(recorded: Side, replayed: Side) -> Comparison:
    if isinstance(recorded, Failed) and isinstance(replayed, Failed):
        if recorded.code == replayed.code:
            return Comparison(Difference.SAME, f"both fail: {recorded.code}")
        told = f"fails with {replayed.code}, recorded {recorded.code}"
    elif isinstance(recorded, Failed):
        told = f"answers where the recording failed: {recorded.code}"
    else:
        assert isinstance(replayed, Failed)
        told = f"{replayed.code}: {replayed.message}" if replayed.message else replayed.code
    return Comparison(Difference.ERROR, told)


# --- Structure ---------------------------------------------------------------------------------


def _finish(recorded: Answer, replayed: Answer) -> Iterator[Comparison]:
    """Counts only when both sides called tools, or both answered; else the calls tell it."""
    if bool(recorded.refusal) != bool(replayed.refusal):
        told = "refuses to answer" if replayed.refusal else "answers, recorded refused"
        yield Comparison(Difference.STRUCTURE, told)
    before, after = recorded.finish_reason, replayed.finish_reason
    if before is None or after is None or before == after:
        return
    if bool(recorded.calls) == bool(replayed.calls):
        yield Comparison(Difference.STRUCTURE, f"ends with {after}, recorded {before}")


def _shape(recorded: Answer, replayed: Answer, schema: Any) -> Iterator[Comparison]:
    if not isinstance(schema, dict) or recorded.calls or replayed.calls:
        return
    fits = [_fits(side.text, schema) for side in (recorded, replayed)]
    if fits[0] != fits[1]:
        told = "fits the schema, recorded did not" if fits[1] else "breaks the schema"
        yield Comparison(Difference.STRUCTURE, told)


def _fits(text: str, schema: dict[str, Any]) -> bool:
    found, value = read_json(text)
    return found and conforms(value, schema)


# --- Calls -------------------------------------------------------------------------------------


def _calls(recorded: Sequence[AnswerCall], replayed: Sequence[AnswerCall]) -> Iterator[Comparison]:
    before, after = [call.name for call in recorded], [call.name for call in replayed]
    if before != after:
        yield Comparison(Difference.TOOL_CALLS, _other_tools(before, after))
        return
    pairs = list(matched(recorded, replayed))
    for old, new in pairs:
        yield _arguments(old, new)
    if any(old is not mine for (old, _), mine in zip(pairs, recorded, strict=True)):
        yield Comparison(Difference.EQUIVALENT, "the same calls in another order")


def matched(
    recorded: Sequence[AnswerCall], replayed: Sequence[AnswerCall]
) -> Iterator[tuple[AnswerCall, AnswerCall]]:
    """Pair calls of the same tools, in the replay's order: equal content first, then what is only
    spelled otherwise, then by place."""
    if len(recorded) == len(replayed) == 1:
        yield recorded[0], replayed[0]
        return
    left = dict(enumerate(recorded))
    partners: dict[int, AnswerCall] = {}
    for mark in (_content, _spelling_aside, _tool):
        places: dict[tuple[str, ...], deque[int]] = {}
        for place, old in left.items():
            places.setdefault(mark(old), deque()).append(place)
        for index, call in enumerate(replayed):
            if index not in partners and (same := places.get(mark(call))):
                partners[index] = left.pop(same.popleft())
    for index, call in enumerate(replayed):
        yield partners[index], call


def _content(call: AnswerCall) -> tuple[str, ...]:
    return call.name, exact_json(said(call))


def _spelling_aside(call: AnswerCall) -> tuple[str, ...]:
    return call.name, json.dumps(_loose(said(call)))


def _tool(call: AnswerCall) -> tuple[str, ...]:
    return (call.name,)


def _arguments(old: AnswerCall, new: AnswerCall) -> Comparison:
    before, after = said(old), said(new)
    if old.arguments_text == new.arguments_text and before == after:
        return Comparison(Difference.SAME)
    if _loose(before) == _loose(after):
        difference = _spelling(before, after)
        return Comparison(difference, f"{new.name}: other spelling" if before != after else "")
    paths = [change.new_pointer or change.old_pointer or "" for change in changed_in(old, new)]
    named = ", ".join(path.lstrip("/") or "arguments" for path in paths[:3])
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return Comparison(Difference.ARGUMENTS, f"{new.name}: other {named}{more}")


def changed_in(old: AnswerCall, new: AnswerCall) -> list[Change]:
    """The arguments that are other, not those that are spelled otherwise."""
    return [change for change in diff(said(old), said(new)) if _counts(change)]


def _counts(change: Change) -> bool:
    return change.op != "replace" or _loose(change.old) != _loose(change.new)


def _other_tools(before: list[str], after: list[str]) -> str:
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if not gone and not new:
        return f"calls in another order: {', '.join(after)}"
    told = []
    if gone:
        told.append(f"drops {', '.join(gone.elements())}")
    if new:
        told.append(f"calls {', '.join(new.elements())}")
    return ", ".join(told)


# --- Text --------------------------------------------------------------------------------------


class _Texts:
    """Two texts. Read as JSON, and held against each other as that, at most once."""

    def __init__(self, before: str, after: str) -> None:
        self.wholes = before, after

    @cached_property
    def documents(self) -> tuple[Any, Any] | None:
        """What both are as JSON; None where one is none."""
        (is_json, old), (also, new) = map(read_json, _unfenced(*self.wholes))
        return (old, new) if is_json and also else None

    @cached_property
    def changes(self) -> list[Change]:
        return diff(*self.documents) if self.documents else []


def _text(texts: _Texts, recorded: Answer, replayed: Answer) -> Iterator[Comparison]:
    yield _texts(texts)
    if recorded.refusal and replayed.refusal:
        yield _texts(_Texts(recorded.refusal, replayed.refusal))


def _texts(texts: _Texts) -> Comparison:
    before, after = wholes = texts.wholes
    if before == after:
        return Comparison(Difference.SAME)
    if max(map(len, wholes)) > LOOKED_THROUGH:
        before, after = differing(before, after, BESIDE)
    if collapsed(before) == collapsed(after):
        return Comparison(Difference.EQUIVALENT, "other white space")
    if texts.documents:
        return _documents(*texts.documents, texts)
    if (size := max(len(before), len(after))) > LOOKED_THROUGH:
        told = f"other text, too large to look through for facts: {size:,} characters"
        return Comparison(Difference.FACTS, told)
    if spelled_alike(before, after):
        return Comparison(Difference.EQUIVALENT, "numbers spelled otherwise")
    one, other = read(before), read(after)
    gone, added = only_in(one, other), only_in(other, one)
    if gone or added:
        return Comparison(Difference.FACTS, _other_facts(gone, added))
    if swapped := moved(one, other):
        told = "names {1} where recorded named {0}".format(*map(_short, swapped))
        return Comparison(Difference.FACTS, told)
    return Comparison(Difference.WORDING, _other_words(*wholes))


def _unfenced(before: str, after: str) -> tuple[str, str]:
    """What stands in the fences of two texts that are each one fenced block of one kind."""
    old, new = FENCED.fullmatch(before.strip()), FENCED.fullmatch(after.strip())
    return (old[2], new[2]) if old and new and old[1] == new[1] else (before, after)


def _documents(before: Any, after: Any, texts: _Texts | None = None) -> Comparison:
    """Answers in JSON: a text of several words may be reworded, any other value is a fact."""
    if _loose(before) == _loose(after):
        return Comparison(Difference.EQUIVALENT, "the same JSON, spelled otherwise")
    found = []
    for change in texts.changes if texts else diff(before, after):
        sides = change.old, change.new
        if all(isinstance(side, str) and " " in side.strip() for side in sides):
            found.append(_texts(_Texts(*sides)))
        elif _counts(change):
            path = (change.new_pointer or change.old_pointer or "").lstrip("/")
            found.append(Comparison(Difference.FACTS, f"other {path or 'value'}"))
    gravest = worst(each.difference for each in found)
    told = [each.summary for each in found if each.difference == gravest]
    return Comparison(gravest, "; ".join(told[:3]))


def _other_facts(gone: list[str], added: list[str]) -> str:
    old, new = _some(gone), _some(added)
    if old and new:
        return f"names {new}, recorded named {old}"
    return f"also names {new}" if new else f"no longer names {old}"


def _some(written: list[str]) -> str:
    more = f" and {len(written) - 3} more" if len(written) > 3 else ""
    return ", ".join(map(_short, written[:3])) + more


def _short(written: str) -> str:
    """A fact of at most `NAMED` characters; a longer one ends after a word, and is closed if it
    was quoted."""
    if len(written) <= NAMED:
        return written
    head = written[: NAMED - 2]
    words = head.rpartition(" ")[0]
    closing = written[-1] if written[0] in OPENING else ""
    return f"{(words if len(words) > NAMED // 2 else head).rstrip(' ,.;:')}…{closing}"


def _other_words(before: str, after: str) -> str:
    if not before.strip():
        return "adds a text"
    return "drops the text" if not after.strip() else "other wording"


def _spelling(before: Any, after: Any) -> Difference:
    """Of values that are equal but for spelling: `same` where that is one, too."""
    same = json.dumps(before) == json.dumps(after)
    return Difference.SAME if same else Difference.EQUIVALENT


def _loose(value: Any) -> Any:
    """A value without white space in texts, key order and the spelling of numbers."""
    if isinstance(value, dict):
        return {key: _loose(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_loose(item) for item in value]
    if isinstance(value, str):
        return ("text", collapsed(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", worth_of(value))
    return ("other", value)


def _leaf_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return as_written(value) or json.dumps(value, ensure_ascii=False)


# --- What changed ------------------------------------------------------------------------------


def _opened(texts: _Texts, recorded: Answer, replayed: Answer) -> Iterator[Change]:
    """The changes of both documents; of texts that are JSON on both sides their members'."""
    shown = document(recorded), document(replayed)
    if texts.documents:
        for side in shown:
            del side["text"]
        for one in texts.changes:
            old, new = (p if p is None else f"/text{p}" for p in (one.old_pointer, one.new_pointer))
            yield replace(one, old_pointer=old, new_pointer=new)
    yield from diff(*shown)


def _changes(
    texts: _Texts, recorded: Answer, replayed: Answer, difference: Difference
) -> Iterator[Changed]:
    if difference == Difference.SAME:
        return
    found = [*_opened(texts, recorded, replayed)] or diff(document(recorded), document(replayed))
    if difference.is_change:  # beside what counts, other spelling says nothing
        found = [change for change in found if _counts(change)] or found
    for change in found[:KEPT_CHANGES]:
        path = change.new_pointer if change.old_pointer is None else change.old_pointer
        yield Changed(path or "", change.old, change.new)
