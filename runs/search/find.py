"""Effects that have what was asked for, newest first, a page at a time.

The newest texts are looked through first: a common word fills the page there. What is rare is
then found by the index in the rest. A phrase of common words that hardly ever meet would have the
index look at each place where they are: that is done in windows, within a time, and the page says
how far it came.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.urls import reverse
from django.utils.http import urlencode

from runs.accounts.models import Project
from runs.models import Effect, Run
from runs.search import index
from runs.search.excerpt import Excerpt, excerpt
from runs.search.models import SearchText
from runs.search.query import Clause, Query

FEW = 1000
LAST_KEY = 2**63 - 1
LAST_PART = 2**31 - 1
SECONDS = 1.5
"""So long a page is looked for before it is shown as far as it is."""
MANY_HITS = 12_000
"""The runs of so many hits are sorted by their keys; of more, the list itself is gone along."""
FREQUENT = 5
"""Hits among the newest `FEW` texts of a phrase whose runs are soon met going along the list. To
count all of its hits, every text that has its words would be read."""


@dataclass(frozen=True, slots=True)
class Hit:
    run: Run
    effect: Effect
    excerpt: Excerpt

    def url(self, slug: str, query: Query) -> str:
        """The effect in its run, where the page marks what was looked for."""
        page = reverse("runs:detail", args=[slug, self.run.external_id])
        return f"{page}?{urlencode({'at': str(self.effect.seq), 'q': query.text})}"


@dataclass(frozen=True, slots=True)
class Found:
    """`next` is where to go on; with `is_cut` older effects were not looked at for lack of time."""

    hits: list[Hit]
    next: int | None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class RunsWith:
    """`condition` is for a query on runs. With `is_few` it names them, all of the project; with
    `is_guessed` there may be none far down the list, so that one stops looking somewhere."""

    condition: Q
    is_few: bool = False
    is_guessed: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    key: int
    run_id: int
    seq: int
    portion: int
    is_long: bool


def find(project: Project, query: Query, *, after: int | None = None, limit: int = 25) -> Found:
    """The effects of a project that have all of `query`, behind the place `after`."""
    until = time.monotonic() + SECONDS
    wanted = _wanted(index.of_project(project.pk), query)
    places: list[Place] = []
    low = 0
    for window in _windows(project, query, after):
        low = window.low
        places += _in_window(project, query, wanted, window, limit + 1 - len(places), until)
        if len(places) > limit or time.monotonic() > until:
            break
    if len(places) > limit:
        return Found(_hits(places[:limit], query), places[limit - 1].key)
    is_cut = _texts(project, low).exists()
    return Found(_hits(places, query), low if is_cut else None, is_cut)


def find_in_run(run: Run, query: Query, *, after: int = 0, limit: int = 100) -> list[Hit]:
    """The effects of a run that have all of `query`, in order, behind position `after`."""
    wanted = _wanted(index.of_run(run.pk), query)
    found: list[Place] = []
    start = (after, LAST_PART)
    while len(found) < limit:
        rows = index.here().in_order(wanted, start, limit)
        found += _checked(rows, query)
        if len(rows) < limit:
            break
        start = (rows[-1][2], rows[-1][4])
    return _hits(found[:limit], query)


def runs_with(project: Project, query: Query, *, newest: bool = False) -> RunsWith:
    """Runs of the project of which some effect has all of `query`; `newest` of them are wanted, and
    nothing else is asked of them."""
    scope = index.of_project(project.pk)
    guessed = newest and bool(query.phrases) and _is_frequent(project, query)
    wanted = index.here().asked([scope], query.clauses)
    keys = None if guessed else index.here().runs(wanted, MANY_HITS)
    long = _runs_of_long_texts(scope, query) if query.phrases else set()
    if keys is not None:
        return RunsWith(_condition(index.here().of_keys(long.union(keys))), is_few=True)
    # The same, asked of each run of the list as it is gone along: a page of them is soon full.
    found = _condition(index.here().of_listed_run(query.clauses))
    return RunsWith(found | Q(pk__in=long) if long else found, is_guessed=guessed)


def _is_frequent(project: Project, query: Query) -> bool:
    wanted = _wanted(index.of_project(project.pk), query)
    window = next(_windows(project, query, None))
    until = time.monotonic() + SECONDS
    return len(_in_window(project, query, wanted, window, FREQUENT, until)) == FREQUENT


def _condition(asked: tuple[str, list[Any]]) -> Q:
    sql, values = asked
    return Q(RawSQL(sql, values, output_field=BooleanField()))


def _runs_of_long_texts(scope: str, query: Query) -> set[int]:
    wanted = index.here().asked([scope, index.LONG], query.singles)
    rows = index.here().newest(wanted, 0, LAST_KEY, MANY_HITS, 0, few=False)
    return {place.run_id for place in _checked(rows, query)}


# --- Where to look ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    """Keys from `low` up to but without `high`; `few`: no more than are read one by one."""

    low: int
    high: int
    few: bool = False


def _windows(project: Project, query: Query, after: int | None) -> Iterator[_Window]:
    high = LAST_KEY if after is None else after
    newest = _texts(project, high).order_by("-pk").values_list("pk", flat=True)
    low = next(iter(newest[FEW - 1 : FEW]), 0)
    yield _Window(low, high, few=True)
    size: int = index.here().WINDOW if query.phrases else LAST_KEY
    while low > 0:
        high, low = low, max(low - size, 0)
        yield _Window(low, high)
        size *= 4


def _texts(project: Project, below: int) -> QuerySet[SearchText]:
    return SearchText.objects.filter(project=project, part=0, pk__lt=below)


def _in_window(
    project: Project, query: Query, wanted: str, window: _Window, room: int, until: float
) -> list[Place]:
    found: list[Place] = []
    high = window.high
    while len(found) < room:
        rows = index.here().newest(wanted, window.low, high, room, project.pk, few=window.few)
        found += _checked(rows, query)
        if len(rows) < room or time.monotonic() > until:
            break
        high = rows[-1][0]
    return found[:room]


def _wanted(scope: str, query: Query) -> str:
    singles = query.singles if query.phrases else ()
    wanted: str = index.here().asked([scope], query.clauses, singles)
    return wanted


def _checked(rows: Iterable[Sequence[Any]], query: Query) -> Iterator[Place]:
    """Places in the order of the rows; of a long text only where each phrase is in a piece."""
    for key, run_id, seq, portion, _, is_long in rows:
        place = Place(key, run_id, seq, portion, bool(is_long))
        if not is_long or all(_piece_with(place, phrase) for phrase in query.phrases):
            yield place


def _piece_with(place: Place, clause: Clause) -> int | None:
    """The key of the first piece of a long text that has the clause."""
    scope = index.of_pieces(place.run_id, place.seq, place.portion)
    rows = index.here().in_order(index.here().asked([scope], [clause]), (-1, 0), 1)
    return rows[0][0] if rows else None


# --- What is shown of it ------------------------------------------------------------------------


def _hits(places: list[Place], query: Query) -> list[Hit]:
    runs = Run.objects.in_bulk({place.run_id for place in places})
    effects = _effects(places)
    bodies = _bodies(places, query)
    hits: dict[tuple[int, int], Hit] = {}
    for place in places:
        run, effect = runs.get(place.run_id), effects.get((place.run_id, place.seq))
        if run and effect:
            shown = excerpt(bodies.get(place.key, ""), query.clauses)
            hits.setdefault((run.pk, effect.seq), Hit(run, effect, shown))
    return list(hits.values())


def _effects(places: list[Place]) -> dict[tuple[int, int], Effect]:
    wanted = Effect.objects.filter(
        run_id__in={place.run_id for place in places}, seq__in={place.seq for place in places}
    ).only("run_id", "seq", "family", "key", "name", "status", "started_at")
    return {(effect.run_id, effect.seq): effect for effect in wanted}


def _bodies(places: list[Place], query: Query) -> dict[int, str]:
    """Place → the text around the first clause that is found; a long text is read in one piece."""
    keys: dict[int, int] = {}
    for place in places:
        piece = _piece_with(place, query.clauses[0]) if place.is_long else place.key
        keys[place.key] = piece or place.key
    bodies = dict(SearchText.objects.filter(pk__in=keys.values()).values_list("pk", "body"))
    return {place: bodies.get(key, "") for place, key in keys.items()}
