"""What the command palette offers: runs, agents, views, pages, and what can be done with a run.

Bounded whatever the project holds: the newest runs are looked through, older ones are found by the
start of their id alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Q
from django.urls import NoReverseMatch, reverse

from runs.accounts.models import Membership, Project, Role
from runs.models import NAME, Run, SavedView

LOOKED_AT = 1000
"""The newest runs, whose names and agents are looked through."""
SHOWN = 8
"""Of one kind."""
_WORD = re.compile(r"[\w.:-]+")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,200}")

PAGES: tuple[tuple[str, str, Role], ...] = (
    ("Runs", "runs:list", Role.VIEWER),
    ("Search in everything that was said", "runs:search", Role.VIEWER),
    ("Sessions", "runs:sessions", Role.VIEWER),
    ("Agents", "runs:agents", Role.VIEWER),
    ("Replays", "replay:list", Role.VIEWER),
    ("Experiments", "replay:experiments", Role.VIEWER),
    ("Datasets", "replay:datasets", Role.VIEWER),
    ("Review", "replay:review", Role.VIEWER),
    ("Baselines", "replay:baselines", Role.VIEWER),
    ("Ignore rules", "replay:ignore-rules", Role.MEMBER),
    ("Compare two runs", "replay:compare", Role.VIEWER),
    ("Inbox", "replay:inbox", Role.VIEWER),
    ("Saved views", "runs:views", Role.VIEWER),
    ("Import a log", "runs:import", Role.MEMBER),
    ("Connect an agent", "accounts:connect", Role.VIEWER),
    ("API keys", "accounts:keys", Role.ADMIN),
    ("Members", "accounts:members", Role.VIEWER),
    ("Settings of the project", "accounts:settings", Role.VIEWER),
    ("Redaction rules", "accounts:redaction", Role.ADMIN),
    ("Providers", "replay:providers", Role.ADMIN),
    ("Notifications: webhooks and bounds", "replay:notifications", Role.ADMIN),
)
"""What a page is called, its route, and who may see it."""
ACTIONS: tuple[tuple[str, str, Role], ...] = (
    ("Replay this run", "replay:new", Role.MEMBER),
    ("Export the log of this run", "runs:log", Role.VIEWER),
)


class Choice(NamedTuple):
    """One line: where it leads (empty: copies the link of the page) and what is told beside it."""

    label: str
    address: str
    told: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    choices: list[Choice]


class _Recent(NamedTuple):
    external_id: str
    name: str
    title: str
    agent: str

    @property
    def heading(self) -> str:
        return self.name or self.title or self.external_id


def groups(member: Membership, asked: str, run: Run | None) -> list[Group]:
    """Everything whose words begin as the words `asked` do; the newest runs where none are."""
    asked = asked.strip()
    recent = _recent(member.project)
    found = [
        Group("This run", list(_actions(member, run))),
        Group("Runs", _runs(member.project, recent, asked)),
        Group("Agents", _agents(member.project, recent, asked) if asked else []),
        Group("Views", _views(member) if asked else []),
        Group("Pages", list(_pages(member))),
    ]
    narrowed = [
        Group(one.label, one.choices if one.label == "Runs" else _fitting(one.choices, asked))
        for one in found
    ]
    return [one for one in narrowed if one.choices]


def fits(asked: str, text: str) -> bool:
    """Whether each word that was asked begins a word of the text."""
    words = [word.casefold() for word in _WORD.findall(text)]
    words += [part for word in words for part in re.split(r"[.:_-]", word)]
    return all(
        any(word.startswith(wanted) for word in words) for wanted in asked.casefold().split()
    )


def _fitting(choices: Iterable[Choice], asked: str) -> list[Choice]:
    return [one for one in choices if fits(asked, one.label)][: SHOWN * 3]


def _recent(project: Project) -> list[_Recent]:
    newest = Run.objects.of(project).order_by("-sort_at", "-id")[:LOOKED_AT]
    return [_Recent(*row) for row in newest.values_list(*_Recent._fields)]


def _runs(project: Project, recent: list[_Recent], asked: str) -> list[Choice]:
    named = [one for one in recent if fits(asked, f"{one.external_id} {one.heading} {one.agent}")]
    if _ID.fullmatch(asked):
        named = _starting(project, asked) + named
    rows = {one.external_id: one for one in named[: 2 * SHOWN]}
    return [_run_choice(project, one) for one in list(rows.values())[:SHOWN]]


def _starting(project: Project, start: str) -> list[_Recent]:
    """Runs of any age whose id begins like that, along the index of ids."""
    # Of the letters an id may have `z` is the last in every order a database sorts by.
    last = start + "z" * (NAME - len(start))
    ids = Run.objects.of(project).filter(external_id__gte=start, external_id__lte=last)
    rows = ids.order_by("external_id").values_list(*_Recent._fields)[:SHOWN]
    return [one for row in rows if (one := _Recent(*row)).external_id.startswith(start)]


def _run_choice(project: Project, one: _Recent) -> Choice:
    told = " · ".join(part for part in (one.agent, one.external_id) if part != one.heading)
    return Choice(one.heading, reverse("runs:detail", args=[project.slug, one.external_id]), told)


def _agents(project: Project, recent: list[_Recent], asked: str) -> list[Choice]:
    names = dict.fromkeys(one.agent for one in recent if one.agent)
    later = Run.objects.of(project).filter(agent__gte=asked).order_by("agent")
    first = later.values_list("agent", flat=True).first()
    names |= {first: None} if first else {}
    home = reverse("runs:agent", args=[project.slug])
    return [Choice(name, f"{home}?{urlencode({'name': name})}", "agent") for name in names]


def _views(member: Membership) -> list[Choice]:
    mine = Q(owner=member.user_id) | Q(owner=None)
    views = SavedView.objects.filter(mine, project=member.project_id).order_by("name", "pk")
    home = reverse("runs:list", args=[member.project.slug])
    return [
        Choice(one.name, f"{home}?{one.query}{'&' if one.query else ''}view={one.pk}", "view")
        for one in views
    ]


def _pages(member: Membership) -> Iterator[Choice]:
    for label, route, needs in PAGES:
        address = _reversed(route, member.project.slug)
        if address and Role(member.role).covers(needs):
            yield Choice(label, address)
        if route == "runs:agents":
            costliest = reverse("runs:costliest-of-all", args=[member.project.slug])
            yield Choice("Costliest call of the last 24 hours", f"{costliest}?last=24h")


def _actions(member: Membership, run: Run | None) -> Iterator[Choice]:
    if run is None:
        return
    for label, route, needs in ACTIONS:
        address = _reversed(route, member.project.slug, run.external_id)
        if address and Role(member.role).covers(needs):
            yield Choice(label, address)
    compare = _reversed("replay:compare", member.project.slug)
    if compare:
        yield Choice(
            "Compare this run with another", f"{compare}?{urlencode({'a': run.external_id})}"
        )
    if run.error_seq:
        page = reverse("runs:detail", args=[member.project.slug, run.external_id])
        yield Choice("Go to what failed in this run", f"{page}?at={run.error_seq}")
    yield Choice("Copy the link of this page", "")


def _reversed(route: str, *args: str) -> str:
    """The address of a page; empty where nobody serves it."""
    try:
        return reverse(route, args=args)
    except NoReverseMatch:
        return ""
