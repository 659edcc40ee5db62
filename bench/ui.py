"""How fast a run's page is in Chromium: 2,000 effects, 35,000 effects, a 20 MB result in one.

    python -m bench.ui [--effects 35000] [--home FOLDER]

Each figure is the median of five with warm caches, between the browser's own clock readings: from
the start of navigation, or from the key, until the frame that shows it.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.product import ROOT, Client, Product

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")  # with a window: what people have
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
REPEAT = 5
READ = 300
BATCH = 1000
GIANT = 20_000_000
LISTEN = """() => {
  window.painted = [];
  let from = 0;
  document.addEventListener("keydown", () => { from = performance.now(); }, true);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "effect") return;
    requestAnimationFrame(() => setTimeout(() => window.painted.push(performance.now() - from)));
  });
}"""
LOADED = """() => {
  const nav = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    first_byte: nav.responseStart,
    ready: Math.max(nav.domContentLoadedEventEnd, paint?.startTime ?? 0),
    sent: nav.encodedBodySize,
    html: nav.decodedBodySize,
    nodes: document.querySelectorAll("*").length,
  };
}"""
MOVES = """() => {
  const box = document.querySelector(".tape-box");
  const frame = box.getBoundingClientRect();
  const took = [];
  for (let n = 0; n < 400; n++) {
    const clientX = frame.left + 16 + (frame.width - 32) * (n * 37 % 400) / 400;
    const where = { bubbles: true, clientX, clientY: frame.top + 12 + n % 50 };
    const from = performance.now();
    box.dispatchEvent(new PointerEvent("pointermove", where));
    document.querySelector(".tape-tip").offsetWidth;
    took.push(performance.now() - from);
  }
  took.sort((a, b) => a - b);
  return { median: took[200], worst: took[399], marks: box.querySelectorAll("[data-seq]").length };
}"""


def send_big_run(client: Client, name: str, effects: int, *, giant: bool = False) -> int:
    """Send it as an agent would, in batches; returns the position of the giant result, if any."""
    import workload

    run = workload.big_run(effects=effects)
    records, times = workload.rig_log(run)["records"], workload.run_times(run)
    place = swell(records) if giant else 0
    post(client, "/api/v1/runs", {"run": {"id": name, "name": name}})
    for first in range(0, effects, BATCH):
        batch = records[first : first + BATCH]
        positions = [first + n + 1 for n in range(len(batch))]
        known = {str(record["id"]): times[str(record["id"])] for record in batch}
        sent = {"records": batch, "positions": positions, "times": known}
        post(client, f"/api/v1/runs/{name}/effects", sent)
    post(client, f"/api/v1/runs/{name}/finish", {"status": "succeeded"})
    return place


def swell(records: list[Any]) -> int:
    """Make a tool's result in the middle 20 MB long; returns its position."""
    for seq in range(len(records) // 2, len(records)):
        result = records[seq - 1]["outcome"].get("Ok", {}).get("result", {})
        if result.get("status") == "success":
            result["value"] = [{"type": "text", "text": "lorem ipsum " * (GIANT // 12)}]
            return seq
    raise AssertionError("no tool of the run succeeded")


def post(client: Client, path: str, value: Any) -> None:
    import orjson

    status, answer = client.send("POST", path, orjson.dumps(value))
    assert status in (200, 201), answer[:300]


def load(page: Any, address: str) -> dict[str, float]:
    """Medians of loading an address."""
    found = []
    for _ in range(REPEAT + 1):
        page.goto(address)
        page.wait_for_timeout(100)
        found.append(page.evaluate(LOADED))
    return {name: statistics.median(one[name] for one in found[1:]) for name in found[0]}


def press(page: Any, address: str, keys: str, *, read: int = 0) -> float:
    """Median from a key to the frame with what it leads to; each key once, the first unmeasured.
    Between two keys somebody reads for so many milliseconds."""
    page.goto(address)
    page.evaluate(LISTEN)
    for count, key in enumerate(keys, 1):
        page.keyboard.press(key)
        while page.evaluate("window.painted.length") < count:
            page.wait_for_timeout(5)
        page.wait_for_timeout(read)
    return float(statistics.median(page.evaluate("window.painted")[1:]))


def show(what: str, figure: str, goal: str) -> None:
    print(f"{what:<64} {figure:>16}   goal {goal}")


def measure(page: Any, project: str, effects: int) -> None:
    middle, long = f"/p/{project}/runs/middle", f"/p/{project}/runs/long"
    at = load(page, f"{middle}?at=1000")
    show("2,000 effects: steppable", f"{at['ready']:.0f} ms", "400 ms")
    show_steps(page, "2,000 effects", f"{middle}?at=1000")
    at = load(page, f"{long}?at=1")
    show(f"{effects:,} effects: first byte", f"{at['first_byte']:.0f} ms", "1 s")
    show(f"{effects:,} effects: steppable", f"{at['ready']:.0f} ms", "")
    size = f"{at['html'] / 1e3:.0f} / {at['sent'] / 1e3:.0f} KB"
    show(f"{effects:,} effects: page, as it is / as sent", size, "1 MB")
    show(f"{effects:,} effects: nodes", f"{at['nodes']:.0f}", "5,000")
    jump = load(page, f"{long}?at={effects - 700}")
    show(f"{effects:,} effects: jump", f"{jump['ready']:.0f} ms", "1 s")
    error = press(page, f"{long}?at=1", "e" * (REPEAT + 1))
    show(f"{effects:,} effects: next error", f"{error:.0f} ms", "1 s")
    show_steps(page, f"{effects:,} effects", f"{long}?at=9000")
    page.goto(f"{long}?at=1")
    moves = page.evaluate(MOVES)
    took = f"{moves['median']:.2f} / {moves['worst']:.2f} ms"
    show(f"a move on its tape ({moves['marks']} marks), median / worst", took, "10 ms")


def show_steps(page: Any, run: str, address: str) -> None:
    steps = "j" * (REPEAT + 1)
    at_once, read = press(page, address, steps), press(page, address, steps, read=READ)
    figure = f"{at_once:.0f} / {read:.0f} ms"
    show(f"{run}: next effect, pressed at once / after a look", figure, "100 ms")


def measure_giant(page: Any, project: str, seq: int) -> None:
    address = f"/p/{project}/runs/giant"
    show_steps(page, "a 20 MB result in the run", f"{address}?at={seq - 9}")
    other = load(page, f"{address}?at={seq - 9}")
    show("another call of that run: steppable", f"{other['ready']:.0f} ms", "")
    asked = load(page, f"{address}?at={seq - 1}")
    show("the call that asked for it: steppable", f"{asked['ready']:.0f} ms", "400 ms")
    own = load(page, f"{address}?at={seq}")
    show("the 20 MB effect itself: steppable", f"{own['ready']:.0f} ms", "")


def assets() -> float:
    """KB of all styles and scripts, each gzipped as it is sent."""
    import django_htmx

    htmx = Path(django_htmx.__file__).parent / "static/django_htmx/htmx-2.min.js"
    files = [*(ROOT / "static/css").glob("*.css"), *(ROOT / "static/js").glob("*.js"), htmx]
    return sum(len(gzip.compress(file.read_bytes())) for file in files) / 1000


def in_browser(product: Product, then: Callable[[Any, str], None]) -> None:
    from playwright.sync_api import sync_playwright

    project = product.client().get("/api/v1/me")["project"]
    web = Client(product.port).sign_in(product.link)
    base = f"http://127.0.0.1:{product.port}"
    pairs = (pair.split("=", 1) for pair in web.headers["Cookie"].split("; "))
    cookies = [{"name": name, "value": value, "url": base} for name, value in pairs]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        context = browser.new_context(base_url=base, viewport={"width": 1440, "height": 900})
        context.add_cookies(cookies)  # type: ignore[arg-type]
        then(context.new_page(), project)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effects", type=int, default=35_000)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    show("all styles and scripts, gzipped", f"{assets():.0f} KB", "120 KB")
    with Product(options.home) as product:
        marker = product.home / "filled-ui"
        if not marker.exists():
            send_big_run(product.client(), "middle", 2000)
            send_big_run(product.client(), "long", options.effects)
            seq = send_big_run(product.client(), "giant", 2000, giant=True)
            marker.write_text(str(seq))
        giant = int(marker.read_text())
        product.rest()

        def measured(page: Any, project: str) -> None:
            measure(page, project, options.effects)
            measure_giant(page, project, giant)

        in_browser(product, measured)


if __name__ == "__main__":
    main()
