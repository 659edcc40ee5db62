"""When an effect ran, as the envelope or the record itself says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from runs.refusals import Refused

_EARLIEST = datetime(2015, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=2)
MAX_MS = 10.0**13
"""About 300 years: a longer duration is no duration."""


@dataclass(frozen=True, slots=True)
class Times:
    started_at: datetime | None = None
    duration_ms: float | None = None
    first_token_ms: float | None = None

    @property
    def ended_at(self) -> datetime | None:
        if self.started_at is None or self.duration_ms is None:
            return None
        try:
            return self.started_at + timedelta(milliseconds=self.duration_ms)
        except OverflowError:
            return None

    @property
    def is_suspect(self) -> bool:
        """A time that cannot be: an end before its start, a clock that was never set."""
        late = (self.duration_ms or 0) < 0 or (self.first_token_ms or 0) < 0
        return late or (self.started_at is not None and not is_plausible(self.started_at))


NO_TIMES = Times()


def is_plausible(moment: datetime) -> bool:
    """Whether a clock that was set could have shown this."""
    return _EARLIEST <= moment <= datetime.now(UTC) + _AHEAD


def of_envelope(value: Any, field: str) -> Times:
    """One member of the envelope's `times`; Refused names what is no time."""
    if not isinstance(value, dict):
        raise Refused("invalid", "Expected an object.", field)
    return Times(
        moment(value.get("started_at"), f"{field}.started_at"),
        _milliseconds(value.get("duration_ms"), f"{field}.duration_ms"),
        _milliseconds(value.get("first_token_ms"), f"{field}.first_token_ms"),
    )


class _Sent(msgspec.Struct):
    started_at: str | None = None
    duration_ms: float | None = None
    first_token_ms: float | None = None


_every = msgspec.json.Decoder(dict[str, _Sent])


def of_envelope_at_once(data: bytes) -> dict[str, Times] | None:
    """All members of `times`, None if any of them needs a closer look."""
    try:
        sent = _every.decode(data)
        return {
            effect_id: Times(moment(t.started_at, ""), _ms(t.duration_ms), _ms(t.first_token_ms))
            for effect_id, t in sent.items()
        }
    except (msgspec.MsgspecError, Refused):
        return None


def _ms(value: float | None) -> float | None:
    if value is not None and abs(value) > MAX_MS:
        raise Refused("invalid", "Expected a number of milliseconds.")
    return value


def of_record(record: dict[str, Any]) -> Times:
    """The times a 0.45 recorder leaves in the record, in milliseconds since 1970."""
    start = record.get("started_ms")
    if type(start) is not int:
        return NO_TIMES
    try:
        started_at = datetime.fromtimestamp(start / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return NO_TIMES
    return Times(
        started_at, *(_since(start, record.get(n)) for n in ("finished_ms", "first_item_ms"))
    )


def _since(start: int, end: Any) -> float | None:
    return float(end - start) if type(end) is int and abs(end - start) <= MAX_MS else None


def moment(value: Any, field: str) -> datetime | None:
    """An ISO 8601 time with its zone (UTC if it has none), in UTC; Refused if it is none."""
    if value is None:
        return None
    try:
        if not isinstance(value, str):
            raise ValueError
        found = datetime.fromisoformat(value)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused("invalid", "Expected an ISO 8601 time.", field) from None


def _milliseconds(value: Any, field: str) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not abs(value) <= MAX_MS:  # nor one that is no number
        raise Refused("invalid", "Expected a number of milliseconds.", field)
    return float(value)
