"""What is on a page is seen whole, at every width and whatever a recording holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import factories
import pytest
from django.urls import reverse

from replay import jobs
from replay.experiments import datasets
from replay.models import Replay
from replay.notifications import bounds
from replay.notifications import keeping as notifications
from runs import curate, ingest
from runs.accounts import keys
from runs.accounts.models import Membership, Project, Role, Scope, User
from runs.models import Run, SavedView
from runs.search import indexing

pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_database,
    pytest.mark.django_db(transaction=True),
]

OVERHANGING = """() => {
    const inside = (one) => one.closest(".pane, .list, .planner, main").getBoundingClientRect();
    const kinds = ".tabs a, .chip, .hint, .field, .find .btn, .note code, .outcomes td, dd";
    const all = [...document.querySelectorAll(`main :is(${kinds})`)]
        .filter((one) => one.checkVisibility());
    return all
        .filter((one) => one.getBoundingClientRect().right > inside(one).right + 1)
        .map((one) => one.textContent.trim().slice(0, 40));
}"""
CUT = """(all) => all.filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.textContent)"""
BOXES = """(all) => all.map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { left, right, top, bottom };
})"""


def resized(page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})


def overhanging(page) -> list[str]:
    """What juts out of its pane, or of the page."""
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return page.evaluate(OVERHANGING) + (["the page"] if wide else [])


@pytest.fixture
def altered_log(shared, project):
    """altered_log("sql-tool-errors", old=new, …) -> the id of that real log's run with other
    words."""

    def load(name: str, **words: str) -> str:
        text = (shared / "data" / "rig" / f"{name}.effects.json").read_text()
        for old, new in words.items():
            text = text.replace(old, new)
        return ingest.accept_log(project, text.encode(), run_id=name).run_id

    return load


@pytest.fixture
def noted(project):
    """noted(*texts) -> the id of a run with an effect for each, asked and answered with it."""

    def load(*texts: object) -> str:
        records = [
            {"tool_output": None, "id": n, "key": "host/note",
             "outcome": {"Ok": {"outcome": "custom", "payload": text}},
             "kind": {"effect": "custom", "kind": "note", "payload": text}}
            for n, text in enumerate(texts, 1)
        ]  # fmt: skip
        header = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
        body = json.dumps({"header": header, "records": records}, ensure_ascii=False).encode()
        return ingest.accept_log(project, body, run_id="noted").run_id

    return load


def test_every_tab_is_in_sight(page, load_log) -> None:
    address = f"/p/acme/runs/{load_log('refund-memory')}?at=5&req=json"
    for width in (420, 1024, 1280):
        resized(page, width)
        page.goto(address)
        assert page.locator("[aria-label=Request] a").count() == 4
        assert (width, overhanging(page)) == (width, [])


def test_the_list_says_when_each_run_started(page, load_log) -> None:
    load_log("night-shift-300", agent="a-long-name-of-an-agent", agent_version="2026.11.29-rc1")
    load_log("sql-tool-errors", agent="dba", environment="production-eu-central-1")
    long_ago = datetime(2024, 11, 29, 23, 47, tzinfo=UTC)
    Run.objects.update(sort_at=long_ago, duration_ms=134_000, cost=1234)
    for width in (420, 1024, 1280, 1440, 1920):
        resized(page, width)
        page.goto("/p/acme/runs")
        edges = page.locator("td.started").evaluate_all(BOXES)
        assert (width, [edge["right"] <= width for edge in edges]) == (width, [True, True])
        assert page.evaluate("document.querySelector('.scroll-x').scrollWidth") <= width


def test_a_phone_can_replay_tools_with_long_names(page, altered_log) -> None:
    resized(page, 420)
    page.goto(f"/p/acme/runs/{altered_log('sql-tool-errors', explain='explain_' * 25)}/replay")
    assert overhanging(page) == []
    page.goto("/p/acme/runs/sql-tool-errors/replay?model=openai:" + "m" * 90)
    assert overhanging(page) == []


def test_places_of_many_secrets_are_read_like_a_sentence(page, noted) -> None:
    secrets = {f"the_key_of_provider_{n}": f"sk-proj-{n:02}{'aB3dE5fG' * 6}" for n in range(12)}
    address = f"/p/acme/runs/{noted(secrets)}?at=1"
    for width in (420, 1024):
        resized(page, width)
        page.goto(address)
        assert page.locator(".note code").count() == 24
        assert (width, overhanging(page)) == (width, [])
        tops = {box["top"] for box in page.locator(".note code").evaluate_all(BOXES)}
        assert len(tops) > 6  # in lines, not in one row


def test_tables_of_keys_and_members_are_no_wider_than_a_phone(
    transactional_db, open_page, make_member, api_key
) -> None:
    page = open_page(make_member("owner"))
    resized(page, 420)
    for path in ("keys", "members"):
        page.goto(f"/p/acme/{path}")
        assert (path, overhanging(page)) == (path, [])


def test_long_names_of_files_do_not_widen_the_import(page, shared, tmp_path) -> None:
    log = tmp_path / f"{'n' * 200}.json"
    log.write_bytes((shared / "data/rig/support-triage.effects.json").read_bytes())
    for width in (420, 1024):
        resized(page, width)
        page.goto("/p/acme/import")
        page.locator("#files").set_input_files(log)
        page.wait_for_selector("#outcomes td.ok")
        assert (width, overhanging(page)) == (width, [])


@pytest.mark.parametrize("name, last", [("refund-memory", "#9"), ("support-triage", "#2")])
def test_the_head_of_a_run_is_whole_and_nothing_of_its_tape_is_covered(
    page, load_log, name, last
) -> None:
    load_log(name, agent=f"the-{name}-agent", environment="production")
    for width in (1024, 1440):
        resized(page, width)
        page.goto(f"/p/acme/runs/{name}")
        assert_last_tick_is_clear(page, last)
        assert page.locator(".bar .chip .ellipsis").evaluate_all(CUT) == []


def assert_last_tick_is_clear(page, last: str) -> None:
    note = page.get_by_text("by position, no times recorded").evaluate_all(BOXES)[0]
    ticks = page.locator(".ruler text")
    assert ticks.last.text_content() == last
    assert min(tick["top"] for tick in ticks.evaluate_all(BOXES)) >= note["bottom"] - 1
    bars = page.locator(".tape rect[data-seq]").evaluate_all(BOXES)
    assert max(bar["bottom"] for bar in bars) < note["top"] + 3  # above its letters


def test_json_keeps_its_lines_whatever_it_is_written_in(page, noted) -> None:
    run = noted({"مرحبا": "שלום עולם"})
    for query, key in (("", "bdi"), ("&req=json", "b")):
        page.goto(f"/p/acme/runs/{run}?at=1{query}")
        assert_from_left_to_right(page, key)


def assert_from_left_to_right(page, key: str) -> None:
    data = page.locator(".pane").first.locator("pre.data, .json")
    edge = data.evaluate_all(BOXES)[0]
    first = data.locator(key, has_text="مرحبا").evaluate_all(BOXES)[0]
    second = data.locator("bdi", has_text="שלום").evaluate_all(BOXES)[0]
    assert edge["left"] < first["left"] < first["right"] < second["left"]
    assert first["left"] - edge["left"] < 120


def test_a_request_id_stays_on_one_line(page, altered_log) -> None:
    long_id = "req_011CSHoEeqs5C35K2UUqR7Fy"
    resized(page, 1024)
    page.goto(f"/p/acme/runs/{altered_log('dunning-provider-errors', req_D1e02=long_id)}?at=2")
    shown = page.locator("dd", has_text=long_id)
    assert shown.count() == 1
    assert shown.evaluate("one => one.getBoundingClientRect().height") < 30


def test_a_long_text_without_a_break_is_laid_out_at_once(page, noted) -> None:
    # Every pair of these is kerned; broken anywhere, each line is shaped anew. That took seconds.
    page.goto(f"/p/acme/runs/{noted('AV' * 150_000)}?at=1")
    again = "(one) => { one.style.width = '401px'; const t = performance.now();"
    again += " one.offsetHeight; return performance.now() - t; }"
    assert page.locator(".said").first.evaluate(again) < 500
    assert page.get_by_text("only the start of 300,000 characters").count() == 2


def test_a_short_page_does_not_stretch_the_navigation(page) -> None:
    resized(page, 420)
    page.goto("/p/acme/connect")
    tall = page.locator(".rail").evaluate_all(BOXES)[0]["bottom"]
    page.goto("/p/acme/import")
    assert page.locator(".rail").evaluate_all(BOXES)[0]["bottom"] == tall


def test_what_is_asked_to_save_a_view_stays_in_its_box(page, load_log) -> None:
    load_log("refund-memory")
    resized(page, 1440)
    page.goto("/p/acme/runs")
    page.keyboard.press("v")
    page.wait_for_selector(".view-list .view")
    box = page.locator(".filter[open] .pop")
    inside = box.evaluate_all(BOXES)[0]
    fields = box.locator("input:visible, button").evaluate_all(BOXES)
    assert max(field["right"] for field in fields) <= inside["right"]
    assert (
        box.locator(".view-list").evaluate("one => getComputedStyle(one).borderRightWidth") == "0px"
    )


def test_long_names_leave_a_runs_title_readable(page, load_log) -> None:
    load_log("refund-memory", agent="A" * 190, environment="E" * 190)
    for width in (1024, 1440):
        resized(page, width)
        page.goto("/p/acme/runs/refund-memory")
        title = page.locator("h1").evaluate_all(BOXES)[0]
        assert (width, title["right"] - title["left"] >= 120) == (width, True)
        assert (width, overhanging(page)) == (width, [])


NAMED = (
    *("accounts:keys", "accounts:members", "accounts:settings", "accounts:redaction"),
    *("accounts:connect", "runs:views", "runs:list", "runs:agents", "replay:ignore-rules"),
    *("replay:providers", "replay:notifications", "replay:datasets", "replay:experiments"),
)


def test_names_without_a_blank_push_nothing_out_of_sight(open_page, project, load_log) -> None:
    long = "N" * 200
    domain = ".".join(["d" * 60] * 3)
    owner = User.objects.create_user(f"{'e' * 60}@{domain}.com", name=long)
    Membership.objects.create(user=owner, project=project, role=Role.OWNER)
    Project.objects.filter(pk=project.pk).update(name=long)
    keys.mint(project=project, name=long, scope=Scope.READ, created_by=owner)
    revoked, _ = keys.mint(project=project, name=long, scope=Scope.READ, created_by=owner)
    keys.revoke(revoked)
    SavedView.objects.create(project=project, name=long[:80], owner=owner)
    load_log("refund-memory", agent=long)
    run = Run.objects.get()
    curate.add_tags([run], [long])
    datasets.keep(project, long, [run], owner)
    given = notifications.read({"url": f"https://a.example/{long}"})
    notifications.add(project, given, by=owner, origin="")
    bounds.add(project.pk, {"measure": "cost", "dollars": 1, "agent": long})
    indexing.index_pending()
    page = open_page(owner)
    for width in (1024, 1440):
        resized(page, width)
        found = "/p/acme/search?q=order"
        pages = *(reverse(name, args=["acme"]) for name in NAMED), "/projects", "/account", found
        for path in pages:
            page.goto(path)
            assert (path, overhanging(page), page.evaluate(SIDEWAYS)) == (path, [], [])


STACKED = "Z" + "\u0301\u0302\u0303\u0304\u0306\u0307\u0316\u0317\u0318" * 20
ROWS = {"compare?a=one&b=two": ".two-runs > div", "runs": "tr[data-row]"}


@pytest.mark.parametrize("path", ROWS)
def test_marks_stacked_on_a_letter_stay_in_their_row(page, project, path) -> None:
    for name, said in (("two", STACKED), ("one", "plain")):
        sent = factories.log(factories.completion(1, said))
        ingest.accept_log(project, factories.body(sent), run_id=name, agent=said[:200])
    page.goto(f"/p/acme/{path}")
    plain, stacked = page.locator(ROWS[path]).first, page.locator(ROWS[path]).nth(1)
    before = plain.screenshot()
    stacked.evaluate("(row) => { row.style.visibility = 'hidden'; }")
    assert plain.screenshot() == before


SIDEWAYS = """() => [...document.querySelectorAll(".scroll-x")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"""


def test_lists_of_long_names_need_no_scrolling_sideways(page, load_log) -> None:
    name = "customer-support-agent-of-the-far-north-2026-11-30T10:00:00Z"
    load_log("incident-stream-kept", agent=name, session_id=name)
    run = Run.objects.get()
    replay, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    jobs.run_job(replay.public_id)
    Replay.objects.update(mode="prompt", provider="anthropic-of-europe", model=f"claude-{name}")
    resized(page, 1024)
    for path in ("runs", "agents", "sessions", "replays"):
        page.goto(f"/p/acme/{path}")
        assert page.evaluate(SIDEWAYS) == [], path


ACTS = """() => [...document.querySelectorAll("main .bar > .acts")].map((acts) => {
    const inside = acts.parentElement.getBoundingClientRect();
    const all = [...acts.querySelectorAll("a, button")].map((one) => one.getBoundingClientRect());
    const middles = all.map((one) => Math.round((one.top + one.bottom) / 2));
    return [Math.max(...middles) - Math.min(...middles) < 3, inside.right - all.at(-1).right < 90];
})"""


def test_what_can_be_done_stays_together(page, api, load_log, monkeypatch) -> None:
    """Beside the heading or on a line below it, at the end of it; never one of them alone."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    load_log("support-triage")
    asked = {"runs": ["support-triage"], "models": ["openai:gpt-4o"], "name": "To be stopped"}
    made = api("POST", "/api/v1/experiments", json.dumps(asked).encode()).json()["id"]
    api("POST", f"/api/v1/experiments/{made}/cancel", b"{}")
    addresses = (
        "/p/acme/runs/support-triage/replay?model=openai:gpt-4o",
        "/p/acme/experiments/new?run=support-triage&model=openai:gpt-4o",
        f"/p/acme/experiments/{made}",
        f"/p/acme/replays/{Replay.objects.get().public_id}",
    )
    for width in (1024, 1440):
        resized(page, width)
        for address in addresses:
            page.goto(address)
            told = page.evaluate(ACTS)
            assert told and (address, width, told) == (address, width, [[True, True]] * len(told))


def test_a_long_name_of_a_dataset_leaves_room_beside_it(page, project, load_log) -> None:
    load_log("refund-memory")
    owner = User.objects.get()
    name = "Runs of support that matter for a release of the agent " + "n" * 60
    kept = datasets.keep(project, name, list(Run.objects.all()), owner)
    for width in (1024, 1440):
        resized(page, width)
        page.goto(f"/p/acme/datasets/{kept.public_id}")
        middles = page.locator(".bar > h1, .bar .btn").evaluate_all(BOXES)
        heights = [(box["top"] + box["bottom"]) / 2 for box in middles]
        assert len(heights) == 2 and abs(heights[0] - heights[1]) < 3
        assert overhanging(page) == []
