"""A stored run without the ingest door, and a way to do a replay's job here and now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

FAMILIES = {"tool_call": "tool"}


@pytest.fixture
def read_log(shared: Path) -> Callable[[str], dict[str, Any]]:
    """read_log("refund-memory") -> one of the real logs, decoded."""

    def read(name: str) -> dict[str, Any]:
        folder = "rig-examples" if name[:2].isdigit() else "rig"
        return json.loads((shared / "data" / folder / f"{name}.effects.json").read_text())

    return read


@pytest.fixture
def store(project) -> Callable[..., Any]:
    """store(log, "run-1") -> the Run of that log, each record as compact JSON bytes."""
    from runs import segments
    from runs.models import Effect, Run, Segment

    def put(log: dict[str, Any], name: str = "run-1", of: Any = None) -> Run:
        now = timezone.now()
        run = Run.objects.create(
            project=of or project, external_id=name, source="rig", shape="R44",
            status="succeeded", sort_at=now, agent="demo",
            header=segments.compress(json.dumps(log["header"]).encode()),
        )  # fmt: skip
        records = log["records"]
        data = [json.dumps(record).encode() for record in records]
        seqs = iter(range(len(data)))
        for packed in segments.pack(data):
            segment = Segment.objects.create(
                run=run, kind="records", data=packed.data, raw_size=packed.raw_size
            )
            places = [(next(seqs), segment, *span) for span in packed.spans]
            Effect.objects.bulk_create(
                _effect(run, records[seq], data[seq], seq, *where) for seq, *where in places
            )
        return run

    return put


def _effect(run, record, data, seq, segment, offset, length):
    from runs.models import Effect

    effect = record["kind"]["effect"]
    ok = (record.get("outcome") or {}).get("Ok") or {}
    origin, usage = ok.get("origin") or {}, ok.get("usage") or {}
    return Effect(
        run=run, seq=seq + 1, effect_id=str(record["id"]), key=record["key"],
        parent_id=str(record.get("parent", "")), scope=record.get("scope", ""),
        family=FAMILIES.get(effect, effect), status="ok" if ok else "error",
        name=origin.get("model") or record["kind"].get("name", ""),
        provider=origin.get("provider") or "", api=origin.get("api") or "",
        input_tokens=usage.get("input_tokens"), output_tokens=usage.get("output_tokens"),
        content_hash=hashlib.blake2b(data, digest_size=16).hexdigest(),
        segment=segment, offset=offset, length=length,
    )  # fmt: skip


@pytest.fixture
def reconstruct() -> Callable[..., Any]:
    """reconstruct(run) -> the finished Replay, done in this process."""
    from replay import jobs
    from replay.models import Replay

    def do(run: Any) -> Replay:
        replay, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
        jobs.run_job(replay.public_id)
        return Replay.objects.get(pk=replay.pk)

    return do
