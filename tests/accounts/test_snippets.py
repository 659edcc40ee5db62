"""The connect page's snippets, run as they are against a real server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from started import needs_curl

from runs.accounts import keys
from runs.accounts.models import Scope
from runs.accounts.snippets import snippets
from runs.models import Run

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shell(live_server, project, shared, tmp_path):
    """shell("curl") -> what the snippet prints, run where `my.effects.json` is a real log."""
    token = keys.mint(project=project, name="k", scope=Scope.INGEST)[1]
    texts = {one.id: one.text for one in snippets(live_server.url, token)}
    for name, body in {"pip": "", "rewyn-sdk": f'exec {sys.executable} -m rewyn_sdk "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    log = shared / "data/rig-examples/02-two-tools-memory.effects.json"
    shutil.copyfile(log, tmp_path / "my.effects.json")
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "sdk" / "src")}

    def run(name: str, interpreter: str = "") -> str:
        command = f"{interpreter} <<'PYTHON'\n{texts[name]}\nPYTHON" if interpreter else texts[name]
        done = subprocess.run(
            ["bash", "-euc", texts["env"] + command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@needs_curl
def test_curl_sends_a_first_run(shell):
    answer = shell("curl")
    run = Run.objects.get()
    assert re.fullmatch(r"hello-\d+", run.external_id)
    assert (run.agent, run.effect_count, run.title) == ("hello", 1, "What does a lighthouse do?")
    assert run.external_id in answer


@needs_curl
def test_curl_sends_a_log_file(shell):
    shell("log")
    assert Run.objects.get().agent == "my-agent"


def test_command_of_the_sdk_sends_a_log_file(shell):
    shell("push")
    assert Run.objects.get().agent == "my-agent"


def test_python_sends_a_log_file(shell):
    assert "/runs/" in shell("python", interpreter=sys.executable + " -")
    assert Run.objects.get().agent == "my-agent"
