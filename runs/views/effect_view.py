"""What the two panes show of one effect: its request and its answer, read from the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from runs import prices
from runs.messages import (
    Answer,
    Request,
    answer_view,
    changes,
    exact,
    request_view,
    stream_view,
    timed_stream,
    wire_answer,
    wire_request,
)
from runs.messages.knew import Source, knew
from runs.messages.links import ToolEffect, answered_in
from runs.messages.loose import obj
from runs.messages.media import media_in
from runs.messages.parts import Call, Message, Part
from runs.messages.portions import Room
from runs.messages.seen import Changes
from runs.messages.stream import Stream
from runs.models import Effect, EffectStatus, Family
from runs.search.places import NOTHING, LookedFor, looked_for
from runs.search.texts import texts_in
from runs.steps.stretch import Row, Stretch
from runs.storage import segments
from runs.storage.attachments import NOTHING_ATTACHED, Attached
from runs.views.record import members_of, record_of

FOLDED_INLINE = 40
"""So many messages already seen come with the page, folded; more are fetched when opened."""
CALLS_LINKED = 200
"""Tool effects looked at to find the one that answered a call."""
RECORD_READ = 1_000_000
"""Bytes up to which such a tool effect's record is read for its arguments."""
SOURCES_READ = 8
"""Memory loads and searches before a model call that are looked into for what it knew."""
_FEEDING = (Family.MEMORY, Family.RETRIEVE)


@dataclass(slots=True)
class EffectView:
    """All that the panes need. `problem` says why a record could not be read as JSON."""

    size: int
    request: Request
    answer: Answer
    stream: Stream | None = None
    problem: str = ""
    request_tab: str = "messages"
    answer_tab: str = "message"
    request_json: bytes = b""
    answer_json: list[tuple[str, str, bytes]] = field(default_factory=list)
    """(label, member of the record, bytes)"""
    seen: int = 0
    """Leading messages of the request that the previous model call had too."""
    show_all: bool = False
    previous: Row | None = None
    changes: Changes | None = None
    links: dict[int, int] = field(default_factory=dict)
    """Position of a tool call in the answer → seq of the effect that served it."""
    asked_by: Row | None = None
    knew: list[Source] = field(default_factory=list)
    """The memory loads and searches that fed this call."""
    priced_on: datetime | None = None
    """The day whose prices the cost is at; None where it is the log's own figure or unknown."""
    retry_of: Row | None = None
    """The call before, where it failed and asked the same."""
    wire: dict[str, Any] | None = None
    attached: Attached = NOTHING_ATTACHED
    room: Room = field(default_factory=Room)
    looked: LookedFor = NOTHING
    """What a search that led here marks."""
    found_earlier: int = 0
    """Messages seen before that have it."""
    is_only_earlier: bool = False
    """Nothing else of the request has it."""

    @property
    def request_label(self) -> str:
        return "Messages" if self.request.messages else "Request"

    @property
    def answer_label(self) -> str:
        return "Message" if self.request.family == "completion" else "Answer"

    @property
    def folded(self) -> bool:
        """The messages seen before are too many to come with the page unasked."""
        return self.seen > FOLDED_INLINE and not (self.show_all or self.is_only_earlier)

    @property
    def earlier(self) -> tuple[Message, ...]:
        return self.request.messages[: self.seen]

    @property
    def fresh(self) -> tuple[Message, ...]:
        return self.request.messages[self.seen :]

    @property
    def answer_parts(self) -> list[tuple[Any, int | None]]:
        """The answer's parts, each call with the effect that served it."""
        positions = iter(range(len(self.answer.calls)))
        return [
            (part, self.links.get(next(positions)) if isinstance(part, Call) else None)
            for part in self.answer.parts
        ]


def effect_view(effect: Effect, chosen: dict[str, Any], around: Stretch) -> EffectView:
    """Read the record of `effect` for the tabs that were `chosen`; its links are found `around`."""
    data = segments.read(effect)
    try:
        record = obj(exact.loads(data))
    except ValueError as error:
        return EffectView(len(data), Request("unknown"), Answer(), problem=str(error))
    view = EffectView(len(data), request_view(record), answer_view(record))
    view.show_all = bool(chosen.get("all"))
    view.room = Room(chosen.get("more", {}))
    view.stream = stream_view(record, _stream_errors(effect)) if "events" in record else None
    if effect.family == Family.COMPLETION:
        _compare_with_previous(view, effect, around)
        view.knew = _knew(view, effect, around)
        view.links = _links(effect, view.answer.calls, around)
    elif effect.family == Family.TOOL:
        view.asked_by = _asked_by(effect, around)
    view.priced_on = _priced_on(effect)
    view.looked = looked_for(chosen.get("q", ""))
    if view.looked:
        chosen = _find(view, chosen)
    _choose_tabs(view, effect, chosen)
    if view.stream is not None and view.answer_tab == "stream":
        sent = obj(exact.loads(segments.read_wire(effect) or b"{}")).get("chunks")
        times = (effect.first_token_ms, effect.duration_ms)
        view.stream = timed_stream(view.stream, sent, *times)
    _read_raw(view, effect, data)
    view.attached = Attached(effect.run.project_id, media_in(_said(view)))
    return view


