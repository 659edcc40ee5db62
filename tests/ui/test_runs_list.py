"""The list by keys and mouse, and logs dropped on the import page."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
LOGS = ("refund-memory", "support-triage", "sql-tool-errors")


@pytest.fixture
def listed(page, load_log):
    for name in LOGS:
        load_log(name, agent=name.partition("-")[0])
    page.goto("/p/acme/runs")
    return page


def test_j_moves_x_selects_and_enter_opens(listed) -> None:
    listed.keyboard.press("j")
    listed.keyboard.press("j")
    listed.keyboard.press("x")
    assert listed.locator("tr[aria-current] input").is_checked()
    assert listed.locator("#picked").inner_text().startswith("1 selected")
    listed.keyboard.press("Enter")
    listed.wait_for_url("**/runs/support-triage")


def test_shift_selects_up_to_here_and_the_bar_says_how_many(listed) -> None:
    for key in ("j", "x", "j", "j", "Shift+X"):
        listed.keyboard.press(key)
    assert listed.locator("[data-pick]:checked").count() == 3
    assert listed.locator("[data-pick-all]").is_checked()
    listed.locator("[data-pick]").nth(0).click()
    listed.locator("[data-pick]").nth(2).click(modifiers=["Shift"])
    assert listed.locator("#picked").is_hidden()
    listed.locator("[data-pick-all]").click()
    assert listed.locator("#picked").inner_text().startswith("3 selected")
    listed.keyboard.press("r")  # though the box has the focus
    listed.wait_for_url("**/experiments/new?*")


def test_selected_runs_are_tagged_and_r_leads_to_the_replay_form(listed) -> None:
    listed.goto("/p/acme/runs?col=tags")
    listed.keyboard.press("j")
    listed.keyboard.press("x")
    listed.get_by_text("Tag…").click()
    listed.locator("#picked [name=tag]").fill("vip")
    listed.get_by_role("button", name="Put on").click()
    listed.wait_for_selector("tr[aria-current] .tag:text('vip')")
    expect(listed.locator(".toast")).to_have_text("“vip” put on 1 run.")
    expect(listed.locator("[data-pick]:checked")).to_have_count(1)
    listed.keyboard.press("Escape")
    listed.keyboard.press("Escape")
    listed.keyboard.press("r")
    listed.wait_for_url("**/replay")


def test_runs_are_deleted_and_brought_back(
    open_page, make_member, load_log, transactional_db
) -> None:
    for name in LOGS:
        load_log(name)
    page = open_page(make_member("admin"))
    page.goto("/p/acme/runs?sort=-effects")
    page.locator("[data-pick]").first.click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete 1 run").click()
    page.wait_for_selector("text=1 run deleted.")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=1 run brought back.")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert page.url.endswith("?sort=-effects")


def test_a_view_is_saved_and_opened_from_the_list(listed) -> None:
    listed.goto("/p/acme/runs?agent=refund&sort=-cost&col=cost")
    listed.keyboard.press("v")
    listed.get_by_label("Save this as").fill("Refunds")
    listed.get_by_role("button", name="Save view").click()
    listed.wait_for_url("**view=*")
    listed.goto("/p/acme/runs")
    listed.keyboard.press("v")
    listed.locator(".pop a:text('Refunds')").click()
    listed.wait_for_url("**agent=refund**")
    assert listed.locator("tbody tr").count() == 1


def test_live_rows_and_news_move_nothing_under_the_cursor(listed, load_log) -> None:
    from runs.models import Run

    Run.objects.filter(external_id="support-triage").update(status="running")
    listed.goto("/p/acme/runs")
    listed.keyboard.press("j")
    listed.keyboard.press("j")
    listed.keyboard.press("x")
    Run.objects.filter(external_id="support-triage").update(status="failed", effect_count=4321)
    load_log("nested-critic")
    for part in ("#live", "#news"):
        listed.evaluate("part => htmx.trigger(part, 'refresh')", part)
    listed.wait_for_selector("tr[aria-current] >> text=4,321")
    assert listed.locator("tr[aria-current] input").is_checked()
    listed.wait_for_selector("text=1 new")
    assert listed.locator("tbody[data-rows] tr").count() == 3
    listed.keyboard.press("n")
    listed.wait_for_selector("tbody[data-rows] tr:nth-child(4)")


def test_a_filter_is_set_shown_and_taken_off(listed) -> None:
    listed.keyboard.press("/")
    listed.wait_for_function("document.activeElement.closest('.filter[open]') !== null")
    listed.keyboard.press("Escape")
    listed.locator("summary:text-is('agent')").click()
    listed.locator("#id_agent").fill("refund")
    listed.keyboard.press("Enter")
    listed.wait_for_url("**/runs?agent=refund")
    assert listed.locator("tbody tr").count() == 1
    listed.get_by_label("Remove the filter agent refund").click()
    listed.wait_for_url(lambda url: "agent" not in url)
    assert listed.locator("tbody tr").count() == 3


def test_a_filter_offers_the_values_there_are(listed) -> None:
    listed.locator("summary:text-is('tool')").click()
    listed.wait_for_selector("#values-tool option", state="attached")
    offered = listed.locator("#values-tool option").evaluate_all("all => all.map(o => o.value)")
    assert "get_order" in offered


def test_back_from_a_run_shows_the_same_list(listed) -> None:
    listed.goto("/p/acme/runs?agent=refund")
    listed.locator("td.title a").click()
    listed.wait_for_url("**/runs/refund-memory")
    listed.go_back()
    assert listed.url.endswith("?agent=refund")
    assert listed.locator("tbody tr").count() == 1


def test_each_file_gets_its_own_outcome(page, shared, tmp_path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"header": {')
    page.goto("/p/acme/import")
    good = shared / "data/rig/support-triage.effects.json"
    page.locator("#files").set_input_files([good, broken])
    page.wait_for_selector("#outcomes td.bad")
    texts = page.locator("#outcomes tr").all_inner_texts()
    assert texts[0].startswith("2 effects taken")
    assert texts[1].startswith("not taken:")
    page.locator("#outcomes a").click()
    page.wait_for_selector("text=Hi, I see two payments")


def test_a_log_sent_again_is_known(page, shared) -> None:
    page.goto("/p/acme/import")
    for told in ("2 effects taken", "2 known already"):
        page.locator("#files").set_input_files(shared / "data/rig/support-triage.effects.json")
        page.wait_for_selector(f"#outcomes >> text={told}")
    with page.expect_file_chooser():  # Enter asks for more and wipes nothing away
        page.get_by_label("Agent", exact=True).press("Enter")
    assert page.locator("#outcomes tr").count() == 2


def test_a_log_can_be_dropped_anywhere_on_the_page(page, shared) -> None:
    page.goto("/p/acme/import")
    text = (shared / "data/rig/support-triage.effects.json").read_text()
    transfer = page.evaluate_handle(
        "text => { const all = new DataTransfer();"
        " all.items.add(new File([text], 'a.json')); return all; }",
        text,
    )
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("#outcomes >> text=2 effects taken")


def test_it_can_all_be_read_without_scripts(open_page, make_member, load_log, transactional_db):
    load_log("refund-memory", agent="refund")
    page = open_page(make_member("viewer"), java_script_enabled=False)
    page.goto("/p/acme/runs")
    page.locator("td.title a").click()
    page.locator("#s5").click()
    expect(page.locator("#effect[data-at='5']")).to_have_count(1)
    page.get_by_text("3 earlier messages").click()
    assert page.locator(".fold .msg").first.is_visible()


PATHS = ["/p/acme/runs", "/p/acme/runs/run?at=2", "/p/acme/import", "/p/acme/keys", "/patterns"]


@pytest.mark.any_database
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_window(
    transactional_db, open_page, make_member, load_log, scheme
) -> None:
    load_log("unicode-edges", run_id="run")
    page = open_page(make_member("owner"), color_scheme=scheme)
    for path in PATHS:
        page.goto(path)
        for width in (420, 1024, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
