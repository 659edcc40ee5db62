"""A run as one HTML file: all of it, and nothing that leads outside."""

import json
import re
from pathlib import Path

import pytest
from factories import body, completion, log, tool

from runs import ingest

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
