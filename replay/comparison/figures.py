"""Two figures beside each other, in words: from, to, and by how much. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from runs import display

Number = float | int | Decimal


@dataclass(frozen=True, slots=True)
class Shift:
    """`before → after` with the change in absolute and percent; `tone` says whether it is good."""

    before: str
    after: str
    by: str = ""
    percent: str = ""
    tone: str = ""


def percent(before: Number | None, after: Number | None) -> str:
    """`−15%`; empty where there is nothing to divide by. What is left of something is not −100%."""
    if before is None or after is None or not before:
        return ""
    change = (float(after) - float(before)) / float(before) * 100
    digits = 1 if abs(change) < 9.95 else 0
    size = min(abs(change), 99.0) if -100 < change <= -99 else abs(change)
    return _signed(f"{size:,.{digits}f}%", change)


def _signed(text: str, change: Number) -> str:
    return ("+" if change > 0 else "−" if change < 0 else "±") + text


def _tone(change: Number) -> str:
    """Less cost, time and tokens are good news."""
    return "ok" if change < 0 else "warn" if change > 0 else ""


def cost_shift(
    before: Decimal | None, after: Decimal | None, *, known: tuple[bool, bool] = (True, True)
) -> Shift:
    """Costs; the change is told only where both are wholly known."""
    shown = Shift(display.cost(before, known[0]), display.cost(after, known[1]))
    if before is None or after is None or not all(known):
        return shown
    change = after - before
    by = _signed(display.cost(abs(change)), change)
    return Shift(shown.before, shown.after, by, percent(before, after), _tone(change))


def time_shift(before: float | None, after: float | None) -> Shift:
    shown = Shift(display.duration(before), display.duration(after))
    if before is None or after is None:
        return shown
    change = after - before
    by = _signed(display.duration(abs(change)), change)
    return Shift(shown.before, shown.after, by, percent(before, after), _tone(change))


def token_shift(
    before: int | None, after: int | None, *, known: tuple[bool, bool] = (True, True)
) -> Shift:
    shown = Shift(display.tokens(before, known[0]), display.tokens(after, known[1]))
    if before is None or after is None or not all(known):
        return shown
    change = after - before
    by = _signed(f"{abs(change):,}", change)
    return Shift(shown.before, shown.after, by, percent(before, after), _tone(change))
