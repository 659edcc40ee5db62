"""Times are said in the zone of whoever reads them, and in UTC where there are no scripts."""

import pytest
from factories import completion, run
from playwright.sync_api import expect

from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.any_database]
PLACE = {"timezone_id": "Asia/Kolkata"}  # half an hour beside the others


@pytest.fixture
def old_run(transactional_db, project) -> None:
    times = {"1": {"started_at": "2024-11-29T20:30:01.250Z", "duration_ms": 10}}
    sent = run("run", completion(1), times=times, started_at="2024-11-29T20:30:00Z")
    ingest.accept_run(project, sent)


def test_a_time_is_that_of_the_reader_with_the_instant_on_hover(
    old_run, open_page, make_member
) -> None:
    page = open_page(make_member("admin"), **PLACE)
    page.goto("/p/acme/runs")
    listed = page.locator("td.started time")
    expect(listed).to_have_text("Nov 30, 2024, 02:00")
    page.goto("/p/acme/runs/run")
    shown = page.locator(".facts time")
    expect(shown).to_have_text("Nov 30, 2024, 02:00")
    assert shown.get_attribute("title") == (
        "Nov 30, 2024, 02:00:01.250 GMT+5:30 (2024-11-29 20:30:01.250 UTC)"
    )


def test_today_needs_no_date(transactional_db, open_page, make_member) -> None:
    page = open_page(make_member("admin"), **PLACE)
    page.goto("/p/acme/members")
    expect(page.locator("td time").first).to_have_text("just now")
    page.clock.set_fixed_time("2030-01-01T23:00:00Z")
    page.evaluate("""() => {
        const time = document.createElement("time");
        time.dateTime = "2030-01-01T20:30:00Z";
        document.body.append(time);
        document.dispatchEvent(new CustomEvent("htmx:afterSettle", { detail: {} }));
    }""")
    expect(page.locator("body > time")).to_have_text("02:00")


def test_without_scripts_times_are_utc_and_say_so(old_run, open_page, make_member) -> None:
    page = open_page(make_member("viewer"), java_script_enabled=False, **PLACE)
    page.goto("/p/acme/runs")
    assert page.locator("td.started time").inner_text() == "Nov 29 2024, 20:30 UTC"


def test_a_bound_of_time_is_typed_and_read_in_the_readers_zone(
    old_run, open_page, make_member
) -> None:
    page = open_page(make_member("admin"), **PLACE)
    page.goto("/p/acme/runs")
    page.get_by_text("time", exact=True).click()
    page.get_by_label("Started from (your time)").fill("2024-11-30T01:59")
    page.get_by_label("Started before (your time)").fill("2024-11-30T02:01")
    page.locator(".filter[open]").get_by_role("button", name="Apply").click()
    page.wait_for_url("**since=2024-11-30T01%3A59%2B05%3A30*until=2024-11-30T02%3A01%2B05%3A30*")
    assert page.locator("tr[data-row]").count() == 1
    assert "from Nov 30, 2024, 01:59" in page.locator(".filters.active").inner_text()
    assert page.locator("[name=since]").first.input_value() == "2024-11-30T01:59"
