"""A form that is refused comes back with the mistake in view, said, and focused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from replay.project_providers.models import ProjectProvider

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
STATE = """() => {
  const at = document.activeElement, box = at.getBoundingClientRect();
  const said = (at.getAttribute("aria-describedby") || "").split(" ").filter(Boolean)
    .map((id) => document.getElementById(id)).filter(Boolean);
  const told = at.matches("[role=alert]") ? at : said.find((one) => one.matches("[role=alert]"));
  const shown = told && told.getBoundingClientRect();
  return {
    name: at.name || at.getAttribute("role"),
    invalid: at.getAttribute("aria-invalid"),
    seen: box.top >= 0 && box.bottom <= innerHeight && !!shown && shown.bottom <= innerHeight,
    told: told ? told.textContent : "",
  };
}"""
PROVIDERS, NOTIFICATIONS = "settings/providers", "settings/notifications"
SETTINGS: list[tuple[str, str, dict[str, str], str, str, str]] = [
    ("settings", "Save the name", {"Name": "\u200b"}, "name", "Nothing of this", ""),
    ("settings", "Remove the project", {"Type the address": "acmee"}, "confirm", "Type acme", ""),
    ("members", "Make the link", {"E-mail": "nobody"}, "email", "valid", ""),
    ("keys", "Make the key", {"Name": "\u200b"}, "name", "Nothing of this", ""),
    ("settings/redaction", "Add the rule", {"Name": "a", "Pattern": "("}, "pattern", "", ""),
    ("settings/redaction", "Try it on what came in last", {"Name": "a"}, "pattern", "", ""),
    ("ignore-rules", "Add the rule", {"Name": "a", "Pattern": "("}, "pattern", "", ""),
    ("ignore-rules", "Add the rule", {"Name": "a", "Path": "x"}, "path", "", ""),
    (PROVIDERS, "Add the provider", {"Name": "Bad Name!"}, "name", "small letters", ""),
    (
        "settings/providers",
        "Add the provider",
        {"Name": "a", "Calls a minute": "no"},
        "per_minute",
        "",
        "",
    ),
    (f"{PROVIDERS}/p-1", "Save", {"Calls at once": "many"}, "parallel", "whole number", ""),
    (f"{PROVIDERS}/p-1", "Ask it something small", {}, "model", "required", ""),
    (NOTIFICATIONS, "Add the webhook", {"URL": "nowhere"}, "url", "begins with", ""),
    (
        "settings/notifications",
        "Add the webhook",
        {"URL": "https://a.example"},
        "events",
        "",
        "events",
    ),
    (NOTIFICATIONS, "Add the bound", {"Over": "5 dollars"}, "most", "", ""),
]


@pytest.fixture
def page(
    transactional_db, chromium, live_server, session_cookie, make_member, project
) -> Iterator[Page]:
    """A window in which an owner is signed in, of a project with many providers. The console may
    note what is refused."""
    ProjectProvider.objects.bulk_create(
        ProjectProvider(project=project, name=f"p-{at}", kind="openai") for at in range(37)
    )
    size = {"width": 1024, "height": 600}
    with chromium.new_context(base_url=live_server.url, viewport=size) as context:
        context.add_cookies([session_cookie(make_member("owner"), live_server.url)])
        yield context.new_page()


def refuse(page: Page, button: str, filled: dict[str, str], unchosen: str) -> dict[str, object]:
    """Send the form of this button, past what the browser itself would hold back."""
    page.evaluate("document.querySelectorAll('form').forEach((one) => { one.noValidate = true; })")
    form = page.locator("form").filter(has=page.get_by_role("button", name=button, exact=True))
    for label, text in filled.items():
        form.get_by_label(label, exact=True).fill(text)
    for box in form.locator(f"[name='{unchosen}']").all() if unchosen else ():
        box.uncheck()
    form.get_by_role("button", name=button, exact=True).click()
    return focused(page)


def focused(page: Page) -> dict[str, object]:
    """What has the focus of the page that tells a mistake: a browser gives it with the first
    picture of the page, which may be a while after the page is there."""
    expect(page.locator("[role=alert]").first).to_be_visible()
    expect(page.locator(":focus")).to_have_count(1)
    state: dict[str, object] = page.evaluate(STATE)
    return state


@pytest.mark.parametrize(("where", "button", "filled", "field", "said", "unchosen"), SETTINGS)
def test_a_refused_form_of_the_settings_shows_and_focuses_its_mistake(
    page: Page,
    where: str,
    button: str,
    filled: dict[str, str],
    field: str,
    said: str,
    unchosen: str,
) -> None:
    page.goto(f"/p/acme/{where}")
    state = refuse(page, button, filled, unchosen)
    assert (state["name"], state["invalid"], state["seen"]) == (field, "true", True), state
    assert said in str(state["told"]) and state["told"]


def test_a_refusal_of_no_field_is_focused_itself(page: Page) -> None:
    page.context.clear_cookies()
    page.goto("/sign-in")
    state = refuse(page, "Sign in", {"E-mail": "a@example.com", "Password": "no"}, "")
    assert (state["name"], state["seen"]) == ("alert", True)
    assert "do not fit" in str(state["told"])


def test_a_refusal_that_a_message_tells_is_focused(page: Page, project) -> None:
    from runs.accounts.models import Membership

    page.goto("/p/acme/members")
    mine = Membership.objects.get(project=project)
    page.locator(f"form[action$='/{mine.pk}/role'] select").select_option("viewer")
    page.locator(f"form[action$='/{mine.pk}/role'] button").click()
    state = focused(page)
    assert (state["name"], state["seen"]) == ("alert", True)
