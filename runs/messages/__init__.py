"""Any provider's request and answer as parts to show. Pure: no models, no settings.

record = exact.loads(data)
request_view(record), answer_view(record), stream_view(record, header_errors)
"""

from typing import Any

from runs.messages import links, rig
from runs.messages.dialects import wire_answer, wire_media, wire_request
from runs.messages.parts import Answer, Request
from runs.messages.rig import answer as answer_view
from runs.messages.seen import changes, seen_prefix
from runs.messages.stream import stream as stream_view
from runs.messages.stream import timed as timed_stream


def request_view(record: dict[str, Any]) -> Request:
    """What the effect in `record` asked, results named after the calls they answer."""
    return links.with_tool_names(rig.request(record))


__all__ = [
    "Answer",
    "Request",
    "answer_view",
    "changes",
    "request_view",
    "seen_prefix",
    "stream_view",
    "timed_stream",
    "wire_answer",
    "wire_media",
    "wire_request",
]
