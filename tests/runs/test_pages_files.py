"""Recorded bytes as files: exact, and unable to do anything in a browser."""

import base64
import json
import tracemalloc

import pytest
from factories import body, completion

from runs import ingest
from runs.messages.media import sniff

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="  # noqa: E501
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>").decode()
AT = "/kind/request/chat_history/0/content"


def run_with(project, *parts: dict) -> None:
    request = {"chat_history": [{"role": "user", "content": list(parts)}]}
    choice = {"outcome": "completion", "choice": [], "usage": {}, "origin": {}, "raw": None}
    kind = {"effect": "completion", "stream": False, "request": request}
    record = {"tool_output": None, "id": 1, "key": "a/model:m", "kind": kind}
    header = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
    log = {"header": header, "records": [record | {"outcome": {"Ok": choice}}]}
    ingest.accept_log(project, json.dumps(log).encode(), run_id="run")


def image(value: object, kind: str = "base64", media_type: str = "png") -> dict:
    return {"type": "image", "data": {"type": kind, "value": value}, "media_type": media_type}


def fetched(client, index: int = 0):
    return client.get(f"/p/acme/runs/run/effects/1/media?at={AT}/{index}")


def test_a_picture_is_served_as_itself_and_may_do_nothing(member_client, project) -> None:
    run_with(project, image(PNG))
    answer = fetched(member_client)
    assert answer.content == base64.b64decode(PNG)
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "private" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "part",
    [image(SVG, media_type="svg"), image(base64.b64encode(b"<html>").decode()), image("AAAA")],
)
def test_what_is_no_safe_picture_is_a_download_whatever_it_calls_itself(
    member_client, project, part
) -> None:
    run_with(project, part)
    answer = fetched(member_client)
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")


def test_bytes_as_a_list_of_numbers_are_served_too(member_client, project) -> None:
    run_with(project, image(list(base64.b64decode(PNG)), "raw"))
    assert fetched(member_client)["Content-Type"] == "image/png"


@pytest.mark.parametrize(
    "part",
    [
        image("not base64!", "base64"),
        image("https://example.com/a.png", "url"),
        image([1, 999], "raw"),
        image(["x"], "raw"),
        {"type": "text", "text": PNG},
    ],
)
def test_media_that_is_not_in_the_recording_is_not_there(member_client, project, part) -> None:
    run_with(project, part)
    assert fetched(member_client).status_code in (200, 404)
    assert fetched(member_client).get("Content-Type", "").partition("/")[0] != "image"


def test_raw_is_the_record_byte_for_byte(member_client, project, shared) -> None:
    body = (shared / "data/rig/unicode-edges.effects.json").read_bytes()
    ingest.accept_log(project, body, run_id="run")
    answer = member_client.get("/p/acme/runs/run/effects/1/raw?download=1")
    assert answer.content in body
    assert answer.content.startswith(b"{")
    assert answer["Content-Disposition"] == 'attachment; filename="run-1.json"'
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_a_member_of_the_record_is_its_very_bytes(member_client, project, shared) -> None:
    body = (shared / "data/rig/options-schema.effects.json").read_bytes()
    ingest.accept_log(project, body, run_id="run")
    answer = member_client.get("/p/acme/runs/run/effects/1/raw?part=kind")
    assert answer.content in body
    assert b"0.0000001" in answer.content or b"1e-7" in answer.content


def test_the_wire_can_be_read_in_its_own_dialect(member_client, project) -> None:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "over the wire"}]}
    message = {"role": "assistant", "content": "and back"}
    wire = {"method": "POST", "url": "https://x.example/v1", "status": 200, "request": request}
    wire["response"] = {"choices": [{"message": message, "finish_reason": "stop"}]}
    asked = {"effect": "completion", "stream": False, "request": {"chat_history": []}}
    ok = {"outcome": "completion", "choice": [], "usage": {}, "origin": {}, "raw": None}
    record = {"tool_output": None, "id": 7, "key": "a/model:m", "kind": asked}
    log = {"header": {}, "records": [record | {"outcome": {"Ok": ok}}]}
    body = {"run": {"id": "run"}, "log": log, "wire": {"7": wire}}
    ingest.accept_run(project, json.dumps(body).encode())
    page = member_client.get("/p/acme/runs/run?at=1&req=wire&tab=wire").text
    assert "over the wire" in page
    assert "and back" in page
    raw = member_client.get("/p/acme/runs/run/effects/1/raw?part=wire")
    assert json.loads(raw.content) == wire


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVE", "audio/wav"),
        (b"<svg", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_kinds_are_told_by_their_first_bytes(start: bytes, kind: str | None) -> None:
    assert sniff(start) == kind


@pytest.mark.parametrize(
    "part", ["\r\nSet-Cookie: a=b", '"; filename="evil.bat', "€", "\0", "k" * 9000]
)
def test_the_name_of_a_file_is_no_ones_to_choose(member_client, project, part):
    run_with(project)
    asked = {"part": part, "download": "1"}
    answer = member_client.get("/p/acme/runs/run/effects/1/raw", asked)
    assert answer["Content-Disposition"] == 'attachment; filename="run-1.json"'


@pytest.mark.parametrize("tab", ["?at=1&tab=json", "?at=1&tab=json&q=deepest"])
def test_a_page_of_what_nests_deeply_holds_no_margins_of_all_of_it(api, member_client, tab):
    """Two bytes of each value, and hundreds of blanks before it."""
    deep = "[" * 230 + "1," * 300_000 + '"deepest"' + "]" * 230
    record = body(completion(1) | {"x": 0}).replace(b'"raw": null', b'"raw": ' + deep.encode())
    api("POST", "/api/v1/runs", b'{"run": {"id": "r1"}, "log": {"records": [%b]}}' % record)
    member_client.get(f"/p/acme/runs/r1{tab}")
    tracemalloc.start()
    page = member_client.get(f"/p/acme/runs/r1{tab}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert page.status_code == 200 and peak < 120_000_000


def test_a_value_that_nests_deeply_is_whole_on_one_line(api, member_client):
    deep = "[" * 200 + "1," * 100_000 + "1" + "]" * 200
    record = body(completion(1) | {"x": 0}).replace(b'"x": 0', b'"x": ' + deep.encode())
    api("POST", "/api/v1/runs", b'{"run": {"id": "r1"}, "log": {"records": [%b]}}' % record)
    told = member_client.get("/p/acme/runs/r1/effects/1/value?at=/x").content
    assert told == deep.encode()
