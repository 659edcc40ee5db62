"""How the library is used, for type checkers: never run, only checked (test_package.py)."""

from pathlib import Path
from typing import assert_type

from rewyn_sdk import (
    Change,
    Client,
    EffectLog,
    EffectRecord,
    LogWarning,
    Mismatch,
    PushResult,
    ResponseFacts,
    Span,
    canonical_bytes,
    canonical_json,
    check_header,
    compare_requests,
    diff,
    fingerprint,
    line_diff,
    run_spec,
    stable_hash,
    to_json_patch,
    word_diff,
)

log = EffectLog.loads(b"{}", strict=True)
assert_type(log, EffectLog)
assert_type(log.records, list[EffectRecord])
assert_type(log.warnings, list[LogWarning])
assert_type(log.dumps(indent=None), str)
assert_type(log.dumps_lines(), str)
assert_type(log.to_r44(), EffectLog)
check_header(log)

record = EffectRecord.loads("{}")
assert_type(record.raw, bytes)
assert_type(record.id, int | None)
assert_type(record.facts, ResponseFacts)
assert_type(compare_requests(record.kind, record.kind), Mismatch | None)

assert_type(canonical_json({"a": [1, 2.0]}), str)
assert_type(canonical_bytes(None), bytes)
assert_type(stable_hash("run"), int)
assert_type(run_spec({"preamble": "You add."}), int)
assert_type(fingerprint({"type": "text", "text": "42"}), str)

assert_type(diff(1, 2), list[Change])
to_json_patch(diff([1], [2]))
assert_type(word_diff("a", "b"), list[Span])
assert_type(line_diff("a", "b"), list[Span])

client = Client("http://127.0.0.1:8010", "rw_key", timeout=5, retries=1)
assert_type(client.push(log, agent="a", environment="ci"), PushResult)
assert_type(client.push(Path("run.effects.json")), PushResult)
