from pathlib import Path

import pytest

from replay import states
from replay.models import CallState, ReplayStatus

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_states_is_the_generated_one():
    assert (ROOT / "docs" / "states.md").read_text() == states.document()


def test_every_status_of_a_replay_is_in_the_table():
    named = {m.target for m in states.REPLAY_MOVES} | {
        source for m in states.REPLAY_MOVES for source in m.sources
    }
    assert named == set(ReplayStatus.values)


def test_every_state_of_a_call_is_in_the_table():
    named = {m.target for m in states.EFFECT_MOVES} | {
        source for m in states.EFFECT_MOVES for source in m.sources
    }
    assert named == set(CallState.values)


def test_final_and_active_share_nothing():
    assert not states.FINAL & states.ACTIVE


def test_only_a_retry_leads_out_of_what_has_ended():
    leaving = [m for m in states.REPLAY_MOVES if states.FINAL & set(m.sources)]
    assert [(m.event, set(m.sources)) for m in leaving] == [
        ("retry", {"partial", "failed", "cancelled"})
    ]
    assert "Ended: cancelled, failed, partial, succeeded." in states.document()
    assert "Final" not in states.document()


def test_an_answer_leads_nowhere():
    assert not [m for m in states.EFFECT_MOVES if "answered" in m.sources]


def test_an_unknown_event_is_named():
    with pytest.raises(states.UnknownMove, match="explode"):
        states.replay_move("explode")
