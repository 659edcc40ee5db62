"""How figures, times and texts are written: one place for every page. Pure.

Unknown is not zero: None is an em dash everywhere.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from runs.messages.exact import Shown
from runs.messages.loose import clean

UNKNOWN = "—"
_TINY = Decimal("0.0001")


def tokens(count: int | None, complete: bool = True) -> str:
    """`18,204`; a sum with unknown parts is marked as the least it can be."""
    return UNKNOWN if count is None else f"{'' if complete else '≥ '}{count:,}"


def cost(dollars: Decimal | float | None, complete: bool = True) -> str:
    """`$0.0712`; nothing is `$0.00`, next to nothing `<$0.0001`."""
    if dollars is None:
        return UNKNOWN
    amount = Decimal(dollars)
    mark = "" if complete else "≥ "
    if amount == 0:
        return f"{mark}$0.00"
    if abs(amount) < _TINY:
        return "<$0.0001" if complete else "≥ $0.0000"
    sign = "-" if amount < 0 else ""
    return f"{mark}{sign}${abs(amount):,.{2 if abs(amount) >= 100 else 4}f}"


def duration(ms: float | None) -> str:
    """`86 ms`, `1.42 s`, `38.4 s`, `2 m 14 s`, `3 h 5 m`."""
    if ms is None:
        return UNKNOWN
    if abs(ms) < 999.5:
        return f"{ms:.1f} ms" if 0 < abs(ms) < 9.95 else f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.2f} s" if ms < 9_995 else f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60} m {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} m"


def size(count: int | None) -> str:
    """Bytes in the unit a person would use: `312 B`, `4.1 KB`, `20.0 MB`."""
    if count is None:
        return UNKNOWN
    if count < 1000:
        return f"{count} B"
    for factor, unit in ((1e3, "KB"), (1e6, "MB"), (1e9, "GB")):
        if count < factor * 999.5:
            return f"{count / factor:.1f} {unit}"
    return f"{count / 1e12:.1f} TB"


def ago(then: datetime | None, now: datetime) -> str:
    """How long ago, within a day; the date and time in UTC beyond, with the year if another."""
    if then is None:
        return UNKNOWN
    passed = now - then
    if timedelta(0) <= passed < timedelta(minutes=1):
        return "just now"
    if timedelta(0) <= passed < timedelta(hours=1):
        return f"{passed.seconds // 60} min ago"
    if timedelta(0) <= passed < timedelta(days=1):
        return f"{passed.seconds // 3600} h ago"
    year = "" if then.year == now.year else f" {then.year}"
    return f"{then:%b} {then.day}{year}, {then:%H:%M} UTC"


def instant(then: datetime) -> str:
    """To the millisecond, in UTC."""
    then = then.astimezone(UTC).replace(tzinfo=None)
    return f"{then.isoformat(' ', 'milliseconds')} UTC"


def shorten(text: str, limit: int) -> Shown:
    """The start of a text and its true size; nothing is dropped without saying so."""
    cut = len(text) > limit
    return Shown(clean(text[:limit]), len(text), cut)
