"""The list page and the import page, over HTTP and without a browser."""

import json
import re
from decimal import Decimal

import factories
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from runs import ingest
from runs.models import Run


@pytest.fixture
def load_log(shared, project):
    def load(name: str, **names: str) -> Run:
        body = (shared / "data" / "rig" / f"{name}.effects.json").read_bytes()
        ingest.accept_log(project, body, run_id=name, **names)
        return Run.objects.get(external_id=name)

    return load


def cells(page: str, run_id: str) -> list[str]:
    row = re.search(rf'<tr data-row>.*?value="{run_id}".*?</tr>', page, re.DOTALL)
    assert row
    texts = re.findall(r"<td[^>]*>(.*?)</td>", row[0], re.DOTALL)
    return [re.sub(r"<[^>]+>", "", text).strip() for text in texts]


def test_a_start_that_no_clock_can_have_shown_is_said(member_client, project) -> None:
    sent = factories.run("r1", factories.tool(1), started_at="0001-02-03T04:05:06Z")
    ingest.accept_run(project, sent)
    page = member_client.get("/p/acme/runs").text
    assert 'title="The log says it started 0001-02-03 04:05:06.000 UTC">clock in doubt, ' in page
    assert "The log does not say when" not in page


def test_a_row_says_what_the_run_was_about_and_what_it_took(member_client, load_log) -> None:
    load_log("support-triage", agent="triage", agent_version="18", environment="production")
    row = cells(member_client.get("/p/acme/runs").text, "support-triage")
    assert row[1] == "succeeded"
    assert row[2].startswith("Hi, I see two payments of 49,00")
    assert row[3:5] == ["triage v18", "production"]
    assert row[6] == "2"
    assert row[8] == "208"


def test_a_log_without_times_says_when_it_came_in_and_not_when_it_started(
    member_client, load_log, project
) -> None:
    load_log("support-triage")
    body = factories.run("timed", factories.tool(1), started_at="2026-11-29T10:00:00Z")
    ingest.accept_run(project, body)
    page = member_client.get("/p/acme/runs").text
    assert cells(page, "support-triage")[10].startswith("received ")
    assert page.count(">received</small>") == 1


def test_unknown_figures_are_a_dash_and_never_zero(member_client, load_log) -> None:
    load_log("media-inspector")
    row = cells(member_client.get("/p/acme/runs").text, "media-inspector")
    assert row[7:10] == ["—", "—", "—"]


def test_a_sum_with_unknown_parts_is_marked(member_client, load_log) -> None:
    run = load_log("support-triage")
    Run.objects.filter(pk=run.pk).update(cost=Decimal("0.5"), cost_complete=False)
    row = cells(member_client.get("/p/acme/runs").text, "support-triage")
    assert row[9] == "≥ $0.5000"


def test_a_project_without_runs_says_how_to_send_one(member_client) -> None:
    page = member_client.get("/p/acme/runs").text
    assert "http://testserver/api/v1/effect-logs" in page
    assert "/p/acme/connect" in page


def test_filters_that_match_nothing_can_be_cleared(member_client, load_log) -> None:
    load_log("support-triage")
    page = member_client.get("/p/acme/runs?agent=nobody").text
    assert "No run matches these filters" in page
    assert "Nothing recorded here yet" not in page


def test_a_bad_filter_is_named(member_client, load_log) -> None:
    load_log("support-triage")
    answer = member_client.get("/p/acme/runs?cost_min=cheap")
    assert answer.status_code == 200
    assert "<b>cost_min</b> Enter a number." in answer.text


def test_empty_parameters_leave_the_address(member_client, load_log) -> None:
    load_log("support-triage")
    answer = member_client.get("/p/acme/runs?agent=desk&version=&tool=")
    assert answer["Location"] == "/p/acme/runs?agent=desk"


def test_pages_follow_one_another_both_ways(member_client, project, shared) -> None:
    body = json.loads((shared / "data/rig/support-triage.effects.json").read_bytes())
    for n in range(60):
        ingest.accept_log(project, json.dumps(body).encode(), run_id=f"r{n:02}")
    first = member_client.get("/p/acme/runs").text
    older = re.search(r'href="(\?after=[^"]+)" data-key="\]"', first)
    assert older
    second = member_client.get(f"/p/acme/runs{older[1]}").text
    assert second.count("<tr data-row>") == 10
    assert "r09" in second
    newer = re.search(r'href="(\?before=[^"]+)" data-key="\["', second)
    assert newer
    assert member_client.get(f"/p/acme/runs{newer[1]}").text.count("<tr data-row>") == 50


def test_the_list_costs_few_queries(member_client, load_log, django_assert_max_num_queries) -> None:
    for name in ("support-triage", "refund-memory", "sql-tool-errors", "nested-critic"):
        load_log(name)
    with django_assert_max_num_queries(11):
        member_client.get("/p/acme/runs")


def upload(client, *files: tuple[str, bytes], **fields: str):
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post("/p/acme/import", {"files": sent, **fields})


def test_files_are_taken_each_for_itself_without_scripts(member_client, shared, db) -> None:
    good = (shared / "data/rig/support-triage.effects.json").read_bytes()
    page = upload(member_client, ("good.json", good), ("bad.json", b"{"), agent="desk").text
    assert "2 effects taken" in page
    assert page.count("not taken:") == 1
    assert Run.objects.get().agent == "desk"


def test_a_file_over_the_limit_is_named_with_the_limit(member_client, settings) -> None:
    settings.INGEST_MAX_BODY_BYTES = 1000
    page = upload(member_client, ("big.json", b" " * 2000)).text
    assert "2.0 KB is more than the limit of 1.0 KB" in page


def test_no_file_at_all_is_said(member_client) -> None:
    assert "Choose at least one file." in member_client.post("/p/acme/import", {}).text


def test_one_bad_record_does_not_fail_the_others(member_client, shared) -> None:
    log = json.loads((shared / "data/rig/support-triage.effects.json").read_bytes())
    log["records"][1] = log["records"][0] | {"key": "another/model:x"}
    page = upload(member_client, ("one.json", json.dumps(log).encode())).text
    assert "1 effect taken, 1 refused" in page
    assert "effect 1" in page


def test_every_component_is_shown_on_one_page(member_client) -> None:
    page = member_client.get("/patterns")
    assert page.status_code == 200
    assert "18446744073709551615" in page.text
    parts = ('class="palette shown"', 'class="say"', 'class="verdict"', 'class="tape"')
    assert [part for part in parts if part not in page.text] == []


@pytest.mark.parametrize("query", ["", "?review=yes"])
@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ({"error_count": 6}, "6 failed effects"),
        ({"error_text": "rate limit", "error_seq": 3, "error_count": 1}, "rate limit at #3"),
    ],
)
def test_a_failure_hides_nothing_that_waits_for_review(
    member_client, project, query, failed, said
) -> None:
    ingest.accept_run(project, factories.run("r1", factories.tool(1)))
    Run.objects.update(to_review=2, comment_count=1, **failed)
    row = cells(member_client.get(f"/p/acme/runs{query}").text, "r1")[2]
    assert row.endswith(f"{said}2 divergences to review1 comment")


def test_values_offered_are_those_of_the_project(member_client, load_log) -> None:
    load_log("refund-memory", agent="refund")
    assert 'value="refund"' in member_client.get("/p/acme/filters/agent").text
    assert 'value="get_order"' in member_client.get("/p/acme/filters/tool").text
