"""What is done with selected runs, over HTTP: replay, tag, export, delete and bring back."""

import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from factories import completion, run, tool

from runs import curate
from runs.models import Effect, Run, RunLabel


@pytest.fixture
def three(api) -> None:
    for name in ("r1", "r2", "r3"):
        api("POST", "/api/v1/runs", run(name, completion(1), tool(2), agent="desk", tags=["t"]))


@pytest.fixture
def admin_client(make_member) -> Client:
    client = Client()
    client.force_login(make_member("admin"), "django.contrib.auth.backends.ModelBackend")
    return client


def delete(client: Client, *ids: str) -> str:
    """The address the list is shown at afterwards."""
    answer = client.post("/p/acme/selection/deletion", {"run": ids, "back": "agent=desk&after=1.1"})
    return answer["Location"]


def undo(client: Client, address: str) -> str:
    page = client.get(address).text
    named = re.search(r'name="deleted" value="([^"]+)"', page)
    assert named
    return client.post("/p/acme/selection/undo", {"deleted": named[1]}, follow=True).text


def test_what_goes_is_named_before_it_goes(admin_client, three) -> None:
    page = admin_client.get("/p/acme/selection/deletion?run=r1&run=r2&run=nobody").text
    assert "<b>2</b> runs" in page
    assert "<b>4</b> effects" in page
    assert "of recorded data" in page
    assert Run.objects.count() == 3


def test_replays_are_named_among_what_goes(admin_client, three, api) -> None:
    asked = json.dumps({"run": "r1", "mode": "reconstruct"}).encode()
    assert api("POST", "/api/v1/replays", asked).status_code == 201
    assert "<b>1</b> replay<" in admin_client.get("/p/acme/selection/deletion?run=r1").text
    delete(admin_client, "r1")
    assert api("GET", "/api/v1/replays").json()["results"] == []
    curate.undelete(Run.everything.first().project, Run.everything.first().deleted_at)
    assert len(api("GET", "/api/v1/replays").json()["results"]) == 1


@pytest.mark.parametrize("path", ["r1", "r1/effects", "r1/effects/1", "r1/log", "r1/export"])
def test_a_deleted_run_is_hidden_at_once(admin_client, three, api, path: str) -> None:
    assert delete(admin_client, "r1", "r2").startswith("/p/acme/runs?agent=desk&deleted=")
    assert api("GET", f"/api/v1/runs/{path}").status_code == 404
    assert admin_client.get(f"/p/acme/runs/{path}").status_code == 404
    assert [one["id"] for one in api("GET", "/api/v1/runs?tag=t").json()["results"]] == ["r3"]


def test_what_a_late_sender_says_of_a_deleted_run_is_refused(admin_client, three, api) -> None:
    delete(admin_client, "r1")
    answer = api("POST", "/api/v1/runs", run("r1", completion(1)))
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "deleted")


def test_a_deletion_is_taken_back_whole_within_the_minute(admin_client, three, api) -> None:
    assert "2 runs brought back." in undo(admin_client, delete(admin_client, "r1", "r2"))
    assert len(api("GET", "/api/v1/runs").json()["results"]) == 3
    assert curate.purge_deleted() == 0
    assert api("POST", "/api/v1/runs", run("r1", completion(1), tool(2))).status_code < 300


def test_after_the_minute_it_is_gone_for_good(admin_client, three, api, monkeypatch) -> None:
    address = delete(admin_client, "r1")
    later = timezone.now() + timedelta(seconds=curate.UNDO_SECONDS + 1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert 'name="deleted"' in admin_client.get(address).text
    assert "The minute is over" in undo(admin_client, address)
    assert curate.purge_deleted() == 1
    assert (Run.everything.count(), Effect.objects.count()) == (2, 4)
    assert api("POST", "/api/v1/runs", run("r1", completion(1))).status_code == 410


def test_only_an_admin_deletes(member_client, three) -> None:
    assert member_client.get("/p/acme/selection/deletion?run=r1").status_code == 403
    assert member_client.post("/p/acme/selection/deletion", {"run": "r1"}).status_code == 403
    assert "Delete…" not in member_client.get("/p/acme/runs").text
    assert Run.objects.count() == 3


def test_a_tag_is_put_on_and_taken_off_several(member_client, three, api) -> None:
    sent = {"run": ["r1", "r3"], "tag": " vip ", "col": ["tags"]}
    answer = member_client.post("/p/acme/selection/tags", sent, headers={"HX-Request": "true"})
    assert json.loads(answer["HX-Trigger"])["toast"] == "“vip” put on 2 runs."
    assert answer.text.count('<span class="tag muted">vip</span>') == 2
    member_client.post("/p/acme/selection/tags", {"run": "r3", "tag": "vip", "off": "1"})
    assert [one["id"] for one in api("GET", "/api/v1/runs?tag=vip").json()["results"]] == ["r1"]


BAD_TAGS = [
    {"run": "r1", "tag": " "},
    {"run": "r1", "tag": "a\0"},
    {"run": "r1", "tag": "\u202e\u200b"},
    {"run": "r1", "tag": "x" * 201},
    {"run": "nobody", "tag": "a"},
]


@pytest.mark.parametrize("sent", BAD_TAGS)
def test_a_bad_tag_is_refused(member_client, three, sent) -> None:
    answer = member_client.post("/p/acme/selection/tags", sent, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert RunLabel.objects.filter(kind="tag").count() == 3


def test_the_selected_come_out_as_they_went_in(member_client, three, api) -> None:
    answer = member_client.get("/p/acme/selection/export?run=r1&run=r3")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    assert archive.namelist() == ["001-r1.run.json", "002-r3.run.json"]
    one = b"".join(api("GET", "/api/v1/runs/r3/export").streaming_content)
    assert archive.read("002-r3.run.json") == one


def test_export_holds_a_part_of_a_big_run_at_a_time(member_client, api) -> None:
    import random

    noise = random.Random(1).randbytes(3_000_000).hex()
    records = [tool(n, result=noise[n * 100_000 : (n + 1) * 100_000]) for n in range(1, 40)]
    api("POST", "/api/v1/runs", run("big", *records))
    pieces = list(member_client.get("/p/acme/selection/export?run=big").streaming_content)
    assert len(pieces) > 4
    assert max(map(len, pieces)) < 1_000_000


def test_one_selected_run_leads_to_its_replay(member_client, three) -> None:
    answer = member_client.get("/p/acme/selection/replay?run=r2")
    assert answer["Location"] == "/p/acme/runs/r2/replay"


def test_the_way_back_is_never_another_site(admin_client, three) -> None:
    answer = admin_client.post(
        "/p/acme/selection/undo", {"deleted": "x", "back": "//evil.example/?agent=a"}
    )
    assert answer["Location"] == "/p/acme/runs?view=all"
