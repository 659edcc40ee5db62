"""Whatever part of a run was read, questions about its effects have one answer."""

import pytest

from runs import ingest
from runs.models import Run
from runs.steps.stretch import read_stretch

BOUNDS = [(1, 301), (1, 20), (100, 160), (290, 301), (301, 301), (400, 500)]


@pytest.fixture
def night_shift(project, shared) -> Run:
    body = (shared / "data/rig/night-shift-300.effects.json").read_bytes()
    ingest.accept_log(project, body, run_id="run")
    return Run.objects.get()


def seqs(rows) -> list[int | None]:
    return [row.seq if row else None for row in rows]


@pytest.mark.parametrize(("first", "last"), BOUNDS)
def test_the_nearest_effects_are_found_in_and_out_of_a_stretch(night_shift, first, last) -> None:
    around = read_stretch(night_shift, first, last)
    asked = night_shift.effects.filter(family="completion").order_by("seq")
    models = list(asked.values_list("seq", flat=True))
    for at in range(1, 302, 20):
        after = next((seq for seq in models if seq > at), None)
        before = next((seq for seq in reversed(models) if seq < at), None)
        found = (around.before(at, family=["completion"]), around.after(at, family=["completion"]))
        assert seqs(found) == [before, after]


@pytest.mark.parametrize(("first", "last"), BOUNDS)
def test_what_lies_between_two_positions_is_found_in_order(night_shift, first, last) -> None:
    around = read_stretch(night_shift, first, last)
    tools = list(night_shift.effects.filter(family="tool").values_list("seq", flat=True))
    expected = sorted(seq for seq in tools if 15 < seq < 297)
    assert seqs(around.between(15, 297, 1000, family=["tool"])) == expected
    assert seqs(around.between(15, None, 3, family=["tool"])) == expected[:3]


def test_a_stretch_that_has_the_answer_asks_nothing(night_shift, django_assert_num_queries) -> None:
    around = read_stretch(night_shift, 100, 160)
    with django_assert_num_queries(0):
        assert seqs([around.before(130), around.after(130)]) == [129, 131]
