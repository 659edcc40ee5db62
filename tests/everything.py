"""Something of everything in a project, and the addresses at which it is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accounts.route_needs import NEEDS, PARAMETERS
from django.urls import get_resolver, reverse

from replay.experiments import datasets
from replay.experiments.asked import read_candidates
from replay.experiments.opening import open_experiment
from replay.jobs import Asker
from replay.models import Baseline, Divergence, Replay
from replay.notifications import bounds
from replay.notifications import keeping as notifications
from replay.project_providers.models import ProjectProvider
from replay.review.deciding import checked, decide
from replay.review.people import person
from runs.accounts.models import User
from runs.models import Run
from runs.search import indexing

QUERIES: dict[str, dict[str, str]] = {
    "runs:session": {"id": "s"},
    "runs:agent": {"name": "demo"},
    "runs:search": {"q": "weather"},
    "runs:palette": {"q": "re"},
    "runs:find": {"q": "weather"},
    "runs:effect-value": {"at": "/id"},
    "replay:compare": {"a": "run-1", "b": "run-2"},
    "replay:experiment-new": {"run": "run-1"},
    "replay-api:compare": {"a": "run-1", "b": "run-2"},
    "api:search": {"q": "weather"},
}
"""What a route is asked with, so that it has something to show."""


def named_in(run: Run, owner: User, replayed: Replay) -> dict[str, object]:
    """What addresses hold: of things made now, beside a replay of `run` that found differences."""
    project = run.project
    of = Divergence.objects.filter(replay=replayed).order_by("pk")[0]
    decide(of, checked("accepted", ""), person(owner), seen=of.version)
    candidates = read_candidates({"models": ["openai:gpt-b"]})
    experiment, _ = open_experiment(project, [run], candidates, Asker())
    given = notifications.read({"url": "https://example.com/hook"})
    hook, _ = notifications.add(project, given, by=owner, origin="")
    ProjectProvider.objects.create(project=project, name="there", kind="openai")
    indexing.index_pending()
    return {
        **PARAMETERS,
        "run_id": run.external_id,
        "name": "there",
        "replay_id": replayed.public_id,
        "divergence_id": of.public_id,
        "cluster_id": of.cluster_id,
        "baseline_id": Baseline.objects.get(project=project).public_id,
        "experiment_id": experiment.public_id,
        "dataset_id": datasets.keep(project, "Some", [run], owner).public_id,
        "webhook_id": hook.public_id,
        "bound_id": bounds.add(project.pk, {"measure": "cost", "dollars": 1}).public_id,
    }


def address_of(route: str, there: dict[str, Any]) -> str:
    resolver = get_resolver()
    for part in route.split(":")[:-1]:
        resolver = resolver.namespace_dict[part][1]
    found = resolver.reverse_dict.getlist(route.rsplit(":", 1)[-1])
    names = next(names for possibility in found for _, names in possibility[0])
    return reverse(route, kwargs={name: there[name] for name in names})


def routes(method: str, *, api: bool) -> Iterator[str]:
    """The names of the routes that take a method, of the API or of the pages."""
    return (name for name, by in NEEDS.items() if method in by and ("api:" in name) is api)
