"""What a replay of an experiment asks its database: each statement is a way there and back."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from replay import jobs
from replay.models import ReplayEffect
from replay.questions import read_question
from replay.start import start

FOR_A_REPLAY, FOR_A_CALL = 41, 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("log", ["02-two-tools-memory", "refund-memory"])
def test_a_replay_costs_so_many_statements_and_two_for_each_call(
    provider, store, read_log, rung, log
):
    provider({"answer": {"text": "ok"}})
    run = store(read_log(log))
    question = {"run": run.external_id, "models": ["openai:a", "openai:b", "openai:c"]}
    first, second, _ = start(run, read_question(question), jobs.Asker()).replays
    assert jobs.do(first.public_id).ended
    with CaptureQueriesContext(connection) as asked:
        assert jobs.do(second.public_id).ended
    calls = ReplayEffect.objects.filter(replay=second, state="answered").count()
    assert len(asked) <= FOR_A_REPLAY + FOR_A_CALL * calls
