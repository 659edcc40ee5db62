"""Bodies before anything is read of them: too large, compressed, cut off, of another length."""

import gzip
import io
import tracemalloc

import pytest
import zstandard
from django.test import Client
from factories import body, log, tool
from sent import error, send

from runs.models import Run


@pytest.fixture
def small_limits(settings):
    settings.INGEST_MAX_BODY_BYTES = 100_000
    settings.INGEST_MAX_DECODED_BYTES = 200_000


def test_a_body_over_the_limit_is_413_with_the_limit(api, small_limits):
    answer = send(api, b" " * 100_001)
    assert error(answer) == (413, "too_large", None)
    assert answer.json()["error"]["limit"] == 100_000


def pack(encoding: str, data: bytes) -> bytes:
    return gzip.compress(data) if encoding == "gzip" else zstandard.compress(data)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_zip_bomb_is_413_and_memory_stays_flat(api, small_limits, encoding):
    bomb = pack(encoding, b" " * 50_000_000)
    send(api, b"")  # so that no import is counted
    tracemalloc.start()
    answer = send(api, bomb, **{"Content-Encoding": encoding})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error(answer)[:2] == (413, "too_large")
    assert answer.json()["error"]["limit"] == 200_000
    assert peak < 8_000_000


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_body_is_taken(api, encoding):
    sent = pack(encoding, body(log(tool(1))))
    assert send(api, sent, **{"Content-Encoding": encoding}).status_code == 201


def test_gzip_members_may_follow_one_another(api):
    data = body(log(tool(1)))
    sent = gzip.compress(data[:50]) + gzip.compress(data[50:])
    assert send(api, sent, **{"Content-Encoding": "gzip"}).status_code == 201


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_broken_compression_is_named(api, encoding):
    whole = pack(encoding, body(log(*(tool(n) for n in range(1, 400)))))
    for sent in (whole[: len(whole) // 2], b"no compression at all"):
        assert error(send(api, sent, **{"Content-Encoding": encoding}))[0] == 400


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "x" * 5000])
def test_another_encoding_is_415_naming_those_taken(api, encoding):
    answer = send(api, b"{}", **{"Content-Encoding": encoding})
    assert error(answer)[:2] == (415, "unsupported_encoding")
    assert answer.json()["error"]["accepted"] == ["identity", "gzip", "zstd"]


def test_fewer_bytes_than_announced_are_named(api_key):
    answer = Client().generic(
        "POST",
        "/api/v1/effect-logs",
        headers={"Authorization": f"Bearer {api_key}"},
        CONTENT_LENGTH="5000",
        **{"wsgi.input": io.BytesIO(b'{"header":')},
    )
    assert error(answer)[:2] == (400, "incomplete")


def test_a_chunked_body_is_taken(api_key):
    answer = Client().generic(
        "POST",
        "/api/v1/effect-logs?run_id=r1",
        headers={"Authorization": f"Bearer {api_key}", "Transfer-Encoding": "chunked"},
        **{"wsgi.input": io.BytesIO(body(log(tool(1))))},
    )
    assert answer.status_code == 201


@pytest.mark.parametrize("length", ["", "many", "-5"])
def test_a_wrong_content_length_is_no_500(api, length):
    assert send(api, body(log(tool(1))), **{"Content-Length": length}).status_code in (201, 400)


def test_the_content_type_of_curl_is_taken(api):
    kind = "application/x-www-form-urlencoded"
    assert send(api, body(log(tool(1))), **{"Content-Type": kind}).status_code == 201


@pytest.mark.parametrize("odd", [".", ".."])
def test_an_id_no_address_can_hold_is_422(api, odd):
    answer = api("POST", f"/api/v1/effect-logs?run_id={odd}", b'{"header": {}, "records": []}')
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "run_id"
    assert Run.objects.count() == 0
