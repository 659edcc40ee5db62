"""What a model call says that the one before it did not."""

from collections.abc import Iterable
from dataclasses import dataclass

from runs.messages import exact
from runs.messages.loose import obj
from runs.messages.parts import Answer, Fact, Message, Request, Tool


@dataclass(frozen=True, slots=True)
class Change:
    """One named value before and after; empty means that it was not there."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Changes:
    """A request beside the earlier one: the messages both have, gone and new, and what was set."""

    seen: int
    gone: tuple[Message, ...]
    new: tuple[Message, ...]
    tools: tuple[Change, ...]
    facts: tuple[Change, ...]

    @property
    def none(self) -> bool:
        return not (self.gone or self.new or self.tools or self.facts)


def seen_prefix(
    earlier: tuple[Message, ...], messages: tuple[Message, ...], answer: Answer | None = None
) -> int:
    """How many leading messages the earlier call had too, its own `answer` included."""
    return _with_answer(_common(earlier, messages), earlier, messages, answer)


def _with_answer(
    count: int, earlier: tuple[Message, ...], messages: tuple[Message, ...], answer: Answer | None
) -> int:
    if answer is not None and count == len(earlier) and count < len(messages):
        count += _is_answer(messages[count], answer)
    return count


def changes(earlier: Request, request: Request, answer: Answer | None = None) -> Changes:
    """What `request` says otherwise than the `earlier` one, whose answer was `answer`."""
    common = _common(earlier.messages, request.messages)
    seen = _with_answer(common, earlier.messages, request.messages, answer)
    return Changes(
        seen,
        earlier.messages[common:],
        request.messages[seen:],
        _tool_changes(earlier.tools, request.tools),
        _fact_changes(earlier.facts, request.facts),
    )


def _common(earlier: tuple[Message, ...], messages: tuple[Message, ...]) -> int:
    pairs = zip(earlier, messages, strict=False)
    differing = (i for i, (a, b) in enumerate(pairs) if not exact.same(a.raw, b.raw))
    return next(differing, min(len(earlier), len(messages)))


def _is_answer(message: Message, answer: Answer) -> bool:
    content = obj(message.raw).get("content", message.raw)
    return answer.raw is not None and exact.same(content, answer.raw)


def _tool_changes(earlier: tuple[Tool, ...], tools: tuple[Tool, ...]) -> tuple[Change, ...]:
    before = {tool.name: tool for tool in earlier}
    after = {tool.name: tool for tool in tools}
    return tuple(
        Change(name, *_tool_words(before.get(name), after.get(name)))
        for name in dict.fromkeys([*before, *after])
        if not (name in before and name in after and exact.same(before[name].raw, after[name].raw))
    )


def _tool_words(before: Tool | None, after: Tool | None) -> tuple[str, str]:
    if before and after:
        return "offered", "offered with another description or schema"
    return ("offered", "") if before else ("", "offered")


def _fact_changes(earlier: Iterable[Fact], facts: Iterable[Fact]) -> tuple[Change, ...]:
    before = {fact.label: fact.value for fact in earlier}
    after = {fact.label: fact.value for fact in facts}
    return tuple(
        Change(label, before.get(label, ""), after.get(label, ""))
        for label in dict.fromkeys([*before, *after])
        if before.get(label) != after.get(label)
    )
