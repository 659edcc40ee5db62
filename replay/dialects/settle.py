"""A conversation every API takes: each call with its result, each result with its call.

Histories are trimmed, runs are cut; the APIs refuse what that leaves. Rig mends it on the way out
in the same manner, so a rebuilt call goes out as the recorded one did.
"""

from __future__ import annotations

from dataclasses import replace

from replay.dialects.prompt import Call, Note, Part, Prompt, Result, Text, Turn

NO_RESULT = "No result provided"


def settled(prompt: Prompt) -> Prompt:
    """The prompt with orphaned results left out and open calls answered, each with a note."""
    notes: list[Note] = []
    turns: list[Turn] = []
    waiting: dict[str, Call] = {}
    for turn in prompt.turns:
        if turn.role == "assistant":
            turns += _answered(waiting, notes)
            waiting = {part.id: part for part in turn.parts if isinstance(part, Call)}
        elif turn.role == "user":
            turn = _matched(turn, waiting, notes)
            if waiting and not all(isinstance(part, Result) for part in turn.parts):
                turns += _answered(waiting, notes)
                waiting = {}
            if not turn.parts:
                continue
        turns.append(turn)
    turns += _answered(waiting, notes)
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


def _answered(waiting: dict[str, Call], notes: list[Note]) -> list[Turn]:
    """A user turn that answers what waits."""
    results: list[Part] = []
    for call in waiting.values():
        said = f"the call {call.id} has no result; one saying “{NO_RESULT}” is sent"
        notes.append(Note("dangling_call", call.path, said))
        results.append(Result(call.id, call.name, (Text(NO_RESULT),), is_error=True))
    return [Turn("user", tuple(results))] if results else []


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
