"""Where each effect of a run stands: marks on the tape, windows of the step list. Pure.

The tape is drawn in units of its own (WIDTH wide); the page stretches it. A lane shows at most one
mark per COLUMN units, so its size does not grow with the run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

WIDTH = 1200
COLUMN = 4
MIN_MARK = 3
_NO_TIME = 1e-6
"""Milliseconds that are none: a scale made of fewer has no bound."""
LANE_HEIGHT = 18
GAP_WIDTH = 26
"""Units that an idle stretch takes, however long it was."""
MAX_GAPS = 12
WINDOW = 125
MAX_WINDOWS = 400
LANES = {
    "completion": "model",
    "tool": "tool",
    "memory": "memory",
    "retrieve": "vector",
    "embed": "vector",
    "rerank": "vector",
}
"""Family → lane; any other family is `custom`."""
LANE_ORDER = ("model", "tool", "memory", "vector", "custom")
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_DECIMAL = [m * 10**e for e in range(13) for m in (1, 2, 5)]
_STEPS_MS = [
    *(step for step in _DECIMAL if step < _SECOND),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in _DECIMAL),
]
"""Steps of a ruler that people count in."""
_TICK_SPACE = 130
_LABEL_SPACE = 100


@dataclass(frozen=True, slots=True)
class Moment:
    """One effect: `start` in ms since the epoch and its `duration` in ms, where they are known."""

    seq: int
    family: str
    failed: bool
    start: float | None
    duration: float | None
    name: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """One or more effects drawn as one bar; `fact` says it of the first of them, `seq`.

    What is nested is lower than what made it.
    """

    seq: int
    lane: str
    y: float
    x: float
    width: float
    failed: bool
    count: int = 1
    height: int = 12
    fact: str = ""


@dataclass(frozen=True, slots=True)
class Nest:
    """A stretch in which effects nested that deep (two or more are one) are on their way."""

    x: float
    width: float
    depth: int


@dataclass(frozen=True, slots=True)
class Gap:
    """An idle stretch, compressed; `ms` is its true length."""

    x: float
    ms: float


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Time → units, piecewise linear: `starts[i]` ms lies at `xs[i]`, then `scale` units a ms
    up to `ends[i]`. Without times (`starts` empty) the axis goes by position."""

    starts: tuple[float, ...]
    ends: tuple[float, ...]
    xs: tuple[float, ...]
    scale: float
    last_seq: int
    has_times: bool = True
    """Whether any effect has a time, be they too few to go by."""

    @property
    def by_time(self) -> bool:
        return bool(self.starts)

    @property
    def span(self) -> float:
        """Milliseconds from the first start to the last end."""
        return self.ends[-1] - self.starts[0] if self.starts else 0.0

    def x(self, seq: int, start: float | None) -> float:
        """Where an effect begins. One without a time, on a time axis, stands at the left end."""
        if not self.by_time:
            return (seq - 1) / max(self.last_seq, 1) * WIDTH
        return self.time_x(self.starts[0] if start is None else start)

    def time_x(self, ms: float) -> float:
        piece = max(bisect_right(self.starts, ms) - 1, 0)
        inside = min(max(ms, self.starts[piece]), self.ends[piece]) - self.starts[piece]
        return self.xs[piece] + inside * self.scale


@dataclass(frozen=True, slots=True)
class Tape:
    axis: Axis
    marks: tuple[Mark, ...]
    gaps: tuple[Gap, ...]
    ticks: tuple[Tick, ...]
    lanes: tuple[str, ...]
    nests: tuple[Nest, ...] = ()
    width: int = WIDTH

    @property
    def height(self) -> int:
        """Under the lanes is a strip for words; those that stand under any bar have room above."""
        return max(len(self.lanes), 1) * LANE_HEIGHT + (12 if self.axis.by_time else 18)


@dataclass(frozen=True, slots=True)
class Window:
    """Rows `first`..`last` (positions) of the step list; only a loaded one is in the page."""

    first: int
    last: int
    loaded: bool
    rows: int

    @property
    def is_short(self) -> bool:
        return self.rows < WINDOW

    def opened(self) -> Window:
        return replace(self, loaded=True)


def tape(moments: Iterable[Moment], last_seq: int) -> Tape:
    """The whole run at a glance. `moments` in log order; the order is never changed by clocks."""
    placed = list(_without_holes(moments))
    axis = _axis(placed, last_seq)
    present = {lane_of(moment.family) for moment in placed}
    lanes = tuple(lane for lane in LANE_ORDER if lane in present)
    gaps = tuple(
        Gap(x - GAP_WIDTH, after - before)
        for x, before, after in zip(axis.xs[1:], axis.ends, axis.starts[1:], strict=False)
    )
    marks, nests = tuple(_marks(placed, axis, lanes)), tuple(_nests(placed, axis))
    return Tape(axis, marks, gaps, tuple(_ticks(axis)), lanes, nests)


