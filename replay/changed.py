"""What a plan says is changed on purpose, and which of it comes to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from replay.dialects.override import NOT_THERE, not_offered
from replay.questions import Candidate, Controls
from replay.tried import Tried
from runs.models import Effect
from runs.refusals import Refused


def changes(
    controls: Controls, candidate: Candidate | None, effects: Sequence[Effect], tried: Tried
) -> Iterator[dict[str, Any]]:
    """Each thing that is changed; a number that does not go out as asked has what is `sent`."""
    recorded = sorted({f"{one.provider}:{one.name}" for one in effects if one.name})
    if candidate and recorded != [str(candidate)]:
        yield {"what": "model", "recorded": recorded, "replayed": str(candidate)}
    if controls.samples > 1:
        yield {"what": "samples", "replayed": controls.samples}
    yield from _numbers(controls, tried)
    if controls.system is not None:
        yield {"what": "system", "texts_replaced": len(tried.systems)}
    if controls.message is not None:
        yield {"what": "message", "calls": tried.calls - len(_without_message(tried))}
    if controls.tools_off:
        nowhere = {name for name in controls.tools_off if _is_nowhere(name, tried)}
        off = sorted(set(controls.tools_off) - nowhere)
        yield {"what": "tools_off", "tools": off, "unknown": sorted(nowhere)}


def _numbers(controls: Controls, tried: Tried) -> Iterator[dict[str, Any]]:
    recorded: tuple[tuple[str, Iterable[float]], ...] = (
        ("temperature", tried.temperatures),
        ("top_p", tried.top_p),
        ("max_tokens", tried.max_tokens),
    )
    for name, known in recorded:
        asked, sent = getattr(controls, name), tried.sent.get(name, set())
        if asked is None:
            continue
        told = {"what": name, "recorded": sorted(known), "replayed": asked}
        if sent - {asked}:
            numbers = sorted(one for one in sent if one is not None)
            told["sent"] = [*numbers, None] if None in sent else numbers
        yield told


def without_effect(controls: Controls, tried: Tried, calls: int) -> Iterator[Refused]:
    """An error for each change that no chosen call has a place for; then no call is told of it.

    Nothing is said while not all `calls` have been tried out: another may have it.
    """
    if not tried.made or tried.made < calls:
        return
    if controls.message is not None and len(_without_message(tried)) == tried.made:
        tried.forget(NOT_THERE)
        text = "No chosen call holds the message that is to be replaced."
        yield Refused("message_not_found", text, "message")
    for name in [name for name in controls.tools_off if _is_nowhere(name, tried)]:
        tried.forget(not_offered(name))
        text = f"No chosen call offers the tool `{name}`; there is nothing to switch off."
        yield Refused("tool_not_offered", text, "tools_off")


def _without_message(tried: Tried) -> list[int]:
    return tried.about(NOT_THERE)


def _is_nowhere(name: str, tried: Tried) -> bool:
    """Whether no call that was tried out offers the tool."""
    if not tried.made:
        return name not in tried.tools
    return len(tried.about(not_offered(name))) == tried.made
