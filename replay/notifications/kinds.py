"""What a webhook can be told of. Pure; docs/notifications.md shows the payload of each."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The `type` of an event."""

    PING = "ping"
    REPLAY_FINISHED = "replay.finished"
    EXPERIMENT_FINISHED = "experiment.finished"
    REGRESSION_FOUND = "regression.found"
    ERROR_RATE = "error_rate.over_bound"
    COST = "cost.over_bound"


TOLD = {
    Kind.REPLAY_FINISHED: "a replay has ended",
    Kind.EXPERIMENT_FINISHED: "the last replay of an experiment has ended",
    Kind.REGRESSION_FOUND: "somebody judged a regression, or a judged one came again",
    Kind.ERROR_RATE: "too many runs fail",
    Kind.COST: "the runs of a day cost too much",
}
"""Those one can choose, and what they mean. A ping is only sent by its button."""
