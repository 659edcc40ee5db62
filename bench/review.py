"""How long the review page takes with many open divergences.

    python -m bench.review [--open 10000] [--clusters 400]

One run of the demo's logs is replayed against a fake provider; copies of that replay with other
causes go through the ordinary door (`replay.review.noting`) until as many divergences are open.
Then the pages are timed over HTTP, a cluster of a quarter of all is accepted and that taken back.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

from bench.product import ROOT, Client, Product
from bench.read import show, timed

ROWS = 100
"""Divergences of one replay."""


def fill(count: int, clusters: int) -> None:
    """Run in a process of its own, with the product's environment."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
    django.setup()
    from django.conf import settings

    from replay import jobs
    from replay.fake_provider import FakeProvider
    from replay.models import ReplayEffect
    from replay.questions import read_question
    from replay.review.noting import note
    from replay.start import start
    from runs import ingest
    from runs.accounts.models import Project
    from runs.models import Run

    settings.DEBUG = False  # queries would be kept
    project = Project.objects.get()
    log = ROOT / "runs/demo/logs/refund-memory.effects.json"
    ingest.accept_log(project, log.read_bytes(), run_id="bench", agent="desk")
    run = Run.objects.select_related("project").get(external_id="bench")
    with FakeProvider([{"answer": {"text": "Order 8812 has 2 charges of 49.90 EUR."}}]) as fake:
        os.environ |= {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": fake.openai_base_url}
        question = read_question({"run": "bench", "models": ["openai:bench"]})
        replay = start(run, question, jobs.Asker()).replays[0]
        jobs.run_job(replay.public_id)
    replay.refresh_from_db()
    [row, *_] = ReplayEffect.objects.filter(replay=replay, difference="facts")
    began = time.perf_counter()
    for number in range(count // ROWS):
        copy = _copy_of(replay)
        rows = [
            _row_of(row, copy, seq, _cause(number * ROWS + seq, clusters)) for seq in range(ROWS)
        ]
        ReplayEffect.objects.bulk_create(rows)
        note(copy)
    each = (time.perf_counter() - began) / (count // ROWS) * 1e3
    print(f"a replay of {ROWS} differences stored and noted: {each:.0f} ms")


def _copy_of(replay):  # type: ignore[no-untyped-def]
    from replay.ids import new_replay_id
    from replay.models import Replay

    copy = Replay.objects.select_related("run").get(pk=replay.pk)
    copy.pk, copy.public_id = None, new_replay_id()
    copy.save(force_insert=True)
    return copy


def _row_of(row, replay, seq: int, cause: str):  # type: ignore[no-untyped-def]
    from replay.models import ReplayEffect

    values = {f.attname: getattr(row, f.attname) for f in ReplayEffect._meta.concrete_fields}
    return ReplayEffect(
        **{**values, "id": None, "replay_id": replay.pk, "seq": seq + 1, "cause": [cause]}
    )


def _cause(number: int, clusters: int) -> str:
    """A quarter of all are of one cause, the rest spread evenly."""
    return "/text" if number % 4 == 0 else f"/text/{number % clusters}"


def _filled(product: Product, count: int, clusters: int) -> None:
    call = f"from bench.review import fill; fill({count}, {clusters})"
    subprocess.run([sys.executable, "-c", call], cwd=ROOT, env=product.environment, check=True)


def measure(product: Product) -> None:
    web, api = Client(product.port).sign_in(product.link), product.client()
    page = f"/p/{api.get('/api/v1/me')['project']}/review"
    show("machine and stack: /healthz", timed(api, "/healthz"))
    show("review page", timed(web, page))
    large = _large(web, page)
    show("page of the largest cluster", timed(web, f"{page}?cluster={large}"))
    for query in ("tab=members", "tab=history", "of=facts&agent=desk", "assignee=me"):
        show(f"page ?{query}", timed(web, f"{page}?cluster={large}&{query}"))
    show("run list page", timed(web, page.replace("review", "runs")))
    api = product.client()  # the server closes one that has been silent for long
    show("list API ?state=open", timed(api, "/api/v1/divergences?state=open"))
    for verdict in ("accepted", "ignored", "regression"):
        _decide(web, page, large, verdict)


def _large(web: Client, page: str) -> str:
    """The cluster with the most members: the first that came, at the end of the list."""
    address = page
    while True:
        _, body = web.send("GET", address)
        found = re.findall(
            r'href="\?([^"]*cluster=(\d+)[^"]*)".*?<small>[^·]+· ([\d,]+) ', body.decode()
        )
        largest = max(found, key=lambda one: int(one[2].replace(",", "")))
        if int(largest[2].replace(",", "")) > ROWS:
            return str(largest[1])
        following = re.search(r'href="(\?[^"]+)">more clusters', body.decode())
        assert following is not None, "no cluster is large"
        address = page + following[1].replace("&amp;", "&")


def _decide(web: Client, page: str, cluster: str, verdict: str) -> None:
    """A verdict on the whole cluster, and its undoing."""
    body = web.send("GET", f"{page}?cluster={cluster}")[1].decode()
    [form] = re.findall(r'<form class="judge".*?</form>', body, re.S)
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    sent |= {"which": "all", "verdict": verdict, "baseline": "on"}
    took = [_post(web, f"{page}/clusters/{cluster}/verdict", sent)]
    body = web.send("GET", page)[1].decode()
    [event] = re.findall(r"/events/(\d+)/undo", body)[:1]
    took.append(_post(web, f"{page}/events/{event}/undo", sent))
    [count] = re.findall(r"Undo: \w+ ([\d,]+)", body)
    print(f"{verdict} {count} at once: {took[0]:.0f} ms, taken back: {took[1]:.0f} ms")


def _post(web: Client, path: str, sent: dict[str, str]) -> float:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    began = time.perf_counter()
    status, answer = web.send("POST", path, urlencode(sent).encode(), **form)
    assert status == 302, f"POST {path}: {status} {answer[:300]!r}"
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--open", type=int, default=10_000)
    parser.add_argument("--clusters", type=int, default=400)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    with Product(options.home) as product:
        _filled(product, options.open, options.clusters)
        measure(product)


if __name__ == "__main__":
    main()
