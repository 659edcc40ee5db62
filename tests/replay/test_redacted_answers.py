"""What redaction takes out of recordings is not kept of what a replay is answered, either."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import factories
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.models import Replay, ReplayEffect, ReplaySample
from replay.providers import providers_from_env
from replay.providers.exchange import Exchange
from runs.redaction import rules
from runs.storage import segments

MAIL, NUMBER = "ada@example.com", "4929 1234"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
RULES = [
    {"name": "mail", "pattern": r"[a-z.]+@example\.com"},
    {"name": "card", "field": "card"},
]
SAID = f"Wrote to {MAIL}, who has {SECRET}."
WITHOUT = "Wrote to [redacted:mail], who has [redacted:github-token]."
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
MODELS = pytest.mark.parametrize(
    "model", ["openai:gpt-b", "openai-responses:gpt-b", "anthropic:claude-c"]
)


@pytest.fixture
def project(project) -> Any:
    rules.replace(project, RULES)
    project.refresh_from_db()
    return project


def recorded(stream: bool, said: str = SAID) -> dict[str, Any]:
    one = factories.completion(1, "To whom?", said)
    one["kind"]["stream"] = stream
    return factories.log(one)


def kept(replay: Replay) -> str:
    """All that the rows of a replay keep."""
    texts: list[str] = []
    for kind, of in ((ReplayEffect, {"replay": replay}), (ReplaySample, {"row__replay": replay})):
        for row in kind.objects.filter(**of):
            for field in kind._meta.concrete_fields:
                value = getattr(row, field.attname)
                is_packed = isinstance(value, bytes | memoryview) and bytes(value)
                texts.append(segments.decompress(value).decode() if is_packed else str(value))
    return "\n".join(texts)


def only_row(replay: Replay) -> ReplayEffect:
    return ReplayEffect.objects.get(replay=replay)


@MODELS
@STREAMS
def test_an_answer_is_redacted_as_its_recording_is_and_so_is_the_same(
    project, store, provider, replay, model, stream
):
    provider({"answer": {"text": SAID}})
    store(recorded(stream))
    done = replay(models=[model])
    row = only_row(done)
    assert (done.status, row.difference) == ("succeeded", "same")
    assert json.loads(segments.decompress(row.answer))["text"] == WITHOUT
    assert MAIL not in kept(done) and SECRET not in kept(done)
    told = [note["message"] for note in row.notes if note["code"] == "answer_redacted"]
    assert told == ["redaction took out of the answer: github-token, mail"]
    assert stream == ("stream_not_kept" in [note["code"] for note in row.notes])


@MODELS
@STREAMS
def test_a_place_is_looked_for_in_the_arguments_of_calls(
    project, store, provider, replay, model, stream
):
    call = {"name": "pay", "arguments": {"card": NUMBER, "eur": 5}}
    provider({"answer": {"tool": call}})
    store(recorded(stream))
    done = replay(models=[model])
    [(_, name, arguments)] = json.loads(segments.decompress(only_row(done).answer))["calls"]
    assert (name, json.loads(arguments)) == ("pay", {"card": "[redacted:card]", "eur": 5})
    assert NUMBER not in kept(done)


@STREAMS
def test_each_sample_is_redacted(project, store, provider, replay, stream):
    provider({"answer": {"text": SAID}})
    store(recorded(stream))
    done = replay(samples=3)
    assert ReplaySample.objects.filter(row__replay=done).count() == 3
    assert MAIL not in kept(done) and SECRET not in kept(done)
    assert only_row(done).difference == "same"


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"status": 400, "message": f"who is {MAIL}?"}},
        {"malformed": f"<html>who is {MAIL}?</html>"},
        {"malformed": json.dumps({"choices": [], "of": MAIL})},
        {"text": "ok", "headers": {"x-request-id": f"for-{MAIL}"}},
    ],
)
def test_errors_and_what_is_no_answer_are_redacted(project, store, provider, replay, answer):
    provider({"answer": answer})
    store(recorded(False))
    done = replay()
    assert MAIL not in kept(done)
    assert "[redacted:mail]" in kept(done)


def test_the_words_of_a_tried_provider_are_redacted(project, provider, api, settings):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    fake = provider({"answer": {"error": {"status": 400, "message": f"who is {MAIL}?"}}})
    body = {"kind": "compatible", "base_url": fake.openai_base_url, "key": "sk-own"}
    assert api("PUT", "/api/v1/providers/own", json.dumps(body).encode()).status_code < 300
    tried = api("POST", "/api/v1/providers/own/test", b'{"model": "m"}').json()
    assert tried["said"] == "who is [redacted:mail]?"


@STREAMS
def test_without_anything_to_take_out_the_bytes_are_as_they_came(
    project, store, provider, replay, stream
):
    fake = provider({"answer": {"text": "Nobody has it."}})
    store(recorded(stream))
    row = only_row(replay())
    data = segments.decompress(row.response).decode()
    assert data.startswith("data: " if stream else "{")
    assert data.endswith("data: [DONE]\n\n") == stream
    assert (row.notes, len(fake.asked)) == ([], 1)


# --- Streams cut anywhere ------------------------------------------------------------------------


def taken(pieces: list[str], breaks_off: bool) -> str:
    """All that is told of a stream of these pieces."""
    providers = providers_from_env({"OPENAI_API_KEY": "sk-test-openai"})
    exchange = Exchange(providers["openai"], timeout=60)
    exchange.begin(200, {"content-type": "text/event-stream"})
    for piece in pieces:
        delta = {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        exchange.take(f"data: {json.dumps(delta)}\n\n".encode())
    if not breaks_off:
        exchange.take(
            b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
        )
    exchange.end()
    result = exchange.result()
    assert (result.answer is None) == breaks_off
    return result.response_bytes.decode() + str(result)


@given(st.lists(st.integers(0, len(SECRET)), max_size=4), st.booleans())
def test_a_secret_is_taken_out_wherever_events_cut_it(cuts, breaks_off):
    at = [0, *sorted(cuts), len(SECRET)]
    pieces = [SECRET[a:b] for a, b in pairwise(at)]
    told = taken(["It is ", *pieces, "."], breaks_off)
    assert "It is [redacted:github-token]." in told
    assert all(piece not in told for piece in pieces if len(piece) > 8)


def test_a_key_in_pieces_of_a_stream_is_not_kept_in_pieces():
    told = taken(["sk-test-", "openai"], breaks_off=False)
    assert "[key]" in told and "sk-test-" not in told
