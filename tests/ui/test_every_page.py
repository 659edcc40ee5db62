"""Every page in both themes: nothing logged, nothing asked of another machine, nothing that the
accessibility rules of axe-core object to."""

from __future__ import annotations

import pytest
from accounts.route_needs import NEEDS
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import reverse
from django.utils import timezone

from replay import jobs
from replay.experiments import datasets
from replay.experiments.asked import read_candidates
from replay.experiments.opening import open_experiment
from replay.fake_provider import FakeProvider
from replay.models import Delivery
from replay.notifications import bounds, inbox, outbox
from replay.notifications import keeping as notifications
from replay.notifications.kinds import Kind
from replay.questions import read_question
from replay.review.deciding import checked, decide
from replay.review.models import Cluster, Divergence
from replay.review.people import Decider, person
from replay.start import start
from runs.accounts import keys, links, people
from runs.accounts.models import Membership, Role, Scope
from runs.comments import writing
from runs.models import Run, SavedView
from runs.search import indexing

pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_database,
    pytest.mark.django_db(transaction=True),
]

RUN = {"slug": "acme", "run_id": "refund-memory"}
PROJECT = {"slug": "acme"}
PAGES: dict[str, list[tuple[dict, str]]] = {
    "accounts:account": [({}, "")],
    "accounts:projects": [({}, "")],
    "accounts:settings": [(PROJECT, "")],
    "accounts:redaction": [(PROJECT, "")],
    "accounts:members": [(PROJECT, "")],
    "accounts:keys": [(PROJECT, "")],
    "accounts:connect": [(PROJECT, "")],
    "accounts:join": [],
    "accounts:sign-in-link": [],
    "runs:list": [
        (PROJECT, "col=comments&col=agent&col=cost"),
        (PROJECT, "agent=nobody"),
        (PROJECT, "cost_min=x"),
        ({"slug": "empty"}, ""),
    ],
    "runs:views": [(PROJECT, "")],
    "runs:selection-deletion": [(PROJECT, "run=refund-memory")],
    "runs:sessions": [(PROJECT, "")],
    "runs:session": [(PROJECT, "id=s1")],
    "runs:agents": [(PROJECT, "")],
    "runs:agent": [(PROJECT, "name=refund")],
    "runs:detail": [
        (RUN, "at=2"),
        (RUN, "at=4"),
        (RUN, "at=5&req=changes&tab=json"),
        ({**RUN, "run_id": "sql-tool-errors"}, "at=4"),
        ({**RUN, "run_id": "incident-stream-kept"}, "at=1&tab=stream"),
    ],
    "runs:search": [(PROJECT, "q=refund"), (PROJECT, "")],
    "runs:palette": [(PROJECT, "q=re")],
    "runs:import": [(PROJECT, "")],
    "runs:patterns": [({}, "")],
    "replay:compare": [
        (PROJECT, "a=refund-memory&b=sql-tool-errors"),
        (PROJECT, ""),
    ],
    "replay:list": [(PROJECT, "")],
    "replay:providers": [(PROJECT, "")],
    "replay:ignore-rules": [(PROJECT, "path=/text")],
    "replay:provider": [],
    "replay:notifications": [(PROJECT, "")],
    "replay:webhook": [],
    "replay:inbox": [(PROJECT, "")],
    "replay:new": [(RUN, "")],
    "replay:detail": [],
    "replay:review": [(PROJECT, ""), (PROJECT, "tab=members"), (PROJECT, "state=accepted")],
    "replay:baselines": [(PROJECT, "")],
    "replay:experiments": [(PROJECT, "")],
    "replay:experiment-new": [(PROJECT, "run=refund-memory&run=sql-tool-errors&model=openai:a")],
    "replay:experiment": [],
    "replay:experiment-candidates": [],
    "replay:datasets": [(PROJECT, "")],
    "replay:dataset": [],
}
"""Route → parameters and query string of each state of the page that is looked at; empty where
they are only known once there is something to look at."""
NO_PAGES = {
    *("healthz", "readyz", "accounts:home", "accounts:project", "accounts:first-run"),
    *("runs:values", "runs:news", "runs:rows", "runs:selection-replay", "runs:selection-export"),
    *(
        "runs:costliest",
        "runs:costliest-of-all",
        "runs:changed",
        "runs:steps",
        "runs:growth",
        "runs:log",
        "runs:find",
        "runs:effect",
        "runs:effect-raw",
    ),
    *("runs:effect-value", "runs:effect-media", "runs:attachment", "runs:comments", "runs:people"),
    *("runs:offline", "runs:envelope", "runs:mentions"),
    *(
        "replay:divergence",
        "replay:body",
        "replay:panel",
        "replay:experiment-export",
        "accounts:sign-in",
    ),
}
"""Ways elsewhere, parts of pages, files; the page to sign in is looked at by itself."""
OPTIONS = {"resultTypes": ["violations"], "preload": False}
COLOURS = {**OPTIONS, "runOnly": ["color-contrast"]}
FOUND = """async (options) => (await axe.run(document, options)).violations.flatMap((broken) =>
    broken.nodes.slice(0, 3).map((node) => `${broken.id}: ${node.html.slice(0, 160)}`))"""


