"""A recorded model call as every candidate needs it: read once, and nobody may alter it.

All candidates of an experiment ask the same calls, one replay after the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from replay import recording
from replay.comparison.compare import Side
from replay.comparison.recorded import recorded_side, schema_of
from replay.dialects import Prompt
from replay.providers import recorded_prompt
from replay.review import baselines
from runs.models import Effect

KEPT = 64
KEPT_BYTES = 64 * 1024


@dataclass(frozen=True)
class RecordedCall:
    """`content_hash` is that of the record's bytes, empty where it is not known."""

    record: Mapping[str, Any]
    content_hash: str = ""

    @cached_property
    def prompt(self) -> Prompt:
        """What was asked. Raises CannotAsk where the record is no model call."""
        return recorded_prompt(self.record)

    @cached_property
    def side(self) -> Side:
        """What came back, as comparisons take it."""
        return recorded_side(self.record)

    @cached_property
    def schema(self) -> Any:
        """The JSON Schema that the answer was asked to fit."""
        return schema_of(self.record)

    @cached_property
    def request_hash(self) -> str:
        """The name of the request, by which accepted answers are found."""
        return baselines.request_hash(self.record, self.content_hash)


_known: OrderedDict[tuple[int, int, int], RecordedCall] = OrderedDict()
_lock = threading.Lock()


def recorded_call(effect: Effect) -> RecordedCall:
    """The call of an effect; its record is empty where there is none.

    A few of usual length stay as they were read. A segment never changes once written.
    """
    place = effect.segment_id, effect.offset, effect.length
    with _lock:
        if place in _known:
            _known.move_to_end(place)
            return _known[place]
    read = RecordedCall(recording.record(effect).value or {}, effect.content_hash)
    if effect.length <= KEPT_BYTES:
        with _lock:
            _known[place] = read
            while len(_known) > KEPT:
                _known.popitem(last=False)
    return read


def forget_kept(runs: object = None) -> None:
    """Empty what this process keeps: when runs are deleted for good."""
    with _lock:
        _known.clear()
