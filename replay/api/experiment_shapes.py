"""Experiments as the API shows them. Unknown is null, never zero."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import reverse

from replay.experiments.gate import Gate
from replay.experiments.matrix import Line
from replay.experiments.models import Cell, Dataset, ExperimentCandidate
from replay.experiments.summary import Column, Summary
from replay.models import Experiment
from runs.api.shapes import dollars


def experiment_line(experiment: Experiment) -> dict[str, Any]:
    """What a list shows of an experiment."""
    over = experiment.finished_at is not None
    return {
        "id": experiment.public_id,
        "url": reverse("replay:experiment", args=[experiment.project.slug, experiment.public_id]),
        "name": experiment.name,
        "dataset": experiment.dataset.public_id if experiment.dataset else None,
        "finished": over,
        "created_at": experiment.created_at,
        "finished_at": experiment.finished_at,
    }


def experiment_shape(found: Summary, gate: Gate) -> dict[str, Any]:
    """The whole without its matrix, held to a gate."""
    checked = found.checks(gate)
    return {
        **experiment_line(found.experiment),
        "status": found.status,
        "progress": {"done": found.done, "total": found.cells},
        "deleted_runs": found.deleted_runs,
        "gate": {
            **gate.as_json(),
            "passed": bool(checked) and all(one.passed for one in checked),
            "checks": [asdict(one) for one in checked],
        },
        "candidates": [column_shape(one) for one in found.columns],
    }


def column_shape(column: Column) -> dict[str, Any]:
    """A candidate's sums."""
    sums, complete = column.sums, column.complete
    return {
        **candidate_shape(column.candidate),
        "runs": column.cells,
        "ended": column.ended,
        "calls": column.calls,
        "classes": column.classes,
        "changed": sums.get("changed") or 0,
        "ignored": sums.get("ignored") or 0,
        "same_share": column.same,
        "errors": column.errors,
        "to_review": column.to_review,
        "regressions": column.regressions,
        "cost": dollars(sums.get("cost")),
        "cost_complete": complete.get("cost", False),
        "original_cost": dollars(sums.get("original_cost")),
        "original_cost_complete": complete.get("original_cost", False),
        "cost_ratio": column.cost_ratio,
        "input_tokens": sums.get("input_tokens"),
        "output_tokens": sums.get("output_tokens"),
        "tokens_complete": complete.get("tokens", False),
        "original_input_tokens": sums.get("original_input_tokens"),
        "original_output_tokens": sums.get("original_output_tokens"),
        "original_tokens_complete": complete.get("original_tokens", False),
        "latency_ms": asdict(column.latency),
        "original_latency_ms": asdict(column.original_latency),
    }


def candidate_shape(candidate: ExperimentCandidate) -> dict[str, Any]:
    return {
        "candidate": candidate.place,
        "model": str(candidate),
        "controls": candidate.controls,
    }


def line_shape(line: Line) -> dict[str, Any]:
    """A row of the matrix, its cells in the order of the candidates."""
    run = line.row.run
    cells = [cell_shape(cell, place) for place, cell in enumerate(line.cells, 1) if cell]
    return {"run": run.external_id, "title": run.heading, "cells": cells}


def cell_shape(cell: Cell, candidate: int) -> dict[str, Any]:
    """A cell; `class` is the worst, null while nothing has come."""
    replay = cell.replay
    return {
        "candidate": candidate,
        "replay": replay.public_id,
        "model": replay.candidate,
        "status": cell.ended or replay.status,
        "class": cell.difference,
        "changed": cell.changed,
        "ignored": cell.ignored,
        "total": cell.total,
        "cost": dollars(cell.cost),
        "cost_complete": cell.cost_complete,
        "original_cost": dollars(cell.original_cost),
        "original_cost_complete": cell.original_cost_complete,
        "cost_delta": dollars(cell.cost_delta),
        "input_tokens": cell.input_tokens,
        "output_tokens": cell.output_tokens,
        "tokens_complete": cell.tokens_complete,
        "original_input_tokens": cell.original_input_tokens,
        "original_output_tokens": cell.original_output_tokens,
        "original_tokens_complete": cell.original_tokens_complete,
        "latency_ms": cell.latency_ms,
        "latency_calls": _counted(cell, "replayed"),
        "original_latency_ms": cell.original_latency_ms,
        "original_latency_calls": _counted(cell, "recorded"),
        "error": replay.error_text or None,
    }


def _counted(cell: Cell, side: str) -> int:
    """Of how many calls the latency is known."""
    bins: dict[str, int] = cell.latencies.get(side) or {}
    return sum(bins.values())


def dataset_shape(dataset: Dataset, size: int) -> dict[str, Any]:
    return {
        "id": dataset.public_id,
        "name": dataset.name,
        "runs": size,
        "created_at": dataset.created_at,
    }
