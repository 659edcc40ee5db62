"""A conversation every API takes: each call with its result, each result with its call.

Histories are trimmed, runs are cut; the APIs refuse what that leaves. Rig mends it on the way out
in the same manner, so a rebuilt call goes out as the recorded one did.
"""

from __future__ import annotations

from dataclasses import replace

from replay.dialects.prompt import NO_RESULT, Call, Note, Part, Prompt, Result, Text, Turn


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


def _matched(turn: Turn, waiting: dict[str, Call], notes: list[Note]) -> Turn:
    kept: list[Part] = []
    for part in turn.parts:
        if isinstance(part, Result) and waiting.pop(part.call_id, None) is None:
            said = f"the result of {part.call_id} answers no call before it; it is left out"
            notes.append(Note("orphan_result", part.path, said))
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
        told = f"the call {call.id} has no result; one saying “{said}” is sent"
        notes.append(Note("dangling_call", call.path, told))
        # What a person says in its place is a result; what we say, that there is none.
        results.append(Result(call.id, call.name, (Text(said),), is_error=said == NO_RESULT))
    return Turn("user", tuple(results))


def _without(turns: list[Turn], waiting: dict[str, Call], notes: list[Note]) -> list[Turn]:
    for call in waiting.values():
        told = f"the call {call.id} has no result; it is left out"
        notes.append(Note("dangling_call", call.path, told))
    at = max(i for i, turn in enumerate(turns) if turn.role == "assistant")
    kept = tuple(p for p in turns[at].parts if not (isinstance(p, Call) and p.id in waiting))
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
