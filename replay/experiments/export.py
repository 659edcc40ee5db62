"""An experiment as a file, written while it is sent: a line a cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from replay.experiments.matrix import Line, Picked, window
from replay.models import Experiment
from runs.messages.loose import clean

AT_ONCE = 100
COLUMNS = (
    "run",
    "title",
    "candidate",
    "model",
    "replay",
    "status",
    "class",
    "changed",
    "total",
    "cost",
    "original_cost",
    "cost_delta",
    "latency_ms",
    "original_latency_ms",
    "error",
    "ignored",
    "cost_complete",
    "original_cost_complete",
    "label",
    "input_tokens",
    "output_tokens",
    "tokens_complete",
    "original_input_tokens",
    "original_output_tokens",
    "original_tokens_complete",
    "latency_calls",
    "original_latency_calls",
)
Shape = Callable[[Line], dict[str, Any]]


def lines(experiment: Experiment) -> Iterator[Line]:
    """All rows, a window at a time."""
    candidates = list(experiment.candidates.order_by("place"))
    cursor: str | None = ""
    while cursor is not None:
        found = window(experiment, candidates, Picked(), cursor, AT_ONCE, latencies=True)
        yield from found.lines
        cursor = found.next


def as_csv(experiment: Experiment, shape: Shape) -> Iterator[bytes]:
    candidates = {one.place: one for one in experiment.candidates.all()}
    yield _written(COLUMNS)
    for line in lines(experiment):
        told = shape(line)
        for cell in told["cells"]:
            asked = candidates[cell["candidate"]]
            values = {**told, **cell, "label": asked.label}
            yield _written([_plain(values[name]) for name in COLUMNS])


def _written(values: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue().encode()


def _plain(value: object) -> object:
    """Unknown is empty; what a spreadsheet would take for a formula is a text."""
    if value is None:
        return ""
    if isinstance(value, str):
        value = clean(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return float(f"{value:.12g}") if isinstance(value, float) else value


def as_json(summary: dict[str, Any], experiment: Experiment, shape: Shape) -> Iterator[bytes]:
    """The summary, with the rows of the matrix as `results`."""
    yield orjson.dumps(summary, option=orjson.OPT_UTC_Z)[:-1] + b',"results":['
    comma = b""
    for line in lines(experiment):
        yield comma + orjson.dumps(shape(line), option=orjson.OPT_UTC_Z)
        comma = b","
    yield b"]}"
