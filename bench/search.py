"""How long a search takes over many effects, and what indexing them costs.

    python -m bench.search [--effects 100000] [--home FOLDER]

Fills a database of its own (`--home` keeps it for the next time; DATABASE_URL names an empty
PostgreSQL) with the workload's runs in this process, the rest with copies of their rows and texts
(`bench.copies`), then times searches as the page and the API make them. No server runs: what HTTP
adds is the same for every request (`bench.read`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.copies import multiply
from bench.product import percentile

QUERIES = {
    "a rare word": "{rare}",
    "a common word": "the",
    "two common words": "the and",
    "a word and a rare one": "the {rare}",
    "a phrase": '"{phrase}"',
    "a phrase that hardly is": '"and the of"',
    "a start": "ord*",
    "a wide start": "re*",
    "an identifier": "order_8812",
    "nothing": "zzzyzzxq",
}
REPEAT = 7
SENT = 10_000
"""Effects that come in through ingest and the indexing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effects", type=int, default=100_000)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    home = options.home or Path(tempfile.mkdtemp(prefix="rewyn-bench-"))
    home.mkdir(parents=True, exist_ok=True)
    os.environ["REWYN_HOME"] = str(home)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    project = fill(min(SENT, options.effects))
    copy(options.effects // SENT - 1)
    measure(project)


def fill(effects: int) -> Any:
    """A project with at least so many effects, all of them indexed."""
    import workload

    from runs import ingest
    from runs.accounts.models import Project
    from runs.models import Effect
    from runs.search import indexing

    project, _ = Project.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    have = Effect.objects.count()
    if have >= effects:
        return project
    took = {"ingest": 0.0, "index": 0.0}
    runs, done, taken = 0, have, 0
    stream = workload.runs(effects // 12 + 1, seed=1, first=have // 12)
    for run in stream:
        if done >= effects:
            break
        took["ingest"] += _cpu(lambda run=run: ingest.accept_run(project, workload.to_post(run)))
        runs, done, taken = runs + 1, done + 12, taken + 12
        if taken >= 600:
            took["index"] += _cpu(indexing.index_pending)
            taken = 0
    took["index"] += _cpu(indexing.index_pending)
    if runs:
        for what, seconds in took.items():
            print(f"{what:<10} {seconds * 1e3 / runs:6.2f} ms of CPU a run")
    return project


def copy(copies: int) -> None:
    """Copy the runs and their (short) texts, the words as they are indexed."""
    from django.db import connection

    from runs.models import Effect, Run
    from runs.search.models import SearchState, SearchText

    if copies < 1 or Effect.objects.count() > SENT * 2:
        return
    run, text = Run.objects.latest("pk").pk, SearchText.objects.latest("pk").pk
    connection.close()
    multiply(os.environ.get("DATABASE_URL") or str(connection.settings_dict["NAME"]), copies)
    is_postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for number in range(1, copies + 1):
            for statement in _copied(number * run, number * text, text, is_postgres):
                cursor.execute(statement)
        if is_postgres:
            cursor.execute(
                "SELECT setval('runs_searchtext_id_seq', (SELECT max(id) FROM runs_searchtext))"
            )
        cursor.execute("ANALYZE")
    SearchState.objects.update(indexed_through=Effect.objects.latest("pk").pk)


def _copied(run: int, text: int, last: int, is_postgres: bool) -> list[str]:
    whole = f"t.id <= {last} AND t.part = 0 AND NOT t.is_long"
    words = (
        f", ts_delete(t.words, '@r' || t.run_id) || ('@r' || t.run_id + {run})::tsvector"
        if is_postgres
        else ""
    )
    texts = (
        "INSERT INTO runs_searchtext (id, run_id, project_id, seq, portion, part, is_long, body"
        f"{', words' if is_postgres else ''}) SELECT t.id + {text}, t.run_id + {run}, t.project_id,"
        f" t.seq, t.portion, 0, t.is_long, t.body{words} FROM runs_searchtext t WHERE {whole}"
    )
    if is_postgres:
        return [texts]
    return [
        texts,
        "INSERT INTO runs_searchwords (rowid, words, scope)"
        f" SELECT f.rowid + {text}, f.words, 'p' || t.project_id || ' r' || (t.run_id + {run})"
        f" FROM runs_searchtext t JOIN runs_searchwords f ON f.rowid = t.id WHERE {whole}",
    ]


def _cpu(act: Callable[[], Any]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def measure(project: Any) -> None:
    from runs.models import Effect, Run
    from runs.search.find import find, find_in_run
    from runs.search.models import SearchText
    from runs.search.query import parse

    count, texts = Effect.objects.count(), SearchText.objects.count()
    print(f"{count:,} effects, {texts:,} texts, {_size():,.0f} MB of database")
    words = SearchText.objects.filter(part=0, is_long=False).order_by("pk")[1000].body.split()
    named = {"rare": max(words, key=len), "phrase": " ".join(words[:3]).replace('"', "")}
    run = Run.objects.order_by("pk")[count // 24]
    for what, text in QUERIES.items():
        query = parse(text.format(**named))
        hits = len(find(project, query).hits)
        first = _timed(lambda query=query: find(project, query))
        listed = _timed(lambda query=query: _listed(project, query))
        within = _timed(lambda query=query: find_in_run(run, query))
        print(
            f"{what:<26} {hits:>3} hits   page {_said(first)}   runs {_said(listed)}"
            f"   in a run {_said(within)}"
        )


def _listed(project: Any, query: Any) -> list[Any]:
    from runs.lists.listed import page_of
    from runs.querysets import OF_A_ROW

    return page_of(project, {"q": query}, OF_A_ROW).runs


def _timed(act: Callable[[], Any]) -> list[float]:
    took = []
    for _ in range(REPEAT):
        began = time.perf_counter()
        act()
        took.append((time.perf_counter() - began) * 1e3)
    return took


def _said(took: list[float]) -> str:
    return f"{percentile(took, 0.5):6.1f} (least {min(took):6.1f}) ms"


def _size() -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return float(cursor.fetchone()[0]) / 1e6


if __name__ == "__main__":
    main()
