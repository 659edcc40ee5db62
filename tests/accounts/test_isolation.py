"""What is in one project is in no other, whoever asks and by whichever id: every route that names
a thing is asked for those of another project."""

from __future__ import annotations

import base64

import pytest
from accounts.route_needs import NEEDS
from accounts.test_routes import ask, parameter_names
from django.test import Client
from django.urls import resolve
from factories import body, completion, run

from replay import jobs
from replay.experiments import datasets
from replay.experiments.asked import read_candidates
from replay.experiments.opening import open_experiment
from replay.fake_provider import FakeProvider
from replay.models import Delivery, Replay
from replay.notifications import bounds, outbox
from replay.notifications import keeping as webhooks
from replay.notifications.kinds import Kind
from replay.project_providers import keeping as providers
from replay.questions import read_question
from replay.review.deciding import checked, decide
from replay.review.models import Baseline, Divergence, ReviewEvent
from replay.review.people import person
from replay.start import start
from runs.accounts import keys, people
from runs.accounts.models import ApiKey, Membership, OneTimeLink, Project, Role, Scope, User
from runs.comments import writing
from runs.models import Attachment, Run, SavedView
from runs.search.indexing import index_pending

pytestmark = pytest.mark.django_db
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"theirs" * 1000).decode()
NAMED = ("link_id", "member_id", "key_id", "run_id", "view_id", "replay_id", "name", "comment_id",
         "cluster_id", "event_id", "divergence_id", "baseline_id", "experiment_id", "dataset_id",
         "webhook_id", "delivery_id", "bound_id")  # fmt: skip
"""Parameters of addresses that name something of a project."""


def asked_for() -> list[tuple[str, str]]:
    found = []
    for name, needs in NEEDS.items():
        if any(set(NAMED) & set(names) for names in parameter_names(name)):
            found += [(name, method) for method in needs]
    found.remove(("replay-api:provider", "PUT"))  # a name is free in each project: it makes one
    return found


@pytest.fixture
def their_run(project, api) -> Run:
    record = completion(1, "Hi", "Hello there")
    picture = {"type": "image", "data": {"type": "base64", "value": PNG}, "media_type": "png"}
    record["kind"]["request"]["chat_history"][0]["content"].append(picture)
    api("POST", "/api/v1/runs", run("their-run", record, agent="theirs", session_id="theirs"))
    index_pending()
    return Run.objects.select_related("project").get()


