"""The conversation of a recorded prompt held against the body that a library sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects import Note, Prompt
from replay.dialects.carry import ids_for, invalid_arguments
from replay.dialects.prompt import Call, Media, Part, Reasoning, Result, Text, Turn


def notes_on_parts(prompt: Prompt, said: Prompt, body: Mapping[str, Any]) -> Iterator[Note]:
    """A note for each part of ``prompt`` that is not in the sent ``body``, or elsewhere, or in
    other words. ``said`` is what is read from that body."""
    sent = _Sent(said, body)
    noted = {note.path for note in prompt.notes}
    yield from _system(prompt, sent)
    for turn in prompt.turns:
        for part in turn.parts:
            if part.path not in noted:
                yield from _part(part, sent)


class _Sent:
    """What went out, by what is looked for in it."""

    def __init__(self, said: Prompt, body: Mapping[str, Any]) -> None:
        parts = [part for turn in said.turns for part in turn.parts]
        results = [part for part in parts if isinstance(part, Result)]
        inside = [inner for result in results for inner in result.parts]
        media = [part for part in (*parts, *inside) if isinstance(part, Media)]
        lead = len(said.leading_system())
        self.texts = "\n".join(_strings(body))
        self.calls = {part.id: part for part in parts if isinstance(part, Call)}
        self.results = {result.call_id: result for result in results}
        self.details = {one.value: one.detail for one in media}
        self.system = "\n".join(turn.text() for turn in said.turns[:lead])
        self.later_system = "\n".join(_system_texts(said.turns[lead:]))
        self._ids = ids_for(said.api or "", [])

    def spelled(self, given: str) -> str:
        """The id that the library was given for a recorded one; to be asked for in order."""
        return self._ids.spell(given, "")


def _system_texts(turns: tuple[Turn, ...]) -> Iterator[str]:
    return (turn.text() for turn in turns if turn.role == "system")


def _system(prompt: Prompt, sent: _Sent) -> Iterator[Note]:
    """Where the system texts went; one that is in no text is told as any other."""
    lead = len(prompt.leading_system())
    for index, turn in enumerate(prompt.turns):
        text = turn.text()
        if turn.role != "system" or not text.strip() or text not in sent.texts:
            continue
        if text in (sent.system if index < lead else sent.later_system):
            continue
        if text in sent.system:
            said = "a system message in the middle goes to the top: this API has one place for it"
            yield Note("system_moved", turn.path, said)
        else:
            said = "a system message goes out in another role"
            yield Note("system_reworded", turn.path, said)


def _part(part: Part, sent: _Sent) -> Iterator[Note]:
    if isinstance(part, Text):
        if part.text.strip() and part.text not in sent.texts:
            yield Note("text_left_out", part.path, "a text is not in the request as it was")
    elif isinstance(part, Media):
        yield from _medium(part, sent)
    elif isinstance(part, Call):
        yield from _call(part, sent)
    elif isinstance(part, Result):
        yield from _result(part, sent)
    elif isinstance(part, Reasoning):
        yield from _reasoning(part, sent.texts)
    else:
        yield Note("part_left_out", part.path, "a part of another API is left out")


def _medium(part: Media, sent: _Sent) -> Iterator[Note]:
    if not part.value or part.value not in sent.texts:
        yield Note("media_left_out", part.path, f"the {part.kind} is not in the request")
        return
    if part.detail not in (None, "auto") and sent.details.get(part.value) != part.detail:
        said = f"the detail level {part.detail} is left out"
        yield Note("detail_left_out", f"{part.path}/detail", said)


def _call(part: Call, sent: _Sent) -> Iterator[Note]:
    spelled = sent.spelled(part.id)
    found = sent.calls.get(spelled)
    if found is None:
        yield Note("call_left_out", part.path, f"the call {part.id} is not in the request")
        return
    if spelled != part.id:
        said = f"the call id {part.id} is sent as {spelled}"
        yield Note("call_id_respelled", part.path, said)
    if part.written is not None:
        yield invalid_arguments(part)
    elif found.name != part.name or found.arguments != part.arguments:
        yield Note("call_changed", part.path, f"the call {part.id} is sent in other words")


def _result(part: Result, sent: _Sent) -> Iterator[Note]:
    found = sent.results.get(sent.spelled(part.call_id))
    if found is None:
        said = f"the result of {part.call_id} is not in the request"
        yield Note("result_left_out", part.path, said)
        return
    inside = {one.value for one in found.parts if isinstance(one, Media)}
    for one in part.parts:
        if isinstance(one, Media):
            yield from _medium(one, sent)
            # A document that is sent as a text stands in the text of the result.
            if one.source != "text" and one.value in sent.texts and one.value not in inside:
                said = f"a result takes text only; the {one.kind} goes into the next message"
                yield Note("media_moved", one.path, said)
    told, plain = _told(found), _told(part)
    if part.is_error and not found.is_error:
        code = "is_error_left_out" if told == plain else "is_error_reworded"
        said = f"this API marks no failed call; its result is sent as {told[:100]!r}"
        yield Note(code, f"{part.path}/is_error", said)
    elif told != plain and not all(text in told for text in _texts(part)):
        yield Note("result_reworded", part.path, f"the result is sent as {told[:100]!r}")


def _told(result: Result) -> str:
    return "\n".join(_texts(result))


def _texts(result: Result) -> list[str]:
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    return [text for text in texts if text.strip()]


def _reasoning(part: Reasoning, texts: str) -> Iterator[Note]:
    signature = part.native.item.get("signature") if part.native else None
    if isinstance(signature, str) and signature in texts:
        return
    if part.text.strip() and part.text in texts:
        said = "reasoning goes out as text, marked by the library"
        yield Note("reasoning_reworded", part.path, said)
    else:
        yield Note("reasoning_left_out", part.path, "reasoning is not in the request")


def _strings(value: object) -> list[str]:
    """All texts in a value, in no order."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found
