"""What was compressed is read back, whenever it was, and no text of a run is kept elsewhere."""

import json
import re
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from runs.models import Segment
from runs.storage import compression, segments
from runs.storage.compression import compress, decompress

RECORD = b'{"tool_output":null,"id":7,"key":"desk/model:default","text":"a refund \xe2\x82\xac"}'
STORED_IN_1 = bytes.fromhex(
    "0128b52ffd204c0d010078376465736b61206e6420e282ac227d050013730272135918264f02ef21594410"
)
OF_PROVIDERS = {
    *("chat.completion", "choices", "created", "logprobs", "system_fingerprint", "openai.chat"),
    *("completion_tokens", "completion_tokens_details", "prompt_tokens_details", "audio_tokens"),
    *("cached_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
    *("chatcmpl-", "req_"),
}
"""What a provider's answers have, as its documentation says."""


@given(st.binary(max_size=300), st.sampled_from([1, 1000]))
def test_what_goes_in_comes_out(data: bytes, times: int) -> None:
    assert decompress(memoryview(compress(data * times))) == data * times


def test_what_is_large_is_read_back_too() -> None:
    data = b"".join(b"%d," % number for number in range(60_000))
    assert len(data) > compression.SMALL_BYTES and decompress(compress(data)) == data


@pytest.mark.parametrize("stored", [zstandard.compress(RECORD), STORED_IN_1])
def test_what_earlier_versions_stored_is_read(stored: bytes) -> None:
    assert decompress(stored) == RECORD


@pytest.mark.parametrize("stored", [b"\x07" + compress(RECORD)[1:], compress(RECORD)[:-3]])
def test_what_cannot_be_read_is_an_error(stored: bytes) -> None:
    with pytest.raises(zstandard.ZstdError):
        decompress(stored)


def test_each_dictionary_holds_words_of_the_format_only(shared) -> None:
    public = Path("docs/api.md").read_text() + (shared / "spec/rig-effect-log.md").read_text()
    for number in compression.DICTIONARIES:
        text = compression.dictionary(number).as_bytes().decode()
        known = {word for word in re.findall(r'"([^"]*)"', text) if word in public}
        assert set(re.findall(r'"([^"]*)"', text)) - known <= OF_PROVIDERS
        assert not re.search("[1-9]", re.sub(r'"[^"]*"', "", text))


def test_real_logs_take_less_room_than_by_themselves(shared) -> None:
    logs = [path.read_bytes() for path in sorted((shared / "data/rig").glob("*.effects.json"))]
    small = [log for log in logs if len(log) < compression.SMALL_BYTES]
    alone = sum(len(zstandard.ZstdCompressor(level=3).compress(log)) for log in small)
    assert len(small) > 20 and sum(len(segments.compress(log)) for log in small) < alone * 0.85


@given(st.binary(max_size=200).map(lambda seed: (seed + b"x") * 60))
def test_a_segment_is_whole_pieces_and_a_rest(data: bytes) -> None:
    whole, rest = segments.split(data)
    assert whole + (rest or b"") == data and whole and rest != b""
    assert rest is None or (len(whole) % 1996 == 0 and len(rest) <= 1800)


def test_a_log_comes_out_of_segments_stored_either_way(api, shared) -> None:
    log = (shared / "data/rig/night-shift-300.effects.json").read_bytes()
    api("POST", "/api/v1/runs", b'{"run": {"id": "r1"}, "log": ' + log + b"}")
    one = Segment.objects.exclude(rest=None)[0]
    for data, rest in ((one.data, one.rest), (bytes(one.data) + bytes(one.rest), None)):
        Segment.objects.filter(pk=one.pk).update(data=data, rest=rest)
        segments.forget_kept()
        answer = api("GET", "/api/v1/runs/r1/log")
        assert json.loads(b"".join(answer.streaming_content)) == json.loads(log)
