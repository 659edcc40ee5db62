"""docker-compose.yml: valid by its schema, and its very commands run (no engine needed)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from started import free_port

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_the_file_is_valid_by_the_compose_schema() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.compose-spec", str(ROOT / "docker-compose.yml")),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_has_the_five_services_each_with_a_health_check() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"web", "worker", "beat", "postgres", "redis"}
    assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()  # web's own
    assert all("healthcheck" in services[name] for name in set(services) - {"web"})


def test_addresses_of_this_machine_need_the_operators_word() -> None:
    """Under `make run` they are allowed (test_start): there whoever looks is the operator."""
    told = COMPOSE["services"]["worker"]["environment"]["REPLAY_PRIVATE_ADDRESSES"]
    assert told == "${REPLAY_PRIVATE_ADDRESSES:-false}"


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    secrets = re.findall(r"\$\{((?:SECRET_KEY|POSTGRES_PASSWORD)[^}]*)\}", text)
    assert len(secrets) == 3
    assert all(":?" in secret for secret in secrets)


def test_the_image_runs_as_an_ordinary_user() -> None:
    users = re.findall(r"^USER (\w+)$", (ROOT / "Dockerfile").read_text(), re.M)
    assert users == ["rewyn"]


def test_everything_the_image_copies_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    missing = [name for line in copied for name in line.split() if not (ROOT / name).exists()]
    assert copied and missing == []


@pytest.fixture
def services(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of the app's containers, over this machine's PostgreSQL and Redis."""
    url, name = os.environ["DATABASE_URL"], f"compose_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    yield {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'sdk' / 'src'}",
        "SECRET_KEY": "x" * 50,
        "DATABASE_URL": re.sub(r"/[^/]*$", f"/{name}", url),
        "REWYN_HOME": str(tmp_path / "data"),
        "PORT": str(free_port()),
        "WORKER_ALIVE_FILE": str(tmp_path / "worker.alive"),
    }
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def start(services: dict[str, str], tmp_path: Path) -> Iterator[Callable[[list[str]], Path]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(command: list[str]) -> Path:
        out = tmp_path / f"log-{len(started)}"
        with out.open("wb") as log:
            started.append(
                subprocess.Popen(command, cwd=ROOT, env=services, stdout=log, stderr=log)
            )
        return out

    yield run
    for process in started:
        process.terminate()
    for process in started:
        process.wait(20)


def passes(command: list[str], environment: dict[str, str], patience: float = 120) -> str:
    until = time.monotonic() + patience
    while True:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout
        assert time.monotonic() < until, done.stdout + done.stderr
        time.sleep(0.3)


def compose_command(name: str, temporary: Path) -> list[str]:
    return [part.replace("/tmp/", f"{temporary}/") for part in COMPOSE["services"][name]["command"]]


def health_command(name: str, temporary: Path) -> list[str]:
    kind, *test = COMPOSE["services"][name]["healthcheck"]["test"]
    test = [part.replace("/tmp/", f"{temporary}/").replace("$$", "$") for part in test]
    return ["sh", "-c", *test] if kind == "CMD-SHELL" else test


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.timeout(300)
def test_its_commands_serve_work_and_beat(
    services: dict[str, str], start: Callable[[list[str]], Path], tmp_path: Path
) -> None:
    start(compose_command("web", tmp_path))
    dockerfile = (ROOT / "Dockerfile").read_text()
    check = json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.+\])$", dockerfile, re.M)[1])
    assert '"database": "ok"' in passes(check, services)
    for name in ("worker", "beat"):
        start(compose_command(name, tmp_path))
    for name in ("worker", "beat"):
        passes(health_command(name, tmp_path), services)
    link = passes(
        ["python", "manage.py", "sign_in_link", "--email", "you@example.com", "--project", "main"],
        services,
    )
    path = re.search(r"/sign-in/\S+", link)[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{services['PORT']}{path}") as page:
        assert page.status == 200