def ms(moment: datetime | None) -> float | None:
    """Milliseconds since the epoch."""
    return None if moment is None else moment.timestamp() * 1000


def lane_of(family: str) -> str:
    return LANES.get(family, "custom")


def indent(family: str, depth: int) -> int:
    """Steps to the right in the list: nested under its parent, a tool under its model call."""
    return min(2 * depth + (family == "tool"), 12)


def windows(last_seq: int, at: int, size: int = WINDOW) -> list[Window]:
    """The step list in windows of `size` rows; the one around `at` comes with the page.

    Beyond `MAX_WINDOWS` they grow instead: each is an element of the page.
    """
    size = max(size, -(-last_seq // MAX_WINDOWS))
    return [
        Window(first, end, first <= at <= end, end - first + 1)
        for first in range(1, last_seq + 1, size)
        for end in (min(first + size - 1, last_seq),)
    ]


def windows_of(seqs: Sequence[int], at: int, size: int = WINDOW) -> list[Window]:
    """The same of a list that has only these positions; it may not have `at` itself."""
    size = max(size, -(-len(seqs) // MAX_WINDOWS))
    place = min(bisect_left(seqs, at), len(seqs) - 1)
    return [
        Window(part[0], part[-1], first <= place < first + size, len(part))
        for first in range(0, len(seqs), size)
        for part in (seqs[first : first + size],)
    ]


def _without_holes(moments: Iterable[Moment]) -> Iterator[Moment]:
    """An effect without a time stands where the one before it ended."""
    at: float | None = None
    for moment in moments:
        if moment.start is not None:
            at = moment.start + max(moment.duration or 0.0, 0.0)
        yield moment if moment.start is not None or at is None else replace(moment, start=at)


def _axis(moments: Sequence[Moment], last_seq: int) -> Axis:
    spans = sorted(
        (moment.start, moment.start + max(moment.duration or 0.0, 0.0))
        for moment in moments
        if moment.start is not None
    )
    if len(spans) * 2 < len(moments) or not spans or spans[0][0] == max(end for _, end in spans):
        return Axis((), (), (), 0.0, last_seq, has_times=bool(spans))
    busy = _busy(spans)
    pieces = _joined(busy, _idle_limit(busy))
    total = sum(end - start for start, end in pieces)
    scale = (WIDTH - GAP_WIDTH * (len(pieces) - 1)) / total if total > _NO_TIME else 0.0
    xs, x = [], 0.0
    for start, end in pieces:
        xs.append(x)
        x += (end - start) * scale + GAP_WIDTH
    starts, ends = zip(*pieces, strict=True)
    return Axis(starts, ends, tuple(xs), scale, last_seq)


def _busy(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The stretches in which at least one effect was on its way."""
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _idle_limit(busy: list[tuple[float, float]]) -> float:
    """How long a pause may be before it is compressed: 2 s, a sixth of the busy time, five usual
    pauses, and never so short that more than MAX_GAPS are longer."""
    pauses = sorted(after[0] - before[1] for before, after in pairwise(busy))
    if not pauses:
        return float("inf")
    work = sum(end - start for start, end in busy)
    most = pauses[-MAX_GAPS - 1] if len(pauses) > MAX_GAPS else 0.0
    return max(2000.0, work / 6, 5 * pauses[len(pauses) // 2] * (len(pauses) > 4), most)


def _joined(busy: list[tuple[float, float]], limit: float) -> list[tuple[float, float]]:
    pieces = [busy[0]]
    for start, end in busy[1:]:
        if start - pieces[-1][1] <= limit:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces


@dataclass(slots=True)
class _Bar:
    moment: Moment
    x: float
    end: float
    count: int = 0
    depth: int = 0


def _marks(moments: Iterable[Moment], axis: Axis, lanes: tuple[str, ...]) -> Iterator[Mark]:
    # One bar is kept for each lane and column while passing over (possibly 35,000) effects.
    held: dict[tuple[str, int], _Bar] = {}
    for moment in moments:
        x, end = _extent(moment, axis)
        column = (lane_of(moment.family), int(x // COLUMN))
        bar = held.get(column)
        if bar is None:
            held[column] = bar = _Bar(moment, x, end, 0, moment.depth)
        bar.end = max(bar.end, end)
        bar.depth = min(bar.depth, moment.depth)
        if moment.failed and not bar.moment.failed:
            bar.moment = moment  # an error among many is what the click should lead to
        bar.count += 1
    for (lane, _), bar in held.items():
        yield _mark(bar, lane, 6 + lanes.index(lane) * LANE_HEIGHT, axis)


def _mark(bar: _Bar, lane: str, y: int, axis: Axis) -> Mark:
    inset = min(bar.depth, 3)
    width = round(max(MIN_MARK, bar.end - bar.x), 1)
    failed, fact = bar.moment.failed, _fact(bar, axis)
    top, height = y + inset * 1.5, 12 - 3 * inset
    return Mark(bar.moment.seq, lane, top, round(bar.x, 1), width, failed, bar.count, height, fact)


def _fact(bar: _Bar, axis: Axis) -> str:
    moment = bar.moment
    said = [f"#{moment.seq:,} {moment.name}".rstrip()]
    if moment.failed:
        said.append("failed")
    if axis.by_time and moment.start is not None:
        said.append(f"at {elapsed(max(moment.start - axis.starts[0], 0))}")
    if moment.duration is not None:
        said.append(f"took {elapsed(moment.duration)}")
    if moment.depth:
        said.append(f"nested {moment.depth} deep")
    if bar.count > 1:
        said.append(f"with {bar.count - 1:,} more here")
    return " · ".join(said)


def _nests(moments: Iterable[Moment], axis: Axis) -> Iterator[Nest]:
    """Where what is nested takes place, one line a depth, its pieces joined where they meet."""
    columns: dict[int, set[int]] = {1: set(), 2: set()}
    for moment in moments:
        if moment.depth:
            x, end = _extent(moment, axis)
            taken = range(int(x // COLUMN), int(min(end, WIDTH - 1) // COLUMN) + 1)
            for depth in range(1, min(moment.depth, 2) + 1):
                columns[depth].update(taken)
    for depth, taken_columns in columns.items():
        for first, last in _pieces(sorted(taken_columns)):
            yield Nest(first * COLUMN, (last - first + 1) * COLUMN, depth)


def _pieces(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each unbroken row of whole numbers."""
    starts = [n for before, n in zip([-2, *numbers], numbers, strict=False) if n != before + 1]
    ends = [n for n, after in zip(numbers, [*numbers[1:], -2], strict=False) if after != n + 1]
    return zip(starts, ends, strict=True)


def _extent(moment: Moment, axis: Axis) -> tuple[float, float]:
    x = min(axis.x(moment.seq, moment.start), WIDTH - MIN_MARK)
    if not axis.by_time:
        return x, x + WIDTH / max(axis.last_seq, 1) * 0.9
    if moment.start is None:
        return x, x
    return x, axis.time_x(moment.start + max(moment.duration or 0.0, 0.0))


def _ticks(axis: Axis) -> Iterator[Tick]:
    if not axis.by_time:
        yield from _position_ticks(axis)
        return
    total = sum(end - start for start, end in zip(axis.starts, axis.ends, strict=True))
    step = next((s for s in _STEPS_MS if total / s <= WIDTH / _TICK_SPACE), _STEPS_MS[-1])
    origin, last = axis.starts[0], -float("inf")
    for start, end in zip(axis.starts, axis.ends, strict=True):
        at = -(-(start - origin) // step) * step
        while at <= end - origin:
            x = axis.time_x(origin + at)
            if last + _LABEL_SPACE <= x <= WIDTH - _LABEL_SPACE:
                yield Tick(round(x, 1), elapsed(at, step))
                last = x
            at += step
    yield Tick(WIDTH, elapsed(axis.span, step if axis.span > _MINUTE else 1))


def _position_ticks(axis: Axis) -> Iterator[Tick]:
    step = next(s for s in _DECIMAL if axis.last_seq / s <= WIDTH / _TICK_SPACE)
    for seq in [1, *range(step if step > 1 else 2, axis.last_seq + 1, step)]:
        yield Tick(round(axis.x(seq, None), 1), f"#{seq:,}")


def elapsed(ms: float, step: float = 1) -> str:
    """Time since the start, as precise as the ruler's step needs."""
    if ms < 1000 and step < 1000:
        return f"{ms:.0f} ms"
    if ms < _MINUTE:
        return f"{ms / 1000:.{0 if step >= _SECOND else 1}f} s"
    if step < _SECOND and ms < _HOUR:
        return f"{ms // _MINUTE:.0f} min {ms % _MINUTE / 1000:.1f} s"
    seconds = round(ms / 1000)
    units = [(seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min")]
    units.append((seconds % 60, "s"))
    first = next(i for i, (count, _) in enumerate(units) if count)
    return " ".join(f"{count:,} {unit}" for count, unit in units[first : first + 2] if count)
