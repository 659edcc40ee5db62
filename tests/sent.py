"""A log sent as it is, however odd, and what is told of it."""

from __future__ import annotations


def send(api, data: bytes, run_id: str = "r1", **headers):
    return api("POST", f"/api/v1/effect-logs?run_id={run_id}", data, **headers)


def error(answer) -> tuple:
    """Status, code and field of a refusal."""
    found = answer.json()["error"]
    return answer.status_code, found["code"], found["field"]
