"""An experiment by API holds to the plan that was seen; the pages' tests are beside theirs."""

from __future__ import annotations

import factories
import pytest

from replay.models import Experiment

pytestmark = pytest.mark.usefixtures("rung")
A, B = "openai:a", "openai:b"


@pytest.fixture
def runs(store, provider) -> None:
    provider()
    for name in ("r1", "r2"):
        store(factories.log(factories.completion(1, f"Hi {name}")), name)


def test_an_experiment_starts_with_no_more_calls_than_were_seen(runs, call):
    asked = {"runs": ["r1", "r2"], "models": [A]}
    _, planned = call("POST", "experiments", **asked, plan_only=True)
    total = planned["plan"]["calls"]["total"]
    status, refused = call("POST", "experiments", **asked, max_calls=total - 1)
    assert (status, refused["error"]["code"]) == (409, "plan_changed")
    assert not Experiment.objects.exists()
    status, made = call("POST", "experiments", **asked, max_calls=total)
    assert status == 201
    path = f"experiments/{made['id']}/candidates"
    status, refused = call("POST", path, models=[B], max_calls=0)
    assert (status, refused["error"]["code"]) == (409, "plan_changed")
    assert call("POST", path, models=[B], max_calls=total)[1]["added"] == 1


def test_the_calls_that_were_seen_are_of_the_whole_and_of_no_candidate(runs, call):
    asked = {"runs": ["r1"], "candidates": [{"model": A, "max_calls": 9}]}
    status, refused = call("POST", "experiments", **asked)
    assert (status, refused["error"]["field"]) == (422, "candidates.0.max_calls")