@pytest.fixture
def owner(project, make_member, load_log):
    """An owner of a project in which something of everything is there."""
    user = make_member("owner")
    for name in ("refund-memory", "sql-tool-errors", "incident-stream-kept"):
        load_log(name, agent=name.partition("-")[0], session_id="s1")
    run = Run.objects.get(external_id="refund-memory")
    writing.write(run, 4, "@owner is this right?", author=make_member("member"))
    SavedView.objects.create(project=project, name="Mine", owner=user, query="sort=-cost")
    keys.mint(project=project, name="CI", scope=Scope.READ)
    indexing.index_pending()
    people.create_project(name="Empty", owner=user, slug="empty")
    return user


@pytest.fixture
def reviewed(owner, monkeypatch) -> None:
    """Differences that a replay made, one of them accepted as a baseline."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    run = Run.objects.get(external_id="refund-memory")
    with FakeProvider([{"answer": {"text": "Refunded 12 EUR."}}]) as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.openai_base_url)
        question = read_question({"run": run.external_id, "models": ["openai:gpt-b"]})
        jobs.run_job(start(run, question, jobs.Asker()).replays[0].public_id)
    accepted = Divergence.objects.order_by("pk")[0]
    decide(accepted, checked("accepted", "as said"), person(owner), seen=accepted.version)


@pytest.fixture
def known(owner, reviewed) -> dict:
    """The states of pages about what was just made: a replay that is over, two links."""
    run = Run.objects.select_related("project").get(external_id="refund-memory")
    replay, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    jobs.run_job(replay.public_id)
    asked = read_candidates({"models": ["openai:a", "openai:b"]})
    made, _ = open_experiment(run.project, [run], asked, jobs.Asker())
    experiment = {**PROJECT, "experiment_id": made.public_id}
    kept = datasets.keep(run.project, "Refunds", [run], owner)
    member = Membership.objects.select_related("project").get(user=owner, project=run.project)
    hook = {**PROJECT, "webhook_id": told(member)}
    invite = people.invite(by=member, role=Role.VIEWER, email="new@example.com")
    return {
        "replay:detail": [({**PROJECT, "replay_id": replay.public_id}, "")],
        "replay:experiment": [(experiment, ""), (experiment, "of=error")],
        "replay:experiment-candidates": [(experiment, "")],
        "replay:dataset": [({**PROJECT, "dataset_id": kept.public_id}, "")],
        "replay:webhook": [(hook, ""), (hook, "state=sending")],
        "accounts:join": [({"token": invite}, "")],
        "accounts:sign-in-link": [({"token": links.make_sign_in(owner)}, "")],
    }


def told(member: Membership) -> str:
    """A webhook with something in its log, a bound that is passed, and an inbox."""
    given = notifications.read({"url": "https://example.com/hook"})
    hook, _ = notifications.add(member.project, given, by=member.user, origin="")
    outbox.put([hook], Kind.REPLAY_FINISHED, "1", {"url": "/p/acme"})
    Delivery.objects.update(said="no " * 160, status_code=500, tried_at=timezone.now())
    bounds.add(member.project_id, {"measure": "error_rate", "share": 0})
    bounds.add(member.project_id, {"measure": "cost", "dollars": 2.5, "agent": "refund"})
    bounds.check_due()
    inbox.tell_assigned(Cluster.objects.all()[0], member.user, Decider(None, "CI"))
    inbox.tell_switched_off(hook)
    return hook.public_id


ROWLESS = """() => [...document.querySelectorAll("[data-rows]")]
    .filter((list) => list.querySelector("a") && !list.querySelector("[data-row]"))
    .map((list) => `j and k find no row in ${list.outerHTML.slice(0, 160)}`)"""


def broken(page, address: str) -> list[str]:
    """What is wrong with a page (it has axe): all rules in the light, colours in the dark too."""
    page.emulate_media(color_scheme="light")
    page.goto(address)
    found = page.evaluate(FOUND, OPTIONS) + page.evaluate(ROWLESS)
    page.emulate_media(color_scheme="dark")
    return [f"{address} {one}" for one in found + page.evaluate(FOUND, COLOURS)]


def addresses(known: dict) -> list[str]:
    return [
        f"{reverse(name, kwargs=named)}{'?' if query else ''}{query}"
        for name, found in {**PAGES, **known}.items()
        for named, query in found
    ]


def test_no_page_is_left_out() -> None:
    shown = {name for name, needs in NEEDS.items() if "GET" in needs and "api" not in name}
    assert shown - set(PAGES) - NO_PAGES == set()


@pytest.mark.timeout(300)
def test_every_page_in_both_themes(open_page, owner, known) -> None:
    page, stranger = open_page(owner, reduced_motion="reduce"), open_page()
    for either in (page, stranger):
        either.add_init_script(AXE_SCRIPT)
    found = [one for address in addresses(known) for one in broken(page, address)]
    page.goto("/p/acme/runs")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    found += [f"the palette {one}" for one in page.evaluate(FOUND, OPTIONS)]
    found += broken(stranger, "/sign-in")
    assert not found, "\n".join(found)
