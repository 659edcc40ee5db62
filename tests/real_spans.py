"""Spans that real instrumentations sent, and what the provider gave and got, kept beside each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runs.messages import exact
from runs.messages.parts import Data, Result, Text

SHARED = Path(os.environ.get("REWYN_SHARED", Path(__file__).parents[2] / "shared"))


def value_of(sent: dict[str, Any]) -> Any:
    kind, value = next(iter(sent.items()), ("", None))
    if kind == "arrayValue":
        return [value_of(one) for one in value.get("values", [])]
    if kind == "kvlistValue":
        return {one["key"]: value_of(one["value"]) for one in value.get("values", [])}
    return int(value) if kind == "intValue" else value


def spans(folder: Path) -> list[dict[str, Any]]:
    """The spans of all requests of a capture, as they were sent."""
    return [
        span
        for path in sorted(folder.glob("[0-9][0-9][0-9].json"))
        for resource in json.loads(path.read_bytes()).get("resourceSpans", [])
        for scope in resource.get("scopeSpans", [])
        for span in scope["spans"]
    ]


def attributes(folder: Path) -> dict[str, dict[str, Any]]:
    """Span id → attributes, of all requests of a capture."""
    return {
        span["spanId"]: {one["key"]: value_of(one["value"]) for one in span.get("attributes", [])}
        for span in spans(folder)
    }


def logged(folder: Path) -> list[dict[str, Any]]:
    """The attributes of the log records of a capture."""
    return [
        {one["key"]: value_of(one["value"]) for one in record["attributes"]}
        for path in sorted(folder.glob("logs-*.json"))
        for resource in json.loads(path.read_bytes())["resourceLogs"]
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]


def calls(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each model call's span and what is known of it."""
    spans = attributes(folder)
    meta = json.loads((folder / "meta.json").read_bytes())
    for run in meta["expect"]["runs"]:
        for known in run["model_calls"]:
            yield spans[known["span_id"]], known


def texts(parts: tuple[Any, ...], kind: type) -> str | None:
    return " ".join(part.text for part in parts if isinstance(part, kind)) or None


def told(parts: tuple[Any, ...]) -> str:
    """The last turn's words, JSON in one spelling."""
    said = (
        told(part.parts) if isinstance(part, Result)
        else exact.compact(part.value) if isinstance(part, Data) else part.text
        for part in parts if isinstance(part, Text | Result | Data)
    )  # fmt: skip
    return spelled("".join(said))


def spelled(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text
