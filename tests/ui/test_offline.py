"""The file of a run, opened from a disk by somebody who is not connected to anything."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_file_of_a_run_is_read_without_any_request(page, load_log, chromium, tmp_path) -> None:
    page.goto(f"/p/acme/runs/{load_log('media-inspector')}")
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as kept:
        page.get_by_text("A page to read offline").click()
    file = tmp_path / "run.html"
    kept.value.save_as(file)
    context = chromium.new_context(offline=True)
    reader, asked = context.new_page(), []
    reader.on("request", lambda request: asked.append(request.url))
    reader.on("console", lambda message: asked.append(message.text))
    reader.goto(file.as_uri())
    expect(reader.locator("#e2 .media img").first).to_have_js_property("naturalWidth", 1)
    reader.locator("summary", has_text="effects").click()
    reader.locator(".contents a").last.click()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
