"""Reconstruct: the run re-emitted from its log, without any call, and the proof that it holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.utils import timezone

from replay import recording, results
from replay.comparison.compare import value_difference
from replay.comparison.differences import Difference
from replay.lease import Lease, Stopped, stop
from replay.models import CallState, Proven, Replay, ReplayEffect
from replay.outcome import Outcome
from replay.proof import Finding, Line, Proof, Prover
from replay.results import KEPT_MISMATCHES
from replay.review.clusters import general
from replay.shown import cut, shown
from replay.totals import TOKENS
from runs.models import Effect, Run

KEPT_SEQS = 1000
"""Positions a proof lists of one verdict; the count beside them is the whole."""


def run(lease: Lease) -> Outcome:
    """Re-emit the recording and prove it; rows and proof are those of this attempt alone."""
    replay = lease.replay
    lease.beat(now=True)
    results.forget_rows(lease)
    prover = Prover(recording.header(replay.run), replay.run.shape)
    document, effects = _emit(lease, prover)
    if lease.cancelled:
        return Outcome("settle")
    proof = prover.finish()
    results.open_rows(lease, _rows(lease, proof, effects))
    return Outcome("succeed", _columns(replay, proof, document))


def _emit(lease: Lease, prover: Prover) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Walk the records once: what the document is, and (seq, row id) of each effect."""
    run = lease.replay.run
    digest = hashlib.blake2b(recording.header_bytes(run), digest_size=32)
    size, effects = 0, []
    for recorded in recording.records(run):
        effect = recorded.effect
        digest.update(b"\n" + recorded.data)
        size += len(recorded.data)
        effects.append((effect.seq, effect.pk))
        _take(prover, recorded)
        _pause(lease, len(effects))
        if lease.cancelled:
            break
    return {"records": len(effects), "bytes": size, "blake2b": digest.hexdigest()}, effects


def _take(prover: Prover, recorded: recording.Recorded) -> None:
    effect = recorded.effect
    if not recorded.intact:
        found = recording.content_hash(recorded.data)
        prover.altered(effect.seq, effect.effect_id, effect.content_hash, found)
    elif recorded.value is None:
        prover.altered(effect.seq, effect.effect_id, "a JSON object", "no JSON object")
    if recorded.value is not None:
        prover.take(Line(effect.seq, effect.effect_id, recorded.value))


def _pause(lease: Lease, done: int) -> None:
    """Between two records: renew the lease, tell how far it is, and see whether to stop."""
    lease.done = done
    lease.beat()
    if stop.is_told:
        raise Stopped


def _rows(lease: Lease, proof: Proof, effects: list[tuple[int, int]]) -> Iterator[ReplayEffect]:
    first: dict[int | None, Finding] = {}
    for finding in proof.findings:
        first.setdefault(finding.seq, finding)
    now = timezone.now()
    for seq, effect_id in effects:
        verdict = proof.verdicts.get(seq, Proven.BROKEN)
        found = first.get(seq)
        yield ReplayEffect(
            replay=lease.replay,
            effect_id=effect_id,
            seq=seq,
            state=CallState.ANSWERED,
            attempt=lease.attempt,
            answered_at=now,
            proven=verdict,
            difference=_difference(verdict, found),
            summary=cut(found.text if found else str(Proven(verdict).label)),
            changes=[_change(found)] if found else [],
            cause=[cut(general(found.path))] if found else [],
        )


def _difference(verdict: str, finding: Finding | None) -> Difference:
    """A reconstruction hands out what was recorded, so only what breaks it is a difference."""
    if finding is None or verdict in (Proven.EXPLAINED, Proven.PROVEN, Proven.UNPROVEN):
        return Difference.SAME
    if finding.kind == "not_recorded":
        return Difference.NOT_RECORDED
    if finding.kind == "altered":
        return Difference.ERROR
    return value_difference(finding.expected, finding.found).difference


def _change(finding: Finding) -> dict[str, Any]:
    recorded, replayed = shown(finding.expected), shown(finding.found)
    return {"path": finding.path, "recorded": recorded, "replayed": replayed}


def _columns(replay: Replay, proof: Proof, document: dict[str, Any]) -> dict[str, Any]:
    told = [_told(finding) for finding in proof.findings]
    mismatches = [each for each in told if not each["explained"]]
    same = _same_document(replay, document)
    changed = ReplayEffect.objects.filter(replay=replay).changed()
    return {
        "identical": proof.whole and same is not False,
        "faithful": proof.whole and same is not False and proof.faithful,
        "changed": changed.count(),
        "done": document["records"],
        "total": document["records"],
        "mismatches": mismatches[:KEPT_MISMATCHES],
        "mismatch_count": len(mismatches),
        "proof": _proof(proof, document, same, told, replay.run),
        **_no_cost(replay.run),
    }


def _told(finding: Finding) -> dict[str, Any]:
    """A finding as the API shows it."""
    told = {k: shown(v) if k in ("expected", "found") else v for k, v in asdict(finding).items()}
    return {key: cut(v) if isinstance(v, str) else v for key, v in told.items()}


def _proof(
    proof: Proof, document: dict[str, Any], same: bool | None, told: list[dict[str, Any]], run: Run
) -> dict[str, Any]:
    counts = Counter(proof.verdicts.values())
    listed = {
        verdict: [seq for seq, v in proof.verdicts.items() if v == verdict][:KEPT_SEQS]
        for verdict in ("unproven", "explained", "contradicted", "broken")
    }
    redacted = Effect.objects.filter(run=run, redactions__isnull=False)
    return {
        "document": {**document, "same_as_before": same},
        "counts": {str(verdict): counts.get(verdict, 0) for verdict in Proven.values},
        **listed,
        "explanations": [each for each in told if each["explained"]][:KEPT_MISMATCHES],
        "redacted": redacted.count(),
    }


def _same_document(replay: Replay, document: dict[str, Any]) -> bool | None:
    """Whether earlier reconstructions of as many records gave this very document; None for the
    first of them."""
    earlier = (
        Replay.objects.filter(run=replay.run, mode=replay.mode, proof__isnull=False)
        .exclude(pk=replay.pk)
        .order_by("-pk")
        .values_list("proof", flat=True)[:20]
    )
    before = [(each or {}).get("document", {}) for each in earlier]
    hashes = {each.get("blake2b") for each in before if each.get("records") == document["records"]}
    return hashes == {document["blake2b"]} if hashes else None


def _no_cost(run: Run) -> dict[str, Any]:
    """Nothing was asked, so nothing was used: here zero is known."""
    return {
        "calls": 0,
        **dict.fromkeys(TOKENS, 0),
        "tokens_complete": True,
        "cost": Decimal(0),
        "cost_complete": True,
        "latency_ms": None,
        "original_input_tokens": run.input_tokens,
        "original_output_tokens": run.output_tokens,
        "original_tokens_complete": run.tokens_complete,
        "original_cost": run.cost,
        "original_cost_complete": run.cost_complete,
        "original_latency_ms": run.duration_ms,
    }
