"""What of a call a plan can tell is too much or too little, beside its conversion."""

from __future__ import annotations

from collections.abc import Iterator

from replay.dialects.bodies import open_call_ids
from replay.dialects.models import LIMITS, has_image
from replay.dialects.prompt import Note
from replay.providers import Call
from runs.models import Effect
from runs.prices import window_of

CHARACTERS_A_TOKEN = 4
"""A rule of thumb, for calls whose tokens nobody counted."""


def window_notes(call: Call, effect: Effect) -> Iterator[Note]:
    """A note where the call is longer than its model's window, as far as that is known."""
    window = window_of(call.provider.priced_as, call.model)
    asked = _tokens(call, effect)
    if window is None or asked is None:
        return
    limit = next((value for name in LIMITS if type(value := call.body.get(name)) is int), 0)
    if asked + limit > window:
        about = "" if effect.input_tokens is not None else "about "
        answer = f" and an answer of up to {limit:,}" if limit else ""
        said = f"{about}{asked:,} tokens{answer} do not fit into {call.model}'s {window:,}"
        yield Note("context_too_long", "", said)


def _tokens(call: Call, effect: Effect) -> int | None:
    if effect.input_tokens is not None:
        return effect.input_tokens
    if has_image(call.body):  # its bytes are no words
        return None
    return len(call.request_bytes) // CHARACTERS_A_TOKEN


def open_calls(call: Call) -> Iterator[Note]:
    """A note for each tool call without a result in a body that goes out as it was recorded.

    What is rebuilt tells this by itself (`replay.dialects.settle`).
    """
    if call.prompt is not None or any(note.code == "dangling_call" for note in call.notes):
        return
    for one in open_call_ids(call.body):
        said = f"the call {one} has no result; it goes out as it was recorded"
        yield Note("dangling_call", "", said)
