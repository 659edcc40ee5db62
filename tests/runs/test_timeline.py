from hypothesis import example, given
from hypothesis import strategies as st

from runs.steps.timeline import GAP_WIDTH, WIDTH, Moment, indent, tape, windows


def moment(seq: int, start: float | None = None, duration: float | None = None, **kw) -> Moment:
    return Moment(seq, kw.get("family", "tool"), kw.get("failed", False), start, duration)


def test_time_runs_from_left_to_right_and_fills_the_tape() -> None:
    first, last = tape([moment(1, 1000, 500), moment(2, 1500, 1500)], 2).marks
    assert (first.x, first.width) == (0, WIDTH / 4)
    assert (last.x, last.x + last.width) == (WIDTH / 4, WIDTH)


def test_a_run_without_times_goes_by_position() -> None:
    view = tape([moment(1), moment(2), moment(3), moment(4)], 4)
    assert not view.axis.by_time
    assert [mark.x for mark in view.marks] == [0, 300, 600, 900]
    assert view.ticks[0].label == "#1"


def test_a_long_pause_is_compressed_and_keeps_its_length() -> None:
    view = tape([moment(1, 0, 1000), moment(2, 3_600_000, 1000)], 2)
    assert [(gap.ms, gap.x) for gap in view.gaps] == [(3_599_000, (WIDTH - GAP_WIDTH) / 2)]
    assert view.marks[1].x == WIDTH / 2 + GAP_WIDTH / 2


def test_many_effects_in_one_column_are_one_mark_that_leads_to_the_error() -> None:
    moments = [moment(seq, failed=seq == 7) for seq in range(1, 100_001)]
    view = tape(moments, 100_000)
    assert len(view.marks) <= WIDTH / 4
    assert (view.marks[0].seq, view.marks[0].failed) == (7, True)
    assert sum(mark.count for mark in view.marks) == 100_000


def test_each_family_has_its_lane_in_one_order() -> None:
    families = ["custom", "retrieve", "tool", "completion", "rerank", "never heard of"]
    view = tape([moment(i + 1, family=f) for i, f in enumerate(families)], len(families))
    assert view.lanes == ("model", "tool", "vector", "custom")


def test_an_effect_without_a_time_stands_behind_the_one_before() -> None:
    view = tape([moment(1, 0, 100), moment(2), moment(3, 150, 50)], 3)
    assert view.marks[1].x == WIDTH / 2


def test_an_end_before_the_start_does_not_move_anything() -> None:
    view = tape([moment(1, 1000, -500), moment(2, 2000, 10)], 2)
    assert view.marks[0].x == 0
    assert view.marks[0].width == 3


def test_tools_stand_under_their_model_call_and_children_under_their_parent() -> None:
    assert [indent("completion", 0), indent("tool", 0), indent("completion", 1)] == [0, 1, 2]


def test_the_window_around_the_selected_effect_is_loaded() -> None:
    assert [(w.first, w.last, w.loaded) for w in windows(300, 126)] == [
        (1, 125, False),
        (126, 250, True),
        (251, 300, False),
    ]
    assert windows(0, 1) == []


starts = st.none() | st.floats(-1e15, 1e15)
moments = st.lists(st.tuples(starts, starts, st.booleans()), max_size=40)


@example(rows=[(0.0, 5e-324, False)])
@given(rows=moments)
def test_whatever_the_clocks_say_every_mark_is_on_the_tape(rows: list) -> None:
    view = tape([moment(i + 1, s, d, failed=f) for i, (s, d, f) in enumerate(rows)], len(rows))
    assert sum(mark.count for mark in view.marks) == len(rows)
    assert all(mark.x >= 0 and mark.x + mark.width <= WIDTH + 0.2 for mark in view.marks)
    assert all(0 <= tick.x <= WIDTH for tick in view.ticks)
    assert len(view.ticks) < 40


def test_what_is_nested_is_lower_and_has_a_line_of_its_depth() -> None:
    outer = Moment(1, "tool", False, 0, 1000, "delegate")
    inner = Moment(2, "completion", False, 250, 250, "gpt-4o", 1)
    view = tape([outer, inner], 2)
    assert [(mark.lane, mark.height) for mark in view.marks] == [("tool", 12), ("model", 9)]
    assert [(nest.x, nest.depth) for nest in view.nests] == [(WIDTH / 4, 1)]
    assert view.marks[1].fact == "#2 gpt-4o · at 250 ms · took 250 ms · nested 1 deep"


def test_a_mark_of_many_says_of_which_it_tells_and_how_many_more() -> None:
    view = tape([moment(seq, failed=seq == 700) for seq in range(1, 1201)], 1200)
    assert view.marks[0].fact == "#1 · with 3 more here"
    assert "#700 · failed · with 3 more here" in [mark.fact for mark in view.marks]
