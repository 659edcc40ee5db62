"""The page of a run: whole and as the part htmx asks for, for whom it is, and for any log."""

import json
import os
from pathlib import Path

import pytest
from django.test import Client
from factories import batch, completion, run, tool

from runs import ingest

SHARED = os.environ.get("REWYN_SHARED", Path(__file__).parents[3] / "shared")
ROOT = Path(SHARED) / "data"
LOGS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("rig*/**/*.effects.json"))
HTMX = {"HX-Request": "true"}


@pytest.fixture
def load_log(shared, project):
    def load(name: str) -> str:
        body = (shared / "data" / name).read_bytes()
        return ingest.accept_log(project, body, run_id="run", agent="agent").run_id

    return load


@pytest.fixture
def keep(project):
    """keep(record, …) -> stores a run `run` of these records."""

    def store(*records: dict, header: dict | None = None) -> None:
        base = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
        log = {"header": base | (header or {}), "records": list(records)}
        ingest.accept_log(project, json.dumps(log).encode(), run_id="run")

    return store


def tool_result(text: str, number: int = 1) -> dict:
    value = [{"type": "text", "text": text}]
    ok = {"outcome": "tool_result", "result": {"status": "success", "value": value}}
    kind = {"effect": "tool_call", "name": "read", "args": '{"n":1e2}'}
    record = {"tool_output": {}, "id": number, "key": "a/tool:read#0", "kind": kind}
    return record | {"outcome": {"Ok": ok}}


@pytest.mark.parametrize("name", LOGS)
def test_every_effect_of_every_real_log_has_its_page(member_client, load_log, name: str) -> None:
    load_log(name)
    total = json.loads((ROOT / name).read_text())["records"]
    for seq in {*range(1, min(len(total), 12) + 1), len(total)} - {0}:
        for tabs in ("", "&req=json&tab=json", "&req=changes&tab=stream", "&req=tools"):
            page = member_client.get(f"/p/acme/runs/run?at={seq}{tabs}", headers=HTMX)
            assert page.status_code == 200
            assert f'data-at="{seq}"' in page.text


def test_a_part_and_the_whole_page_come_from_one_address(member_client, load_log) -> None:
    load_log("rig/refund-memory.effects.json")
    whole = member_client.get("/p/acme/runs/run?at=3")
    part = member_client.get("/p/acme/runs/run?at=3", headers=HTMX)
    assert "<html" in whole.text
    assert "<html" not in part.text
    assert 'id="transport"' in part.text
    assert "HX-Request" in whole["Vary"]
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/p/acme/runs/none", 404),
        ("/p/none/runs/run", 404),
        ("/p/acme/runs/%00", 404),
        ("/p/acme/runs/a%20b", 404),
        ("/p/acme/runs/run/effects/99999999999999999999", 404),
        ("/p/acme/runs/run?at=999", 200),
        ("/p/acme/runs/run?at=0", 200),
        ("/p/acme/runs/run?at=-1&tab=nonsense&req=%00", 200),
        ("/p/acme/runs/run?at=99999999999999999999", 200),
        ("/p/acme/runs/run/steps?at=999", 404),
        ("/p/acme/runs/run/effects/999", 404),
        ("/p/acme/runs/run/effects/999/raw", 404),
        ("/p/acme/runs/run/effects/1/raw?part=wire", 404),
        ("/p/acme/runs/run/effects/1/value?at=/no/such/thing", 404),
        ("/p/acme/runs/run/effects/1/value?at=kind", 200),
        ("/p/acme/runs/run/effects/1/media?at=/kind", 404),
        ("/p/acme/filters/nonsense", 404),
    ],
)
def test_bad_addresses_are_answered_plainly(member_client, load_log, address, status) -> None:
    load_log("rig/refund-memory.effects.json")
    assert member_client.get(address).status_code == status


PAGES = [
    "/p/acme/runs",
    "/p/acme/filters/agent",
    "/p/acme/runs/run",
    "/p/acme/runs/run/steps",
    "/p/acme/runs/run/log",
    "/p/acme/runs/run/effects/1",
    "/p/acme/runs/run/effects/1/raw",
    "/p/acme/runs/run/effects/1/value?at=/kind",
    "/p/acme/runs/run/effects/1/media?at=/kind",
    "/p/acme/import",
]