@pytest.fixture
def their_replay(their_run, monkeypatch) -> Replay:
    """One that differs in its only call."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    with FakeProvider([{"answer": {"text": "Refunded 12 EUR."}}]) as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.openai_base_url)
        question = read_question({"run": "their-run", "models": ["openai:gpt-b"]})
        replay = start(their_run, question, jobs.Asker()).replays[0]
        jobs.run_job(replay.public_id)
    return replay


@pytest.fixture
def theirs(project, make_member, their_run, their_replay) -> dict[str, object]:
    """One of everything in the project `acme`."""
    owner, there = make_member("owner"), their_run
    divergence = Divergence.objects.get()
    decide(divergence, checked("accepted", "as said"), person(owner), seen=divergence.version)
    asked = read_candidates({"models": ["openai:a"]})
    experiment, _ = open_experiment(project, [there], asked, jobs.Asker())
    hook, _ = webhooks.add(
        project, webhooks.read({"url": "https://x.example/"}), by=owner, origin=""
    )
    outbox.put([hook], Kind.REPLAY_FINISHED, "1", {"url": "/p/acme"})
    bound = bounds.add(project.pk, {"measure": "cost", "dollars": 1})
    providers.add(
        project, providers.read({"name": "theirs", "kind": "openai", "key": "k" * 9}), owner
    )
    member = Membership.objects.select_related("project", "user").get(user=owner)
    people.invite(by=member, role=Role.VIEWER)
    return {
        "run_id": "their-run",
        "seq": 1,
        "digest": Attachment.objects.get().digest,
        "side": "sent",
        "replay_id": their_replay.public_id,
        "name": "theirs",
        "view_id": SavedView.objects.create(project=project, name="V", query="").pk,
        "comment_id": writing.write(there, 1, "so?", author=owner).pk,
        "cluster_id": divergence.cluster_id,
        "event_id": ReviewEvent.objects.get().pk,
        "divergence_id": divergence.public_id,
        "baseline_id": Baseline.objects.get().public_id,
        "experiment_id": experiment.public_id,
        "dataset_id": datasets.keep(project, "Theirs", [there], owner).public_id,
        "webhook_id": hook.public_id,
        "delivery_id": Delivery.objects.get().pk,
        "bound_id": bound.public_id,
        "link_id": OneTimeLink.objects.get(project=project).pk,
        "member_id": member.pk,
        "key_id": ApiKey.objects.get().pk,
    }


@pytest.fixture
def mine(db) -> Project:
    """Another project, whose owner belongs to no other."""
    return people.create_project(
        name="Mine", slug="mine", owner=User.objects.create_user("me@x.io")
    )


def everything() -> dict[str, list[dict]]:
    """What the tables hold, but for when a key or a session was used."""
    from django.apps import apps

    skipped = ("sessions", "axes", "contenttypes", "auth")
    tables = [m for m in apps.get_models() if m._meta.app_label not in skipped and m._meta.managed]
    held = {m._meta.label: list(m._base_manager.order_by("pk").values()) for m in tables}
    for row in held[ApiKey._meta.label]:
        del row["last_used_at"]
    for row in held[User._meta.label]:
        del row["last_login"]
    return held


BODY = body({
    "verdict": "accepted", "text": "seen", "model": "m", "models": ["openai:a"], "name": "Other",
    "run": {"status": "failed"}, "records": [completion(2)], "kind": "openai", "role": "viewer",
})  # fmt: skip


@pytest.mark.parametrize(("name", "method"), asked_for())
def test_nothing_of_another_project_is_reached(theirs, mine, signed_in, name, method):
    of_api = "api:" in name
    named = {n: v for n, v in theirs.items() if n in parameter_names(name)[0]}
    if not of_api:
        named["slug"] = "mine"
    key = keys.mint(project=mine, name="k", scope=Scope.ADMIN)[1]
    headers = {"Authorization": f"Bearer {key}"} if of_api else {}
    client = Client() if of_api else signed_in(User.objects.get(email="me@x.io"))
    before = everything()
    form = {"content_type": "application/json", "data": BODY}
    if not of_api:
        form = {"content_type": "application/x-www-form-urlencoded", "data": FORM}
    answer = ask(client, name, method, parameters=named, headers=headers, **form)
    assert answer.status_code == 404
    assert not [label for label, rows in everything().items() if rows != before[label]]


FORM = (
    "verdict=accepted&which=all&version=1&up_to=99&text=seen&model=m&models=openai:a&name=Other"
    "&role=viewer&do=delete&minimum=wording"
)
BESIDE = [
    ("GET", "/p/mine/runs?q=hello"),
    ("GET", "/p/mine/runs?view={view_id}"),
    ("GET", "/p/mine/filters/agent"),
    ("GET", "/p/mine/search?q=hello"),
    ("GET", "/p/mine/palette?q=their&run=their-run"),
    ("GET", "/p/mine/selection/export?run=their-run"),
    ("GET", "/p/mine/selection/deletion?run=their-run"),
    ("GET", "/p/mine/selection/replay?run=their-run"),
    ("POST", "/p/mine/selection/deletion?run=their-run"),
    ("POST", "/p/mine/selection/tags?run=their-run&tag=x"),
    ("GET", "/p/mine/session?id=theirs"),
    ("GET", "/p/mine/agent?name=theirs"),
    ("GET", "/p/mine/costliest?last=24h"),
    ("GET", "/p/mine/attachments/{digest}"),
    ("GET", "/p/mine/compare?a=their-run&b=their-run"),
    ("GET", "/p/mine/replays?run=their-run"),
    ("GET", "/p/mine/review?cluster={cluster_id}&at={divergence_id}&state=accepted"),
    ("GET", "/p/mine/baselines"),
    ("GET", "/p/mine/experiments/new?run=their-run&model=openai:a"),
    ("GET", "/p/mine/experiments/new?dataset={dataset_id}&model=openai:a"),
    ("POST", "/p/mine/experiments/new?run=their-run&model=openai:a"),
    ("POST", "/p/mine/datasets?run=their-run&name=mine"),
    ("POST", "/p/mine/mentions?comment={comment_id}"),
    ("GET", "/p/mine/ignore-rules?path=/text"),
    ("GET", "/p/mine/settings/providers"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/search?q=hello"),
    ("GET", "/api/v1/compare?a=their-run&b=their-run"),
    ("GET", "/api/v1/replays?run=their-run"),
    ("GET", "/api/v1/divergences?run=their-run"),
    ("GET", "/api/v1/divergences?cluster={cluster_id}"),
    ("GET", "/api/v1/verdicts/export"),
    ("GET", "/api/v1/experiments"),
    ("GET", "/api/v1/datasets"),
    ("GET", "/api/v1/webhooks"),
    ("GET", "/api/v1/bounds"),
    ("GET", "/api/v1/providers"),
    ("POST", "/api/v1/replays", {"run": "their-run", "models": ["openai:a"]}),
    ("POST", "/api/v1/experiments", {"runs": ["their-run"], "models": ["openai:a"]}),
    ("POST", "/api/v1/experiments", {"dataset": "{dataset_id}", "models": ["openai:a"]}),
    ("POST", "/api/v1/datasets", {"name": "x", "runs": ["their-run"]}),
    ("POST", "/api/v1/ignore-rules/preview", {"name": "x", "path": "/text", "action": "ignore"}),
]
"""Where a thing is named in the query or the body, or is one of many that are listed."""


@pytest.mark.parametrize("asked", BESIDE, ids=lambda asked: f"{asked[0]} {asked[1]}")
def test_nothing_of_another_project_is_told(theirs, mine, signed_in, asked):
    method, address, *sent = asked
    of_api = address.startswith("/api/")
    key = keys.mint(project=mine, name="k", scope=Scope.ADMIN)[1]
    client = Client() if of_api else signed_in(User.objects.get(email="me@x.io"))
    headers = {"Authorization": f"Bearer {key}"} if of_api else {}
    before = everything()
    path, _, query = address.format(**theirs).partition("?")
    assert resolve(path).url_name != "api-nothing"
    data, kind = query.encode(), "application/x-www-form-urlencoded"
    if sent:
        data = body(sent[0]).replace(b"{dataset_id}", str(theirs["dataset_id"]).encode())
        kind = "application/json"
    address = f"{path}?{query}" if method == "GET" else path
    answer = client.generic(method, address, data, content_type=kind, headers=headers)
    told = answer.getvalue()
    assert answer.status_code < 500 and answer.status_code != 405
    assert not [word for word in TELLING if word in told.replace(query.encode(), b"")]
    assert not [label for label, rows in everything().items() if rows != before[label]]


TELLING = (b"Hello there", b"gpt-b", b"theirs", b"as said", b"x.example", b"Theirs")
