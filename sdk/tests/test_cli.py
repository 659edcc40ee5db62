"""The command as a process: exit codes, and a line a file."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
LOG = '{"header":{"handlers":[],"signature":{},"hooks":[],"required":{}},"records":[]}'


@pytest.fixture
def run(tmp_path):
    """Runs `python -m rewyn_sdk` in an empty folder with nothing else in its environment."""

    def call(*arguments, **environment):
        environment = {"PYTHONPATH": str(SOURCE), "PATH": os.defpath, **environment}
        command = [sys.executable, "-m", "rewyn_sdk", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )

    return call


@pytest.fixture
def good(tmp_path):
    (tmp_path / "good.effects.json").write_text(LOG)
    return "good.effects.json"


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad.effects.json").write_text(LOG.replace("[]", "[1]", 1))
    return "bad.effects.json"


def test_check_says_a_line_a_file(run, good):
    done = run("check", good)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{good}: ok (0 records)\n", "")


def test_check_goes_on_after_a_refusal(run, good, bad):
    done = run("check", bad, good, "gone.json")
    assert done.returncode == 1
    assert done.stdout == f"{good}: ok (0 records)\n"
    refusals = done.stderr.splitlines()
    assert refusals[0].startswith(f"{bad}: invalid type: integer `1`, expected a map at header.")
    assert refusals[1] == "gone.json: No such file or directory"


def test_check_names_the_kind_of_a_header_refusal(run, tmp_path):
    header = LOG.replace('"required":{}', '"required":{"k":"tool"}')
    (tmp_path / "x.json").write_text(header.replace('"signature":{}', '"signature":{"k":"embed"}'))
    done = run("check", "x.json")
    assert done.stderr.startswith("x.json: internal: replay refused: conflicting families")


def test_check_takes_the_real_logs(run, shared):
    logs = sorted(shared.glob("rig*/**/*.effects.json*"))
    done = run("check", *logs)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(logs) > 40


def test_show_says_what_is_in_it(run, shared):
    done = run("show", shared / "rig-examples/02-two-tools-memory.effects.json")
    assert done.returncode == 0
    assert done.stdout.endswith(": R44 json, 2 memory, 2 completion, 2 tool\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("push",),
        ("check",),
        ("fly", "x"),
        ("push", "x", "--url", "http://127.0.0.1:1"),
        ("push", "x", "--key", "k"),
        ("push", "x", "--url", "ftp://x", "--key", "k"),
        ("push", "x", "y", "--url", "http://127.0.0.1:1", "--key", "k", "--run-id", "r"),
    ],
)
def test_wrong_usage_is_2(run, arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: rewyn-sdk" in done.stderr


def test_push_names_the_agent_after_the_file(run, good, server):
    done = run("push", good, REWYN_URL=server.url, REWYN_KEY="rw_k")
    assert done.returncode == 0
    assert done.stdout == (f"{good}: {server.url}/p/demo/runs/log-1 (1 stored, 0 known)\n")
    path, headers, body, _ = server.asked[0]
    assert path == "/api/v1/effect-logs?agent=good"
    assert headers["Authorization"] == "Bearer rw_k"
    assert gzip.decompress(body).decode() == LOG


def test_push_sends_facts(run, good, server):
    facts = ("--agent", "a", "--run-id", "r", "--environment", "ci", "--tag", "x", "--tag", "y")
    run("push", good, "--url", server.url, "--key", "k", *facts)
    sent = json.loads(gzip.decompress(server.asked[0][2]))["run"]
    assert sent == {"id": "r", "agent": "a", "environment": "ci", "tags": ["x", "y"]}


def test_push_tells_a_refusal_and_goes_on(run, good, bad, server):
    server.answers.insert(0, (422, {}, {"error": {"code": "decode", "message": "no log"}}))
    done = run("push", bad, good, "--url", server.url, "--key", "k")
    assert (done.returncode, done.stderr) == (1, f"{bad}: no log\n")
    assert done.stdout.startswith(f"{good}: http")


def test_push_tells_rejected_effects(run, good, server):
    effects = {"stored": 1, "duplicate": 0, "rejected": [{"message": "other content"}]}
    server.answers = [(200, {}, {**server.answers[0][2], "effects": effects})]
    done = run("push", good, "--url", server.url, "--key", "k")
    assert (done.returncode, done.stderr) == (1, f"{good}: 1 rejected: other content\n")


def test_push_tells_what_it_changed_of_a_known_run(run, good, server):
    server.answers = [(200, {}, {**server.answers[0][2], "changed": ["agent"]})]
    done = run("push", good, "--url", server.url, "--key", "k")
    assert done.stdout.endswith("(1 stored, 0 known, changed: agent)\n")


def test_push_tells_that_nobody_is_there(run, good):
    done = run("push", good, "--url", "http://127.0.0.1:9", "--key", "k", "--retries", "0")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{good}: no answer from http://127.0.0.1:9")