@pytest.mark.parametrize("address", PAGES)
def test_a_stranger_gets_what_nobody_gets(make_member, load_log, address: str) -> None:
    from runs.accounts.models import Project

    load_log("rig/refund-memory.effects.json")
    stranger = Client()
    other = Project.objects.create(slug="other", name="Other")
    user = make_member("owner", "stranger@example.com", of=other)
    stranger.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert stranger.get(address).status_code == 404


def test_a_viewer_reads_but_does_not_import(make_member, load_log) -> None:
    load_log("rig/refund-memory.effects.json")
    viewer = Client()
    viewer.force_login(make_member("viewer"), backend="django.contrib.auth.backends.ModelBackend")
    assert viewer.get("/p/acme/runs/run").status_code == 200
    assert viewer.get("/p/acme/import").status_code == 403


def test_an_effect_by_itself_leads_into_its_run(member_client, load_log) -> None:
    load_log("rig/refund-memory.effects.json")
    answer = member_client.get("/p/acme/runs/run/effects/4")
    assert answer["Location"] == "/p/acme/runs/run?at=4"


def test_the_costliest_call_is_one_step_away(member_client, keep) -> None:
    # gpt-4o: 2.50 and 10 USD a million tokens in and out: 0.0035, 0.0101, unknown, 0.0101
    told = [(1000, 100), (40, 1000), None, (40, 1000)]
    usages = [{"input_tokens": t[0], "output_tokens": t[1]} if t else {} for t in told]
    keep(*(completion(n, usage=usage) for n, usage in enumerate(usages, 1)))
    page = member_client.get("/p/acme/runs/run").content.decode()
    assert 'href="/p/acme/runs/run/costliest"' in page
    assert member_client.get("/p/acme/runs/run/costliest")["Location"] == "/p/acme/runs/run?at=2"


def test_a_run_of_unknown_cost_leads_to_no_costliest_call(member_client, keep) -> None:
    keep(tool_result("x"))
    assert "costliest" not in member_client.get("/p/acme/runs/run").content.decode()


def test_the_log_is_given_back_as_it_came(member_client, load_log, shared) -> None:
    load_log("rig/unicode-edges.effects.json")
    answer = member_client.get("/p/acme/runs/run/log")
    log = json.loads(b"".join(answer.streaming_content))
    sent = json.loads((shared / "data/rig/unicode-edges.effects.json").read_bytes())
    assert log == sent
    assert "attachment" in answer["Content-Disposition"]


def test_a_long_text_is_cut_says_its_size_and_leads_to_the_whole(member_client, keep) -> None:
    said = "début " + "x" * 300_000 + " fin"
    keep(tool_result(said))
    page = member_client.get("/p/acme/runs/run").text
    assert len(page) < 80_000
    assert "only the start of 300,010 characters" in page
    at = "/outcome/Ok/result/value/0/text"
    whole = member_client.get(f"/p/acme/runs/run/effects/1/value?at={at}")
    assert whole.text == said


def test_numbers_keep_their_digits_on_the_page(member_client, keep) -> None:
    keep(tool_result("ok"))
    assert "&quot;n&quot;: 1e2" in member_client.get("/p/acme/runs/run").text


def test_one_giant_does_not_slow_the_page_of_the_call_before(
    member_client, project, django_assert_max_num_queries, shared
) -> None:
    log = json.loads((shared / "data/rig/big-log-tool-result.effects.json").read_bytes())
    ingest.accept_log(project, json.dumps(log).encode(), run_id="run")
    member_client.get("/p/acme/runs/run?at=1")
    with django_assert_max_num_queries(8):
        page = member_client.get("/p/acme/runs/run?at=2")
    assert len(page.content) < 100_000


def test_text_that_no_page_could_hold_is_shown_by_pictures(member_client, keep) -> None:
    keep(tool_result("nul \x00 escape \x1b lone \ud800 end"))
    page = member_client.get("/p/acme/runs/run")
    assert "nul ␀ escape ␛ lone \ufffd end" in page.text
    page = member_client.get("/p/acme/runs/run?req=json&tab=json")
    assert "nul \\u0000 escape \\u001b lone \\ud800 end" in page.text


