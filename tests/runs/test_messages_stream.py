"""A kept stream: its chunks with their times, what failed in its place, the whole of it."""

import html
import json
import re

import pytest

from runs import ingest
from runs.messages.stream import Chunk, Stream, timed


def chunks(*kinds: str) -> Stream:
    made = (Chunk(index, kind, "0", "a", "") for index, kind in enumerate(kinds))
    return Stream(tuple(made), ())


def times(stream: Stream) -> list[float | None]:
    return [chunk.at_ms for chunk in stream.chunks]


def test_chunks_have_the_times_they_were_sent_with() -> None:
    sent = [{"at_ms": at, "data": "x"} for at in (10, 12.5, 400)]
    stream = timed(chunks("start", "text", "text"), sent, 12.5, 400.0)
    assert (stream.pace, times(stream), stream.first) == ("recorded", [10, 12.5, 400], 1)


@pytest.mark.parametrize("sent", [None, [], ["a"], [{"at_ms": 1}], [{"at_ms": "x"}] * 3])
def test_without_times_of_its_own_a_stream_goes_evenly_from_first_token_to_end(sent) -> None:
    stream = timed(chunks("start", "text", "text"), sent, 100.0, 300.0)
    assert (stream.pace, times(stream)) == ("even", [None, 100, 300])


@pytest.mark.parametrize("known", [(None, 300.0), (100.0, None), (300.0, 100.0)])
def test_where_nothing_is_known_no_time_is_made_up(known) -> None:
    stream = timed(chunks("text"), None, *known)
    assert (stream.pace, times(stream)) == ("", [None])


@pytest.fixture
def stream_page(member_client, project, shared):
    """stream_page(log, seq, **beside) -> the text of a real log's stream tab."""

    def show(name: str, seq: int, **beside: object) -> str:
        log = json.loads((shared / "data" / "rig" / f"{name}.effects.json").read_bytes())
        ingest.accept_run(project, json.dumps({"run": {"id": "run"}, "log": log} | beside).encode())
        page = member_client.get(f"/p/acme/runs/run?at={seq}&tab=stream")
        answer = page.text.partition('id="answer-heading"')[2]
        return " ".join(html.unescape(re.sub("<[^>]*>", " ", answer)).split())

    return show


def test_an_error_stands_where_it_came(stream_page) -> None:
    page = stream_page("radio-stream-error", 1)
    assert "error ProviderError: upstream closed the connection" in page
    assert "ended here ProviderError: upstream closed the connection" in page
    assert page.index("error ProviderError") < page.index("ended here") < page.index("put together")


def test_a_cancelled_stream_says_where_it_was_cancelled(stream_page) -> None:
    assert "cancelled here the consumer cancelled" in stream_page("chat-cancelled", 1)


def test_a_timed_stream_says_first_token_and_times(stream_page) -> None:
    at = {"1": {"started_at": "2026-11-29T12:00:00Z", "duration_ms": 900, "first_token_ms": 100}}
    page = stream_page("incident-stream-kept", 1, times=at)
    assert "first token 100 ms" in page
    assert "spread evenly" in page
    assert "900 ms" in page
