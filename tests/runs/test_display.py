from datetime import UTC, datetime
from decimal import Decimal

import pytest

from runs import display

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dollars", "complete", "text"),
    [
        (None, True, "—"),
        (None, False, "—"),
        (Decimal(0), True, "$0.00"),
        (Decimal("0.00001"), True, "<$0.0001"),
        (Decimal("0.0712"), True, "$0.0712"),
        (Decimal("0.0712"), False, "≥ $0.0712"),
        (Decimal("2.941"), True, "$2.9410"),
        (Decimal("-0.0038"), True, "-$0.0038"),
        (Decimal("1234.5"), True, "$1,234.50"),
    ],
)
def test_cost(dollars: Decimal | None, complete: bool, text: str) -> None:
    assert display.cost(dollars, complete) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "—"),
        (0, "0 ms"),
        (0.4, "0.4 ms"),
        (86, "86 ms"),
        (999.6, "1.00 s"),
        (1420, "1.42 s"),
        (38400, "38.4 s"),
        (134_000, "2 m 14 s"),
        (11_100_000, "3 h 5 m"),
    ],
)
def test_duration(ms: float | None, text: str) -> None:
    assert display.duration(ms) == text


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (None, "—"),
        (datetime(2026, 11, 29, 11, 59, 30, tzinfo=UTC), "just now"),
        (datetime(2026, 11, 29, 11, 49, tzinfo=UTC), "11 min ago"),
        (datetime(2026, 11, 28, 12, 1, tzinfo=UTC), "23 h ago"),
        (datetime(2026, 11, 3, 9, 5, tzinfo=UTC), "Nov 3, 09:05 UTC"),
        (datetime(1970, 1, 1, tzinfo=UTC), "Jan 1 1970, 00:00 UTC"),
        (datetime(2026, 11, 30, tzinfo=UTC), "Nov 30, 00:00 UTC"),
    ],
)
def test_ago(then: datetime | None, text: str) -> None:
    assert display.ago(then, NOW) == text


def test_unknown_tokens_are_not_zero() -> None:
    assert [display.tokens(None), display.tokens(0), display.tokens(18204, False)] == [
        "—",
        "0",
        "≥ 18,204",
    ]


def test_sizes() -> None:
    sizes = [None, 0, 312, 4100, 999_600, 20_000_000]
    texts = ["—", "0 B", "312 B", "4.1 KB", "1.0 MB", "20.0 MB"]
    assert [display.size(count) for count in sizes] == texts


def test_a_cut_text_says_its_true_size() -> None:
    assert display.shorten("a\x00" * 100, 3) == display.Shown("a␀a", 200, True)
