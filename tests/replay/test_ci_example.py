"""The gate of docs/ci.md, run as it is written, against the product and the fake provider."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import factories
import pytest
from started import ROOT, Started, free_port, up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SCRIPT = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.S)[0]
RULES = [
    {"when": {"model": "steady"}, "answer": {"text": "Hello"}},
    {"answer": {"text": "It costs $5."}},
]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[str]:
    """The address of `manage.py fake_provider`: one model answers as recorded, others do not."""
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(RULES))
    command = ["manage.py", "fake_provider", "--port", "0", "--rules", str(rules)]
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip().partition("=")[2]
        process.terminate()


@pytest.fixture
def product(tmp_path: Path, provider: str) -> Iterator[Started]:
    environment = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": provider, "REWYN_DEMO": "0"}
    with up(tmp_path / "home", free_port(), **environment) as started:
        for name in ("run-1", "run-2"):
            send(started, factories.run(name, factories.completion(1, f"Hi {name}")))
        yield started


def send(product: Started, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {product.key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{product.base}/api/v1/runs", body, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.status == 201


def gate(product: Started, model: str, *runs: str) -> tuple[int, str]:
    # As it is copied from a browser, with a slash at its end.
    url = f"{product.base}/"
    env = {**os.environ, "MODEL": model, "REWYN_URL": url, "REWYN_KEY": product.key}
    done = subprocess.run(
        ["sh", "-c", SCRIPT, "gate.sh", *runs], env=env, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def test_the_gate_of_the_documents_exits_by_what_the_answers_say(product: Started) -> None:
    code, said = gate(product, "openai:steady", "run-1", "run-2")
    assert (code, "ok   openai:steady min_same is 1.0 asked for 0.9" in said) == (0, True)
    code, said = gate(product, "openai:other", "run-1", "run-2")
    assert (code, "FAIL openai:other min_same is 0.0 asked for 0.9" in said) == (1, True)
    for model, run, told in (
        ("openai:steady", "nobody", "not_found"),
        ("x:y", "run-1", "unknown_provider"),
    ):
        code, said = gate(product, model, run)
        assert (code, told in said, "Traceback" in said) == (2, True, False)
