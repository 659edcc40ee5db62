"""Whom a candidate asks about which runs: one model about all, or each run's recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils import timezone

from replay.askable import NONE, Unasked
from replay.experiments.asked import Wanted
from replay.project_providers.catalog import Catalog, catalog_of
from replay.providers import BadModel
from replay.questions import Candidate
from replay.recorded_model import the_recorded
from runs.accounts.models import Project
from runs.models import Effect, Family, Run
from runs.prices import cost_of
from runs.refusals import Refused
from runs.usage import Usage

PRICED_CALLS = 5000
Tokens = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Recorded:
    """By the key of a run: its recorded model, or why that cannot be asked."""

    models: Mapping[int, Candidate] = field(default_factory=dict)
    wrong: Mapping[int, Refused] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """The runs of a candidate that one model is asked about."""

    model: Candidate
    runs: Sequence[Run]
    usage: Sequence[Tokens]
    """Tokens in and out of their recorded calls, as many as are looked at."""
    costs: Sequence[Decimal]
    """What asking those calls would cost at today's price, where it is known."""
    calls: int
    """Those that can be asked."""


class Shares:
    """What all candidates of a plan have in common, looked up once."""

    def __init__(
        self,
        project: Project,
        runs: Sequence[Run],
        candidates: Sequence[Wanted],
        unasked: Unasked = NONE,
    ) -> None:
        self.project, self.runs, self.unasked = project, runs, unasked
        self.catalog = catalog_of(project.pk)
        calls = _calls(runs).exclude(pk__in=unasked.keys)
        self.usage = _usage(calls)
        asks_recorded = any(one.model is None for one in candidates)
        self.recorded = recorded_models(runs, calls, self.catalog) if asks_recorded else Recorded()

    def of(self, one: Wanted) -> list[Share]:
        """A share for each model that is asked, in the order of the runs."""
        if one.model is not None:
            return [self._share(one.model, self.runs)]
        found: dict[Candidate, list[Run]] = {}
        for run in self.runs:
            if (model := self.recorded.models.get(run.pk)) is not None:
                found.setdefault(model, []).append(run)
        return [self._share(model, runs) for model, runs in found.items()]

    def left_out(self, one: Wanted) -> list[tuple[Run, Refused]]:
        """The runs that this candidate is not asked about, and why."""
        wrong = self.recorded.wrong if one.model is None else {}
        return [(run, wrong[run.pk]) for run in self.runs if run.pk in wrong]

    def _share(self, model: Candidate, runs: Sequence[Run]) -> Share:
        usage = [tokens for run in runs for tokens in self.usage.get(run.pk, ())]
        calls = sum(map(self.unasked.calls, runs))
        return Share(model, runs, usage, list(self._costs(model, usage)), calls)

    def _costs(self, model: Candidate, usage: Sequence[Tokens]) -> Iterator[Decimal]:
        """By the recording's tokens at today's price; of what is unknown nothing."""
        priced_as, now = _priced_as(model, self.catalog), timezone.now()
        for asked, said in usage:
            cost = cost_of(
                Usage(input=asked, output=said),
                family=Family.COMPLETION,
                models=(model.model,),
                provider=priced_as,
                when=now,
                overrides=self.project.price_overrides,
            )
            if cost is not None:
                yield cost


def recorded_models(runs: Sequence[Run], calls: Any, catalog: Catalog) -> Recorded:
    """The recorded model of each run as far as it can be asked here, by one query."""
    used: dict[int, set[tuple[str, str]]] = {run.pk: set() for run in runs}
    for pk, provider, name in calls.values_list("run_id", "provider", "name").distinct():
        used[pk].add((provider, name))
    models: dict[int, Candidate] = {}
    wrong: dict[int, Refused] = {}
    for pk, found in used.items():
        try:
            model = the_recorded(found)
            catalog.choose(str(model))
            models[pk] = model
        except BadModel as bad:
            wrong[pk] = Refused(bad.code, str(bad), "models")
        except Refused as refusal:
            wrong[pk] = refusal
    return Recorded(models, wrong)


def _calls(runs: Sequence[Run]) -> Any:
    keys = [run.pk for run in runs]
    return Effect.objects.filter(run__in=keys, family=Family.COMPLETION).order_by()


def _usage(calls: Any) -> dict[int, list[Tokens]]:
    """By run, of the first PRICED_CALLS of the recorded calls."""
    found: dict[int, list[Tokens]] = {}
    columns = ("run_id", "input_tokens", "output_tokens")
    for pk, *tokens in calls.values_list(*columns)[:PRICED_CALLS]:
        found.setdefault(pk, []).append((tokens[0], tokens[1]))
    return found


def _priced_as(model: Candidate, catalog: Catalog) -> str:
    """The name that price tables may know the model's provider by."""
    with suppress(BadModel):
        return catalog.choose(str(model))[0].priced_as
    return model.provider