def _find(view: EffectView, chosen: dict[str, Any]) -> dict[str, Any]:
    """Where what was looked for stands: the tab it is on, unless one was chosen."""
    has = [view.looked.is_in(texts_in(message)) for message in view.request.messages]
    view.found_earlier = sum(has[: view.seen])
    elsewhere = (*view.request.parts, *view.request.documents)
    is_new = any(has[view.seen :]) or view.looked.is_in(texts_in(*elsewhere))
    answered = (*view.answer.parts, *view.answer.messages, *view.answer.documents)
    is_new = is_new or view.looked.is_in(texts_in(*answered, view.answer.failure))
    in_tools = not is_new and view.looked.is_in(texts_in(*view.request.tools))
    view.is_only_earlier = bool(view.found_earlier) and not is_new and not in_tools
    return {"req": "tools", **chosen} if in_tools and not view.found_earlier else chosen


def _said(view: EffectView) -> Iterator[Request | Answer | Message | Part]:
    """All that may be drawn, but for the turns that are folded away."""
    folded = len(view.earlier) if view.folded else 0
    yield replace(view.request, messages=view.request.messages[folded:])
    yield view.answer
    yield from view.stream.parts if view.stream else ()
    yield from view.changes.gone if view.changes else ()
    if view.wire is not None:
        yield from (view.wire["asked"], view.wire["answered"])


def _choose_tabs(view: EffectView, effect: Effect, chosen: dict[str, Any]) -> None:
    """A tab that this effect does not have falls back to the first one."""
    has = {
        "changes": view.previous is not None,
        "tools": bool(view.request.tools),
        "stream": view.stream is not None,
        "wire": effect.wire_segment_id is not None,
    }
    asked, answered = chosen.get("req", "messages"), chosen.get("tab", "message")
    view.request_tab = asked if has.get(asked, True) else "messages"
    view.answer_tab = answered if has.get(answered, True) else "message"


def _read_raw(view: EffectView, effect: Effect, data: bytes) -> None:
    if "json" in (view.request_tab, view.answer_tab):
        members = members_of(data)
        view.request_json = members.get("kind", b"")
        shown = ("outcome", "tool_output", "events")
        parts = ((name.replace("_", " "), name, members.get(name, b"")) for name in shown)
        view.answer_json = [part for part in parts if part[2] not in (b"", b"null")]
    if "wire" in (view.request_tab, view.answer_tab):
        view.wire = _wire(effect)


def _wire(effect: Effect) -> dict[str, Any]:
    wire = obj(exact.loads(segments.read_wire(effect) or b"{}"))
    return {
        **wire,
        "asked": wire_request(wire.get("request"), "/request"),
        "answered": wire_answer(wire.get("response"), "/response"),
    }


def _stream_errors(effect: Effect) -> object:
    """The error items of this effect's stream; the format keeps them in the header."""
    header = members_of(segments.read_header(effect.run_id) or b"{}")
    return obj(exact.loads(header.get("stream_errors", b"{}"))).get(effect.effect_id)


def _compare_with_previous(view: EffectView, effect: Effect, around: Stretch) -> None:
    view.previous = around.before(effect.seq, **_alike(effect))
    if view.previous is None:
        return
    record = record_of(view.previous)
    before, said = request_view(record), answer_view(record)
    view.changes = changes(before, view.request, said)
    view.seen = view.changes.seen
    if view.changes.none and view.previous.status == EffectStatus.ERROR:
        view.retry_of = view.previous


def _knew(view: EffectView, effect: Effect, around: Stretch) -> list[Source]:
    """Among the effects near before this one, which are read already."""
    since = view.previous.seq if view.previous else 0
    near = around.within(around.first, effect.seq - 1)
    wanted = [row for row in near if row.family in _FEEDING and row.scope == effect.scope]
    read = [row for row in wanted[-SOURCES_READ:] if row.length <= RECORD_READ]
    return knew(view.request, ((row.seq, record_of(row), row.seq > since) for row in read))


def _priced_on(effect: Effect) -> datetime | None:
    if effect.cost is None:
        return None
    when = effect.started_at or effect.run.received_at
    alone = copy(effect)
    alone.recorded_cost = None
    known = prices.cost_of_row(alone, when, effect.run.project.price_overrides)
    return None if known is None else when


def _alike(effect: Effect | Row) -> dict[str, list[str]]:
    """What the calls of one conversation have in common."""
    return {"family": [effect.family], "key": [effect.key], "scope": [effect.scope]}


def _links(effect: Effect | Row, calls: Sequence[Call], around: Stretch) -> dict[int, int]:
    """Position of each of the `calls` of `effect` → seq of the tool effect that served it."""
    if not calls:
        return {}
    following = around.after(effect.seq, **_alike(effect))
    until = following.seq if following else None
    scope, tool = [effect.scope], [Family.TOOL]
    tools = around.between(effect.seq, until, CALLS_LINKED, family=tool, scope=scope)
    return answered_in(calls, [_tool_effect(row) for row in tools])


def _tool_effect(row: Row) -> ToolEffect:
    # One giant result must not slow the page of the call that asked for it.
    record = record_of(row) if row.length <= RECORD_READ else {}
    parts = request_view(record).parts
    return ToolEffect(row.seq, row.name, getattr(parts[0], "value", None) if parts else None)


def _asked_by(effect: Effect, around: Stretch) -> Row | None:
    """The model call before this tool effect, if it asked for this very call."""
    asker = around.before(effect.seq, family=[Family.COMPLETION], scope=[effect.scope])
    if asker is None:
        return None
    links = _links(asker, answer_view(record_of(asker)).calls, around)
    return asker if effect.seq in links.values() else None