HALF = "\ud800"
ODD_PLACES = [
    completion(1) | {"outcome": {"Ok": {**completion(1)["outcome"]["Ok"], "finish_reason": HALF}}},
    tool_result("x") | {"outcome": {"Ok": {"outcome": "tool_result", "result": {"status": HALF}}}},
    tool_result("x") | {"outcome": {"Ok": {"outcome": "memory", "memory": HALF}}},
    tool_result("x") | {"outcome": {"Ok": {"outcome": "retrieved", "retrieved": HALF}}},
    completion(1) | {"kind": {**completion(1)["kind"], "request": {
        "chat_history": [{"role": "system", "content": HALF}]}}},
]  # fmt: skip


@pytest.mark.parametrize("page", ["run", "run/offline", "run/replay", "run?req=json&tab=json"])
@pytest.mark.parametrize("place", range(len(ODD_PLACES)))
def test_half_a_pair_costs_a_character_not_the_page(member_client, keep, place, page) -> None:
    keep(ODD_PLACES[place])
    answer = member_client.get(f"/p/acme/runs/{page}")
    assert answer.status_code == 200
    assert b"</html>" in b"".join(answer)


def test_what_a_model_said_is_never_markup(member_client, keep) -> None:
    keep(tool_result("<script>alert(1)</script>"))
    assert "<script>alert" not in member_client.get("/p/acme/runs/run").text


def test_the_policy_allows_nothing_inline(member_client, keep) -> None:
    keep(tool_result("ok"))
    page = member_client.get("/p/acme/runs/run")
    assert "unsafe" not in page["Content-Security-Policy"]
    assert " style=" not in page.text
    assert "<style" not in page.text


def test_a_log_without_times_says_that_its_tape_goes_by_position(member_client, keep) -> None:
    keep(tool_result("a"), tool_result("b", 2))
    assert "by position, no times recorded" in member_client.get("/p/acme/runs/run").text


def test_times_too_few_to_go_by_are_not_told_as_none(member_client, api) -> None:
    times = {"1": {"started_at": "2026-11-29T12:00:00Z"}}
    api("POST", "/api/v1/runs", run("run", tool(1), times=times))
    page = member_client.get("/p/acme/runs/run").text
    assert "by position, too few times recorded" in page
    assert "no times" not in page


def test_a_run_without_effects_says_so(member_client, load_log) -> None:
    load_log("rig/mute-denied.effects.json")
    assert "This run has no effects" in member_client.get("/p/acme/runs/run").text


def test_a_position_behind_the_last_leads_to_the_last(member_client, load_log) -> None:
    load_log("rig/refund-memory.effects.json")
    page = member_client.get("/p/acme/runs/run?at=99&family=tool").text
    assert "There is no effect #99" in page
    assert '<a href="?at=9&amp;family=tool">#9</a>' in page


def test_a_position_of_which_nothing_came_yet_says_so(member_client, api) -> None:
    api("POST", "/api/v1/runs", run("gaps"))
    api("POST", "/api/v1/runs/gaps/effects", batch(tool(3), positions=[3]))
    assert "Effect #2 is not here yet" in member_client.get("/p/acme/runs/gaps?at=2").text


def test_the_error_items_of_a_stream_are_in_their_places(member_client, load_log) -> None:
    load_log("rig/radio-stream-error.effects.json")
    page = member_client.get("/p/acme/runs/run?at=1&tab=stream").text
    assert page.count('<tr class="err"') == 1
    assert "upstream closed the connection" in page


def test_stepping_costs_few_queries_however_long_the_run(
    member_client, load_log, django_assert_max_num_queries
) -> None:
    load_log("rig/night-shift-300.effects.json")
    member_client.get("/p/acme/runs/run?at=2")
    with django_assert_max_num_queries(7):
        member_client.get("/p/acme/runs/run?at=301", headers=HTMX)


def test_a_page_of_a_short_run_reads_its_effects_at_once(
    member_client, load_log, django_assert_max_num_queries
) -> None:
    load_log("rig/refund-memory.effects.json")
    member_client.get("/p/acme/runs/run?at=1")
    with django_assert_max_num_queries(8):
        member_client.get("/p/acme/runs/run?at=4")
    with django_assert_max_num_queries(7):
        member_client.get("/p/acme/runs/run?at=5", headers=HTMX)
