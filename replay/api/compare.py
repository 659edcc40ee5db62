"""`/api/v1/compare`: two runs held against each other, row by row."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import docs
from replay.api.paging import bounded, flag, word
from replay.comparison.differences import Difference
from replay.two_runs.kept import Compared, Row, compared
from replay.two_runs.lines import Line, lines
from runs.accounts.models import Scope
from runs.api.auth import project_id_of
from runs.api.shapes import dollars
from runs.models import Effect, Run
from runs.refusals import Refused
from runs.strangers import only

UNCLASSED = "unclassed"


class CompareView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.compare_runs
    def get(self, request: Request) -> Response:
        known = ("a", "b", "after", "limit", "changed", "ignored", "class")
        only(request.query_params, *known)
        both = compared(_run(request, "a"), _run(request, "b"))
        after, limit = bounded(request, "after", 0), bounded(request, "limit", 100, most=1000)
        picked = [(n, row) for n, row in enumerate(both.rows, 1) if n > after]
        if flag(request, "changed"):
            picked = [(n, row) for n, row in picked if row.is_change]
        if flag(request, "ignored"):
            picked = [(n, row) for n, row in picked if row.ignored]
        if (name := _class(request)) is not None:
            picked = [(n, row) for n, row in picked if row.difference == name]
        page = picked[:limit]
        rows = zip(page, lines(both, [row for _, row in page]), strict=True)
        return Response(
            {
                **_verdict(both),
                "results": [_row(n, line) for (n, _), line in rows],
                "next": page[-1][0] if len(picked) > limit else None,
            }
        )


def _run(request: Request, name: str) -> Run:
    run_id = word(request, name)
    if not run_id:
        raise Refused("invalid", f"`{name}` names a run.", field=name)
    run = Run.objects.filter(project_id=project_id_of(request), external_id=run_id).first()
    if run is None:
        raise Refused("not_found", "There is no run of this id.", field=name)
    return run


def _class(request: Request) -> str | None:
    name = word(request, "class")
    if name is not None and name not in (*Difference, UNCLASSED):
        allowed = ", ".join((*Difference, UNCLASSED))
        raise Refused("invalid", f"`class` is one of {allowed}.", field="class")
    return "" if name == UNCLASSED else name


def _verdict(both: Compared) -> dict[str, Any]:
    return {
        "a": both.a.external_id,
        "b": both.b.external_id,
        "rows": len(both.rows),
        "changed": both.changed,
        "ignored": both.ignored,
        "asked_otherwise": len(both.asked_otherwise),
        "classes": {name or UNCLASSED: count for name, count in both.counts.items()},
        "complete": not both.is_cut,
    }


def _row(number: int, line: Line) -> dict[str, Any]:
    return {
        "row": number,
        "class": line.row.difference or None,
        "changed": line.row.is_change,
        "ignored": _ignored(line.row),
        "summary": line.row.summary,
        "asked_otherwise": line.row.asked or None,
        "a": _effect(line.a),
        "b": _effect(line.b),
    }


def _ignored(row: Row) -> dict[str, Any] | None:
    return {"class": row.ignored, "rules": list(row.rules)} if row.ignored else None


def _effect(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    return {
        "seq": effect.seq,
        "family": effect.family,
        "name": effect.name or None,
        "status": effect.status,
        "cost": dollars(effect.cost),
        "duration_ms": effect.duration_ms,
    }
