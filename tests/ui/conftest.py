"""Real pages in Debian's Chromium: a live server, a signed-in page, no violation on any."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sessions import session_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
"""Debian's two builds of Chromium; the first has no window and starts in half the time."""
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(os.path.exists, BROWSERS), BROWSERS[-1])
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--js-flags=--no-turbofan --no-maglev",  # no page lives long enough to gain by them
]


ACT = 30_000
"""How long, in ms, a page may take to come to what is expected of it: as long as for any other
thing one waits for here. A busy machine is no failure; how long things take is in bench/."""

OPEN = ExitStack()
"""The browser of this process, while tests of this folder follow each other."""


@pytest.hookimpl(trylast=True)  # after the fixtures of the last test here
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Close the browser before the first test elsewhere: while it is open this thread has a
    running event loop, in which code that starts one of its own (`asyncio.run`) would fail."""
    if nextitem is None or "chromium" not in getattr(nextitem, "fixturenames", ()):
        OPEN.close()
        kept.cache_clear()


@cache
def kept() -> Browser:
    """Starting it takes a second, so one serves all files that come one after the other."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=ACT)
    play = OPEN.enter_context(sync_playwright())
    # Playwright's loop runs in this thread; the ORM's guard would take it for async code.
    OPEN.enter_context(pytest.MonkeyPatch.context()).setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGS)
    OPEN.callback(browser.close)
    return browser


@pytest.fixture
def chromium() -> Browser:
    """The browser; skipped visibly where there is none, a failure in CI."""
    if not Path(CHROMIUM).exists():
        message = f"no Chromium at {CHROMIUM} (set CHROMIUM)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return kept()


@pytest.fixture
def session_cookie() -> Callable[..., dict[str, str]]:
    """session_cookie(user, url) -> the cookie of a browser in which `user` is signed in."""

    def make(user, url: str) -> dict[str, str]:
        return {"name": "rewyn_session", "value": session_of(user), "url": url}

    return make


@pytest.fixture
def open_page(chromium, live_server, session_cookie) -> Iterator[Callable]:
    """open_page(user, **context options) -> a signed-in page at the live server.

    When the test is over, no page may have logged an error, broken the content policy or asked
    another machine for anything.
    """
    contexts, wrong = [], []

    def open_one(user=None, **options):
        context = chromium.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if user is not None:
            context.add_cookies([session_cookie(user, live_server.url)])
        page = context.new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(live_server.url) else _away(r, wrong))
        return page

    yield open_one
    for context in contexts:
        for page in context.pages:  # a page may just be asking for its next step
            page.unroute_all(behavior="wait")
        context.close()
    assert wrong == []


def _away(request, wrong: list[str]) -> None:
    if not request.url.startswith(("data:", "blob:", "about:")):
        wrong.append(f"asked {request.url}")


@pytest.fixture
def page(transactional_db, open_page, make_member):
    """A page in which a member of `project` is signed in."""
    return open_page(make_member("member"))


@pytest.fixture
def load_log(shared, project) -> Callable[..., str]:
    """load_log("support-triage", agent=…) -> the id of the run made of that real log (its name,
    if no `run_id` is given)."""
    from runs import ingest

    def load(name: str, **names: str) -> str:
        body = (shared / "data" / "rig" / f"{name}.effects.json").read_bytes()
        return ingest.accept_log(project, body, **{"run_id": name, **names}).run_id

    return load


@pytest.fixture
def refund(load_log, transactional_db, monkeypatch) -> Iterator[None]:
    """The run `refund`, and a provider that answers all its model calls alike; nobody rings."""
    from replay import jobs
    from replay.fake_provider import FakeProvider

    load_log("refund-memory", run_id="refund", agent="refunds")
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    with FakeProvider([{"answer": {"text": "Refunded 12 EUR."}}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_base_url)
        yield


@pytest.fixture
def tab(chromium, live_server, session_cookie, person) -> Iterator[Page]:
    """A page of a browser in which `person` is signed in, and whose requests may be refused."""
    context = chromium.new_context(base_url=live_server.url)
    context.add_cookies([session_cookie(person, live_server.url)])
    yield context.new_page()
    context.close()
