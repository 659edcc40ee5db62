"""What real records say, against what the files beside them and the format say."""

import pytest

from rewyn_sdk import EffectLog, EffectRecord, ResponseFacts
from rewyn_sdk.facts import call_id, is_failed_result


@pytest.fixture
def read(log_bytes):
    return lambda name: EffectLog.loads(log_bytes(name)).records


def test_who_answered(read):
    assert read("order-status-chat")[0].facts.api == "openai.chat"
    assert read("librarian-stream-parts")[0].facts == ResponseFacts(
        api="mock.script", provider="mock", model="mock-model"
    )


def test_usage_is_as_recorded_and_absent_is_not_zero(read):
    first, *_ = read("librarian-stream-parts")
    assert first.usage == {"total_tokens": 77}
    assert read("dunning-provider-errors")[0].usage is None


def test_usage_of_other_families(read):
    embed, rerank = read("host-desk-families")[3:5]
    assert (embed.family, embed.usage) == ("embed", {"input_tokens": 21})
    assert (rerank.family, rerank.usage) == ("rerank", {})


def test_names_of_effects(read):
    records = read("host-desk-families")
    assert [r.name for r in records[:3]] == ["desk.ticket_note", "desk.ticket_note", None]


def test_failures(read):
    limited, denied, fine = read("dunning-provider-errors")
    assert limited.failure["http_status"] == 429 and limited.failure["retryable"] is True
    assert denied.failure["code"] == "invalid_api_key"
    assert fine.failure is None


def test_a_tool_that_fails_is_ok_with_a_failure(read):
    tool = read("sql-tool-errors")[1]
    assert tool.error is None and tool.ok is not None
    assert tool.failure["kind"] and "model_output" in tool.failure


def test_a_skipped_tool_did_not_succeed():
    text = '{"outcome":{"Ok":{"outcome":"tool_result","result":{"status":"skipped","value":[]}}}}'
    assert EffectRecord.loads(text).failure == {"kind": "skipped"}


def test_finish_reasons(read):
    reasons = [record.finish_reason for record in read("writer-finish-reasons")]
    assert reasons[:2] == ["length", "content_filter"]


def test_a_finish_reason_of_its_own():
    text = '{"outcome":{"Ok":{"finish_reason":{"other":"pause_turn"}}}}'
    assert EffectRecord.loads(text).finish_reason == "pause_turn"


def test_scopes_and_parents(read):
    assert read("market-two-programs")[0].scope == "run:seller"
    assert [r.parent for r in read("nested-critic")].count(None) == 3


def test_kept_streams(read):
    kept, folded = read("incident-stream-kept")[0], read("incident-stream-folded")[0]
    assert kept.streams and folded.streams
    assert kept.events and kept.stream_origin["provider"] == "openai"
    assert (folded.events, folded.stream_origin) == (None, None)


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ({"id": {"provider": "call_1"}}, "call_1"),
        (
            {"call": {"local": "00000000-0000-4000-8000-000000000000"}},
            "00000000-0000-4000-8000-000000000000",
        ),
        ({"id": {"origin": "explicit", "id": "toolu_1"}, "provider": {"call_id": "x"}}, "toolu_1"),
        ({"id": "call_9"}, "call_9"),
        ({"provider": {"call_id": "fc_1", "item_id": "i"}}, "fc_1"),
        ({}, None),
        ("text", None),
    ],
)
def test_the_id_of_a_call_in_every_shape(part, found):
    assert call_id(part) == found


def test_a_result_that_says_it_failed(read):
    results = read("hooks-guarded-bank")[3].history[3]["content"]
    assert is_failed_result(results[0])
    assert not is_failed_result({"type": "toolresult"})
