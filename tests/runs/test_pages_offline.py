"""A run as one HTML file: all of it, and nothing that leads outside."""

import json
import re
from pathlib import Path

import pytest
from django.utils import timezone
from factories import body, completion, log, tool

from runs import ingest
from runs.models import Run
from runs.views import run_export

PAGE = "/p/acme/runs/run/offline"
LOGS = ("rig/refund-memory", "rig/sql-tool-errors", "rig/media-inspector", "rig/unicode-edges")


def file_of(client) -> str:
    return b"".join(client.get(PAGE).streaming_content).decode()


@pytest.mark.parametrize("name", LOGS)
def test_real_runs_are_whole_and_lead_nowhere(member_client, project, shared, name: str) -> None:
    sent = Path(shared / "data" / f"{name}.effects.json").read_bytes()
    ingest.accept_log(project, sent, run_id="run")
    page = file_of(member_client)
    assert page.count('<article class="effect"') == len(json.loads(sent)["records"])
    addresses = re.findall(r'\s(?:href|src|action|srcset)="([^"]*)"', page)
    assert [one for one in addresses if not one.startswith(("#e", "data:image/"))] == []
    assert "<script" not in page and "url(" not in page and "@import" not in page


def test_a_memory_without_messages_is_said_to_be_loaded(member_client, project, shared) -> None:
    sent = Path(shared / "data/rig/refund-memory.effects.json").read_bytes()
    ingest.accept_log(project, sent, run_id="run")
    for page in (file_of(member_client), member_client.get("/p/acme/runs/run?at=1").text):
        assert "loaded: no messages" in page
        assert "An empty answer." not in page


def test_a_long_text_is_there_to_its_last_character(member_client, project) -> None:
    said = "x y " * 100_000
    records = [completion(1, "Q?", said + "fin-said"), tool(2, result=said + "fin-result")]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    page = file_of(member_client)
    assert "fin-said" in page and "fin-result" in page
    assert "only the start" not in page


def test_what_a_model_said_stays_text(member_client, project) -> None:
    hostile = '</style></title><script>alert(1)</script><img src="https://x.test/a.png">'
    records = [completion(1, hostile, hostile), tool(2, hostile, result=hostile)]
    ingest.accept_log(project, body(log(*records)), run_id="run", agent=hostile)
    page = file_of(member_client)
    assert "<script" not in page and "<img" not in page
    assert page.count("</style>") == 1


def test_it_is_a_file_to_keep_that_may_do_nothing(member_client, project) -> None:
    ingest.accept_log(project, body(log(completion(1))), run_id="run")
    answer = member_client.get(PAGE)
    assert answer["Content-Disposition"] == 'attachment; filename="run.html"'
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert b"".join(answer.streaming_content).count(b"Content-Security-Policy") == 1


def test_queries_do_not_grow_with_each_effect(
    member_client, project, django_assert_max_num_queries
) -> None:
    records = [completion(n) if n % 3 else tool(n) for n in range(1, 601)]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    with django_assert_max_num_queries(40):
        assert file_of(member_client).count("<article") == 600


def test_the_envelope_can_be_sent_again(member_client, project) -> None:
    ingest.accept_log(project, body(log(completion(1))), run_id="run", agent="a")
    answer = member_client.get("/p/acme/runs/run/envelope")
    sent = json.loads(b"".join(answer.streaming_content))
    assert (sent["run"]["id"], len(sent["log"]["records"])) == ("run", 1)


# --- A very long run, and one that goes meanwhile ------------------------------------------------


@pytest.fixture
def few_at_once(monkeypatch) -> None:
    monkeypatch.setattr(run_export, "EFFECTS", 4)
    monkeypatch.setattr(run_export, "CHUNK", 2)


@pytest.fixture
def ten(project, few_at_once) -> Run:
    """A run of ten effects, of which one file has four."""
    records = [completion(n, said=f"said {n}.") for n in range(1, 11)]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    return Run.objects.get(external_id="run")


@pytest.mark.parametrize(("start", "shown"), [("", [1, 4]), ("5", [5, 8]), ("9", [9, 10])])
def test_a_long_run_is_in_parts_that_say_which(member_client, ten, start, shown) -> None:
    answer = member_client.get(f"{PAGE}?from={start}")
    page = b"".join(answer.streaming_content).decode()
    first, last = shown
    assert re.findall(r'id="e(\d+)"', page) == [str(n) for n in range(first, last + 1)]
    assert page.count(f"effects #{first} to #{last} of 10") == 1
    assert page.count("<li>") == 10 and "The log, under Export" in page
    assert (f"from #{last + 1} has the next" in page) == (last < 10)


def test_a_file_of_a_whole_run_says_nothing_of_parts(member_client, project) -> None:
    ingest.accept_log(project, body(log(completion(1))), run_id="run")
    assert "whole" not in file_of(member_client).partition("<main>")[2]


@pytest.mark.parametrize("start", ["0", "-1", "11", "x", "99999999999", "\u0661"])
def test_a_start_that_is_not_there_is_the_first(member_client, ten, start: str) -> None:
    answer = member_client.get(PAGE, {"from": start})
    assert 'id="e1"' in b"".join(answer.streaming_content).decode()


@pytest.mark.parametrize("chunks", [1, 3, 13])
def test_a_run_deleted_meanwhile_is_said_to_be(member_client, ten, chunks: int) -> None:
    parts = iter(member_client.get(PAGE).streaming_content)
    came = [next(parts).decode()]
    while came[-1].count("said") < 1 and len(came) < min(chunks, 4):
        came.append(next(parts).decode())
    Run.everything.filter(pk=ten.pk).update(deleted_at=timezone.now())
    page = "".join([*came, *(part.decode() for part in parts)])
    assert "This run was deleted while this file was made" in page
    assert page.endswith("</main></body></html>\n")


def test_what_was_read_before_a_run_was_deleted_is_there(member_client, ten) -> None:
    parts = iter(member_client.get(PAGE).streaming_content)
    page = ""
    while "said 1." not in page.partition("</ol>")[2]:
        page += next(parts).decode()
    Run.everything.filter(pk=ten.pk).delete()
    page += "".join(part.decode() for part in parts)
    assert re.search(r"Effects #1 to #[12] are above; those behind are missing", page)


def test_a_run_full_of_giants_is_cut_where_the_file_is_full(
    member_client, ten, monkeypatch
) -> None:
    monkeypatch.setattr(run_export, "ITEMS", 4)
    page = file_of(member_client)
    assert re.findall(r'id="e(\d+)"', page) == ["1", "2"]
    assert "Effects #1 to #2 of 10 are in this file whole" in page


def test_the_page_of_a_long_run_asks_from_where(member_client, project) -> None:
    ingest.accept_log(project, body(log(completion(1))), run_id="run")
    Run.objects.filter(external_id="run").update(last_seq=50_000)
    page = member_client.get("/p/acme/runs/run").text
    assert 'name="from"' in page and "2,000 effects from #" in page
