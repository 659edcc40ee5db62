"""A conversation every API takes: each call with its result, each result with its call.

Histories are trimmed, runs are cut; the APIs refuse what that leaves. Rig mends it on the way out
in the same manner, so a rebuilt call goes out as the recorded one did.
"""

from __future__ import annotations

from dataclasses import replace

from replay.dialects.prompt import (
    NO_RESULT,
    Call,
    Note,
    Part,
    Prompt,
    Reasoning,
    Result,
    Text,
    Turn,
)


def settled(prompt: Prompt) -> Prompt:
    """The prompt with orphaned results left out and open calls answered, each with a note.

    Where the prompt has nothing to say for an open call, the call is left out.
    """
    notes: list[Note] = []
    turns: list[Turn] = []
    waiting: dict[str, Call] = {}
    for turn in prompt.turns:
        if turn.role == "assistant":
            turns = _closed(turns, waiting, prompt.no_result, notes)
            waiting = {part.id: part for part in turn.parts if isinstance(part, Call)}
        elif turn.role == "user":
            turn = _matched(turn, waiting, notes)
            if waiting and not all(isinstance(part, Result) for part in turn.parts):
                turns = _closed(turns, waiting, prompt.no_result, notes)
                waiting = {}
            if not turn.parts:
                continue
        turns.append(turn)
    turns = _closed(turns, waiting, prompt.no_result, notes)
    if not notes:
        return prompt
    return replace(prompt, turns=tuple(_together(turns)), notes=prompt.notes + tuple(notes))


def orphan_result(identity: str, path: str) -> Note:
    """The note for a result without a call."""
    told = f"the result of {identity} answers no call before it; it is left out"
    return Note("orphan_result", path, told)


def dangling_call(identity: str, path: str, said: str | None) -> Note:
    """The note for a call without a result; `said` is what it gets, None where it is left out."""
    told = "it is left out" if said is None else f"one saying “{said}” is sent"
    return Note("dangling_call", path, f"the call {identity} has no result; {told}")


def lone_reasoning(path: str) -> Note:
    """The note for reasoning of which nothing is left that it led to."""
    said = "the model's reasoning is left out with the call that it led to"
    return Note("reasoning_left_out", path, said)


def _matched(turn: Turn, waiting: dict[str, Call], notes: list[Note]) -> Turn:
    kept: list[Part] = []
    for part in turn.parts:
        if isinstance(part, Result) and waiting.pop(part.call_id, None) is None:
            notes.append(orphan_result(part.call_id, part.path))
        else:
            kept.append(part)
    return replace(turn, parts=tuple(kept))


def _closed(
    turns: list[Turn], waiting: dict[str, Call], said: str | None, notes: list[Note]
) -> list[Turn]:
    """The turns with an answer to what waits, or without what waits."""
    if not waiting:
        return turns
    if said is None:
        return _without(turns, waiting, notes)
    return [*turns, _answer(waiting, said, notes)]


def _answer(waiting: dict[str, Call], said: str, notes: list[Note]) -> Turn:
    """A user turn that answers what waits."""
    results: list[Part] = []
    for call in waiting.values():
        notes.append(dangling_call(call.id, call.path, said))
        # What a person says in its place is a result; what we say, that there is none.
        results.append(Result(call.id, call.name, (Text(said),), is_error=said == NO_RESULT))
    return Turn("user", tuple(results))


def _without(turns: list[Turn], waiting: dict[str, Call], notes: list[Note]) -> list[Turn]:
    for call in waiting.values():
        notes.append(dangling_call(call.id, call.path, None))
    at = max(i for i, turn in enumerate(turns) if turn.role == "assistant")
    kept = tuple(p for p in turns[at].parts if not (isinstance(p, Call) and p.id in waiting))
    if all(isinstance(part, Reasoning) for part in kept):  # no API takes an answer of that alone
        notes += [lone_reasoning(part.path) for part in kept]
        kept = ()
    rest = [replace(turns[at], parts=kept)] if kept else []
    return [*turns[:at], *rest, *turns[at + 1 :]]


def _together(turns: list[Turn]) -> list[Turn]:
    """Answers made up here join the user turn beside them."""
    joined: list[Turn] = []
    for turn in turns:
        last = joined[-1] if joined else None
        if last and last.role == turn.role == "user":
            joined[-1] = replace(last, parts=last.parts + turn.parts)
        else:
            joined.append(turn)
    return joined
