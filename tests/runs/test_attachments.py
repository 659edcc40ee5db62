"""A medium is kept once a project, under the hash of its bytes; the record keeps what came."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from factories import body, completion, run

from runs import curate
from runs.accounts.models import Project
from runs.models import Attachment, Run
from runs.search.indexing import index_pending
from runs.tidy import tidy

PICTURE = (Path(__file__).parents[2] / "docs/images/run.png").read_bytes()
BASE64 = base64.b64encode(PICTURE).decode()


def picture(data: str = BASE64, media_type: str = "png") -> dict:
    return {"type": "image", "data": {"type": "base64", "value": data}, "media_type": media_type}


def turn(*parts: dict) -> dict:
    return {"role": "user", "content": list(parts)}


def call(*turns: dict, effect_id: int = 1) -> dict:
    record = completion(effect_id)
    record["kind"]["request"]["chat_history"] = list(turns)
    return record


def sources(client: Client, at: int = 1, run_id: str = "r1") -> list[str]:
    page = client.get(f"/p/acme/runs/{run_id}?at={at}&all=1").text
    return [source.replace("&amp;", "&") for source in re.findall(r'<img src="([^"]+)"', page)]


def send(api, run_id: str, *records: dict) -> None:
    assert api("POST", "/api/v1/runs", run(run_id, *records)).status_code == 201
    index_pending()


def test_a_picture_of_forty_turns_is_one_address_on_every_page(api, member_client):
    send(api, "r1", *(call(*[turn(picture())] * 40, effect_id=n) for n in (1, 2)))
    assert len(sources(member_client)) == 40
    [address] = {*sources(member_client, 1), *sources(member_client, 2)}
    answer = member_client.get(address)
    assert answer.content == PICTURE
    assert Attachment.objects.count() == 1


def test_it_is_kept_by_browsers_for_ever_and_may_do_nothing(api, member_client):
    send(api, "r1", call(turn(picture())))
    [address] = sources(member_client)
    answer = member_client.get(address)
    assert answer["Content-Type"] == "image/png"
    assert answer["Cache-Control"] == "private, max-age=31536000, immutable"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    again = member_client.get(address, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content, again["ETag"][0]) == (304, b"", '"')


def test_until_it_is_written_the_page_shows_the_record_itself(api, member_client):
    api("POST", "/api/v1/runs", run("r1", call(turn(picture()))))
    [address] = sources(member_client)
    assert "/effects/1/media?" in address
    assert member_client.get(address).content == PICTURE


def test_the_log_keeps_what_came_byte_for_byte(api):
    record = body(call(turn(picture())))
    api("POST", "/api/v1/effect-logs?run_id=r1", b'{"header": {}, "records": [%s]}' % record)
    index_pending()
    assert Attachment.objects.count() == 1
    assert api("GET", "/api/v1/runs/r1/log").getvalue().count(record) == 1


@pytest.mark.parametrize(
    "said",
    [
        turn(picture()),
        turn({"type": "image", "data": {"type": "raw", "value": list(PICTURE)}}),
        turn({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}),
        turn({"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"}),
        turn(
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": BASE64},
            }
        ),
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": BASE64}}]},
        turn({"type": "file", "mediaType": "image/png", "data": BASE64}),
    ],
    ids=["rig", "bytes", "chat", "responses", "anthropic", "gemini", "ai-sdk"],
)
def test_every_dialect_leads_to_the_same_attachment(api, member_client, said):
    send(api, "r1", call(said))
    send(api, "r2", call(turn(picture())))
    [address] = {*sources(member_client), *sources(member_client, run_id="r2")}
    assert member_client.get(address).content == PICTURE


def test_the_wire_shows_the_same_address(api, member_client):
    said = turn({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}})
    wire = {"1": {"request": {"model": "m", "messages": [said]}, "status": 200}}
    api("POST", "/api/v1/runs", run("r1", completion(1), wire=wire))
    index_pending()
    page = member_client.get("/p/acme/runs/r1?at=1&req=wire").text
    [address] = re.findall(r'<img src="([^"]+)"', page)
    assert member_client.get(address).content == PICTURE


def test_a_small_one_stays_in_its_record(api, member_client):
    send(api, "r1", call(turn(picture(base64.b64encode(PICTURE[:3000]).decode()))))
    assert "/effects/1/media?" in sources(member_client)[0]
    assert not Attachment.objects.exists()


def test_what_is_no_picture_is_a_download(api, member_client):
    page = base64.b64encode(b"<html><script>" * 500).decode()
    send(api, "r1", call(turn(picture(page))))
    answer = member_client.get(sources(member_client)[0])
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")


def test_knowing_the_hash_opens_nothing(api, member_client, make_member):
    send(api, "r1", call(turn(picture())))
    [address] = sources(member_client)
    other = Project.objects.create(slug="other", name="Other")
    stranger = Client()
    stranger.force_login(
        make_member("owner", "x@example.com", of=other),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    elsewhere = address.replace("/p/acme/", "/p/other/")
    etag = f'"{address.rsplit("/", 1)[1]}"'
    asked = [(address, {}), (elsewhere, {}), (elsewhere, {"If-None-Match": etag})]
    assert [stranger.get(a, headers=h).status_code for a, h in asked] == [404, 404, 404]
    assert Client().get(address).status_code == 302


def test_it_goes_with_the_last_run_that_has_it(api, member_client):
    for name in ("r1", "r2"):
        send(api, name, call(turn(picture())))
    [address] = sources(member_client)
    curate.delete_run(Run.objects.get(external_id="r1"))
    assert member_client.get(address).status_code == 200
    curate.delete_run(Run.objects.get(external_id="r2"))
    assert member_client.get(address).status_code == 404
    assert not Attachment.objects.exists()


def test_it_is_hidden_while_its_run_may_still_come_back(api, member_client):
    send(api, "r1", call(turn(picture())))
    [address] = sources(member_client)
    at = curate.mark_deleted(Run.objects.all())
    assert member_client.get(address).status_code == 404
    curate.undelete(Project.objects.get(), at)
    assert member_client.get(address).status_code == 200


def test_one_that_was_left_behind_is_tidied_away(api, project):
    send(api, "r1", call(turn(picture())))
    Attachment.objects.create(project=project, digest="0" * 64, size=1, data=b"x")
    assert tidy()["attachments"] == 1
    assert Attachment.objects.get().size == len(PICTURE)


def test_a_project_takes_its_attachments_along(api, project):
    send(api, "r1", call(turn(picture())))
    curate.delete_project_runs(project)
    project.delete()
    assert not Attachment.objects.exists()


def test_thirty_pictures_cost_a_page_one_query(api, member_client):
    many = [picture(base64.b64encode(PICTURE[: 9000 + n]).decode()) for n in range(30)]
    send(api, "r1", call(turn(*many)))
    with CaptureQueriesContext(connection) as asked:
        addresses = sources(member_client)
    assert len(set(addresses)) == 30
    assert len([query for query in asked if "runs_attachment" in query["sql"]]) == 1
