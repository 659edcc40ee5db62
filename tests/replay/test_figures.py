"""Figures beside each other: from, to, by how much, and unknown is not zero."""

from __future__ import annotations

from decimal import Decimal

import pytest

from replay.comparison.figures import Shift, cost_shift, percent, time_shift, token_shift


def test_a_cost_that_fell():
    assert cost_shift(Decimal("0.0712"), Decimal("0.0695")) == Shift(
        "$0.0712", "$0.0695", "−$0.0017", "−2.4%", "ok"
    )


def test_an_unknown_cost_has_no_change():
    assert cost_shift(None, Decimal("0.07")) == Shift("—", "$0.0700")


def test_a_cost_at_least_has_no_change():
    shift = cost_shift(Decimal(1), Decimal(2), known=(True, False))
    assert (shift.after, shift.by) == ("≥ $2.0000", "")


def test_free_is_known():
    assert cost_shift(Decimal("0.5"), Decimal(0)).percent == "−100%"


def test_a_time_that_rose():
    assert time_shift(4150, 4880) == Shift("4.15 s", "4.88 s", "+730 ms", "+18%", "warn")


def test_tokens():
    assert token_shift(18204, 17960) == Shift("18,204", "17,960", "−244", "−1.3%", "ok")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0, 5, ""),
        (None, 5, ""),
        (5, None, ""),
        (5, 5, "±0.0%"),
        (1, 100, "+9,900%"),
        (4400, 16, "−99%"),
        (4400, 0, "−100%"),
        (100, 200, "+100%"),
    ],
)
def test_percent(before, after, told):
    assert percent(before, after) == told
