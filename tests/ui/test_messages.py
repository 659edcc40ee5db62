"""Reading one effect in a browser: JSON that folds, is searched and copied; Markdown on demand."""

import json

import pytest

from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.any_database]
ROWS = [{"id": 10**20 + n, "name": f"row {n}", "score": 1.50} for n in range(450)]
ANSWER = {"a/b": {"~x": ["first", {"deep": "needle"}]}, "rows": ROWS}


@pytest.fixture
def effect(page, project):
    """effect(tabs) -> the page of a tool call, its result about 45 KB of JSON, at these tabs."""
    kind = {"effect": "tool_call", "name": "read", "args": '{"n":1e2}'}
    said = [{"type": "json", "value": ANSWER}, {"type": "text", "text": "# Head\n\n**bold**"}]
    ok = {"outcome": "tool_result", "result": {"status": "success", "value": said}}
    record = {"id": 1, "key": "a/tool:read#0", "kind": kind, "outcome": {"Ok": ok}}
    header = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
    body = json.dumps({"header": header, "records": [record]})
    ingest.accept_log(project, body.replace("1.5}", "1.50}").encode(), run_id="run")

    def open_it(tabs: str):
        page.goto(f"/p/acme/runs/run?at=1{tabs}")
        return page

    return open_it


def test_json_folds_is_searched_and_copied_by_pointer(effect) -> None:
    page = effect("&tab=json")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = page.locator("[data-json]").last
    assert page.locator(".tree .row").count() < 700
    box.locator("[data-find]").fill("needle")
    box.locator(".row.on", has_text="needle").wait_for()
    assert box.locator("[data-found]").inner_text() == "1 of 1"
    box.get_by_role("button", name="Copy pointer").click()
    page.locator(".toast", has_text="Copied").wait_for()
    pointer = "/Ok/result/value/0/value/a~1b/~0x/1/deep"
    assert page.evaluate("navigator.clipboard.readText()") == pointer


def test_a_copied_value_has_every_digit(effect) -> None:
    page = effect("&tab=json")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = page.locator("[data-json]").last
    box.locator("[data-find]").fill("row 449")
    box.locator(".row.on", has_text="row 449").wait_for()
    page.keyboard.press("Escape")
    box.locator(".row.on").click()
    for key in ("ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    box.get_by_role("button", name="Copy value").click()
    page.locator(".toast", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == '{\n  "id": 100000000000000000449,\n  "name": "row 449",\n  "score": 1.50\n}'


def test_json_is_plain_text_without_scripts(effect, open_page, make_member) -> None:
    effect("")
    page = open_page(make_member("viewer", "v@example.com"), java_script_enabled=False)
    page.goto("/p/acme/runs/run?at=1&tab=json")
    assert '"id": 100000000000000000449' in page.locator("pre.json").last.inner_text()
    assert not page.locator(".json-tools").first.is_visible()


def test_markdown_is_switched_on_in_place_and_in_the_address(effect) -> None:
    page = effect("")
    assert page.get_by_text("# Head").is_visible()
    page.get_by_role("link", name="as Markdown").click()
    page.get_by_role("heading", name="Head", exact=True).wait_for()
    assert "md=%2Foutcome" in page.url
    page.reload()
    page.get_by_role("link", name="as text, as it came").click()
    page.get_by_text("# Head").wait_for()
    assert "md=" not in page.url


def test_a_stream_plays_at_the_pace_it_was_recorded_at(page, project, shared) -> None:
    log = (shared / "data" / "rig" / "incident-stream-kept.effects.json").read_bytes()
    sent = [{"at_ms": 40 * n, "data": "x"} for n in range(1, 10)]
    body = {"run": {"id": "run"}, "log": json.loads(log), "wire": {"1": {"chunks": sent}}}
    ingest.accept_run(project, json.dumps(body).encode())
    page.goto("/p/acme/runs/run?at=1&tab=stream")
    assert page.get_by_text("at the times they came").is_visible()
    page.get_by_label("Time in the stream").fill("85")
    assert page.locator("tr.later").count() == 7
    assert page.locator("[data-played]").inner_text() == '{"service'
    page.get_by_role("button", name="Play").click()
    page.get_by_text("360 ms of 360 ms").wait_for()
    assert page.locator("tr.later").count() == 0
    assert (
        page.locator("[data-played]")
        .inner_text()
        .startswith('{"service":"checkout","window_min":30}')
    )


def test_an_image_that_cannot_be_drawn_says_so(page, project) -> None:
    dot = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
        "rkJggg=="
    )
    images = [{"type": "image", "data": {"type": "base64", "value": value}, "media_type": "png"}
              for value in (dot, "iVBORw0K")]  # fmt: skip
    asked = {"chat_history": [{"role": "user", "content": images}]}
    kind = {"effect": "completion", "request": asked}
    record = {"id": 1, "key": "a/model#0", "kind": kind, "outcome": {}}
    sent = {"header": {"handlers": [], "signature": {}, "hooks": [], "required": {}}}
    body = json.dumps(sent | {"records": [record]}).encode()
    ingest.accept_log(project, body, run_id="run")
    page.goto("/p/acme/runs/run?at=1")
    page.get_by_text("cannot be drawn").wait_for()
    assert page.locator(".media").count() == 2
    page.wait_for_function("document.querySelector('.media img').naturalWidth === 1")
