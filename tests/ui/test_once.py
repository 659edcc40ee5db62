"""What is done once, and what asks before it is done."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from replay.project_providers import keeping
from replay.project_providers.keeping import Given
from runs.accounts.models import ApiKey, OneTimeLink
from runs.models import Run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_reload_makes_no_second_key_and_hides_the_first(open_page, make_member) -> None:
    page = open_page(make_member("admin"))
    page.goto("/p/acme/keys")
    page.get_by_label("Name").fill("ci")
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator("#new-key")).to_contain_text("rw_")
    page.reload()
    expect(page.locator("#new-key")).to_have_count(0)
    assert ApiKey.objects.count() == 1


def test_a_reload_makes_no_second_invitation(open_page, make_member) -> None:
    page = open_page(make_member("owner"))
    page.goto("/p/acme/members")
    page.get_by_role("button", name="Make the link").click()
    expect(page.locator("#invite-link")).to_contain_text("/join/")
    page.reload()
    expect(page.locator("#invite-link")).to_have_count(0)
    assert OneTimeLink.objects.count() == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_removing_the_demo_asks_first(open_page, make_member, load_log, project, scripts) -> None:
    load_log("support-triage")
    project.is_demo = True
    project.save()
    page = open_page(make_member("owner"), java_script_enabled=scripts)
    page.goto("/p/acme/settings")
    sure = page.get_by_role("button", name="Delete the demo's runs for good")
    expect(sure).to_be_hidden()
    page.get_by_text("Remove the demo…").click()
    assert Run.objects.count() == 1
    sure.click()
    page.wait_for_url("**/p/acme/runs")
    expect(page.locator(".messages")).to_contain_text("The demo is removed")


def test_what_is_removed_is_not_alive_again_by_back(
    chromium, live_server, session_cookie, make_member, project
) -> None:
    given = Given(name="mine", kind="openai", base_url="https://a.example/v1", key="sk-mine-12345")
    keeping.add(project, given, None)
    context = chromium.new_context(base_url=live_server.url)
    context.add_cookies([session_cookie(make_member("admin"), live_server.url)])
    page = context.new_page()
    page.goto("/p/acme/settings/providers")
    page.get_by_role("link", name="mine").click()
    page.get_by_text("Remove…").click()
    page.get_by_role("button", name="Remove the provider").click()
    expect(page.locator(".messages")).to_be_visible()
    page.go_back()
    expect(page.locator("h1")).to_have_text("Not here")
    context.close()
