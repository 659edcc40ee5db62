"""Whether a kill -9 loses a stored answer, or lets one be asked again.

    python -m bench.kills [--kills 20] [--replays 80] [--delay 1500]

Starts a provider on loopback and the product, queues replays of the workload's runs, and kills
every process of the product at random moments, as often as asked; each time it is started again.
In the end every call must be answered, each answer that was stored at a kill must be the one that
is there now, and the provider must not have been asked for it after it was stored. Kills that come
when all is answered prove nothing, and are not counted as `in the middle`. DATABASE_URL chooses the
database. Ends with 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.product import Client, Product

if TYPE_CHECKING:
    from replay.fake_provider import FakeProvider

Kept = dict[int, tuple[bytes, float]]
"""Row → its answer, and when it was stored (seconds since 1970)."""


def stored() -> Kept:
    from replay.models import ReplayEffect

    rows = ReplayEffect.objects.filter(state="answered")
    values = rows.values_list("pk", "answer", "answered_at")
    return {pk: (bytes(answer), at.timestamp()) for pk, answer, at in values}


def queue(client: Client, replays: int) -> None:
    """Runs of the workload, each replayed by a model of its own: so calls are told apart."""
    import workload

    for number, run in enumerate(workload.runs(replays, seed=4)):
        status, answer = client.send("POST", "/api/v1/runs", workload.to_post(run))
        assert status == 201, answer
        asked = {"run": run["run_id"], "mode": "prompt", "models": [f"openai:m{number}"]}
        status, answer = client.send("POST", "/api/v1/replays", json.dumps(asked).encode())
        assert status == 201, answer


def is_over(client: Client) -> bool:
    listed = client.get("/api/v1/replays?limit=200")["results"]
    return all(one["status"] not in ("queued", "running") for one in listed)


def kill_again_and_again(start: Any, kills: int, replays: int, chance: random.Random) -> list[Kept]:
    """What was stored at each kill, and in the end."""
    seen = []
    for number in range(kills):
        with start() as product:
            if number == 0:
                queue(product.client(), replays)
            time.sleep(chance.uniform(0.5, 5.0))
            os.killpg(product.process.pid, signal.SIGKILL)
            product.process.wait(10)
        seen.append(stored())
        print(f"kill {number + 1}: {len(seen[-1])} answers stored", flush=True)
    with start() as product:
        client = product.client()
        while not is_over(client):
            time.sleep(0.3)
    return [*seen, stored()]


def judge(seen: list[Kept], fake: FakeProvider) -> dict[str, int]:
    from replay.models import ReplayEffect

    last = seen[-1]
    lost = {pk for kept in seen for pk, (answer, _) in kept.items() if last[pk][0] != answer}
    rows = ReplayEffect.objects.select_related("replay")
    answered: dict[tuple[str, str], float] = {}
    for row in rows.filter(state="answered"):
        call = (row.replay.model, body_of(row.sent))
        answered[call] = max(answered.get(call, 0.0), last[row.pk][1])  # two may ask the same
    whole = [one for one in fake.asked if one.body is not None]  # a kill may cut one short
    again = sum(
        one.at > answered.get((one.body["model"], spelled(one.body)), one.at) for one in whole
    )
    for row in rows.exclude(state="answered"):
        of = row.replay
        why = f"{row.error_code or row.state} after {row.calls} calls"
        print(f"unanswered: {why}, {row.interruptions} interrupted;", end=" ")
        print(f"replay {of.status} {of.error_code} in attempt {of.attempt}")
    unanswered = rows.exclude(state="answered").count()
    interrupted = sum(rows.values_list("interruptions", flat=True))
    return {
        "kills in the middle": sum(len(kept) < len(last) for kept in seen[:-1]),
        "calls": rows.count(),
        "requests": len(fake.asked),
        "interrupted": interrupted,
        "unanswered": unanswered,
        "lost": len(lost),
        "asked again": again,
    }


def body_of(sent: bytes) -> str:
    from runs.storage.segments import decompress

    return spelled(json.loads(decompress(sent)))


def spelled(body: Any) -> str:
    return json.dumps(body, sort_keys=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--replays", type=int, default=80)
    parser.add_argument("--delay", type=float, default=1500.0, help="of the provider, in ms")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        os.environ |= {"REWYN_HOME": str(home), "DJANGO_SETTINGS_MODULE": "rewyn_web.settings"}
        import django

        django.setup()
        from replay.fake_provider import FakeProvider

        rule = {"delay_ms": asked.delay, "answer": {"text": "It is done."}}
        with FakeProvider(rules=[rule]) as fake:
            environment = {
                "OPENAI_API_KEY": "any",
                "OPENAI_BASE_URL": fake.openai_base_url,
                "REPLAY_LEASE_SECONDS": "1",
                "REPLAY_SWEEP_SECONDS": "0.3",
                # Beside the kills, a busy machine keeps a worker from renewing so short a lease.
                "REPLAY_MAX_ATTEMPTS": str(asked.kills * 3),
                "REPLAY_CALL_ATTEMPTS": str(asked.kills * 3),
            }
            seen = kill_again_and_again(
                lambda: Product(home, **environment),
                asked.kills,
                asked.replays,
                random.Random(asked.seed),
            )
            found = judge(seen, fake)
    print(", ".join(f"{name} {count}" for name, count in found.items()))
    return 1 if found["lost"] or found["asked again"] or found["unanswered"] else 0


if __name__ == "__main__":
    sys.exit(main())
