"""Commands from a shell that names another installation, or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from started import ROOT, Started, free_port, up

from rewyn_web import settings

pytestmark = pytest.mark.slow

COMMANDS = [
    ["sign_in_link"],
    ["create_api_key", "main"],
    ["remove_demo"],
    ["import_logs", "a.effects.json"],
    ["run_jobs"],
    ["sweep_jobs"],
    ["web"],
]
NAMED = {"DATABASE_URL", "PORT", "BASE_URL", "REDIS_URL"}


def manage(home: Path, *args: str, **named: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in NAMED}
    return subprocess.run(
        [sys.executable, "manage.py", *args],
        cwd=ROOT,
        env={**environment, "REWYN_HOME": str(home), **named},
        capture_output=True,
        text=True,
        timeout=60,
    )


ASK_EACH = """
import json, sys
import django
from django.core.management import CommandError, call_command
django.setup()
for command in json.loads(sys.argv[1]):
    try:
        call_command(*command)
    except CommandError as error:
        print(error)
"""


def refusals(home: Path, *commands: list[str], **named: str) -> list[str]:
    """What each command says in refusing, asked in one process: a start costs two seconds."""
    environment = {k: v for k, v in os.environ.items() if k not in NAMED}
    done = subprocess.run(
        [sys.executable, "-c", ASK_EACH, json.dumps(commands)],
        cwd=ROOT,
        env={**environment, "REWYN_HOME": str(home), **named},
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert (done.stderr, len(lines)) == ("", len(commands))
    assert all("REWYN_HOME" in line and "DATABASE_URL" in line for line in lines)
    return lines


def test_without_an_environment_it_says_how_to_make_one(tmp_path):
    (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text())
    bare = [sys.executable, "-S", "manage.py", "version"]  # no package is found
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "make env" in done.stderr) == (1, True)
    assert len(done.stderr.splitlines()) == 1


def test_any_python_goes_on_with_that_of_the_environment(tmp_path):
    (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text())
    its_own = tmp_path / ".venv" / "bin" / "python"
    its_own.parent.mkdir(parents=True)
    its_own.write_text('#!/bin/sh\necho went on with "$@"\n')
    its_own.chmod(0o755)
    bare = [sys.executable, "-S", "manage.py", "version"]
    assert subprocess.check_output(bare, cwd=tmp_path, text=True).startswith("went on with ")


def test_where_nothing_was_started_every_command_says_so_and_makes_nothing(tmp_path):
    lines = refusals(tmp_path, *COMMANDS)
    assert all("There is no database" in line for line in lines)
    assert not (tmp_path / "db.sqlite3").exists()


def test_a_refusal_is_one_line_of_a_shell(tmp_path):
    done = manage(tmp_path, "sign_in_link")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout, line[:14]) == (1, "", "CommandError: ")


def test_a_database_without_tables_is_named(tmp_path):
    (tmp_path / "db.sqlite3").touch()
    assert "manage.py migrate" in refusals(tmp_path, ["sign_in_link"])[0]


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "db.sqlite3").write_text("no database at all, only some text" * 99)
    assert "not a database" in refusals(tmp_path, ["sign_in_link"])[0]


def test_a_database_that_is_away_is_named_without_its_password(tmp_path):
    url = f"postgres://ada:secret@127.0.0.1:{free_port()}/acme"
    for line in refusals(tmp_path, ["sign_in_link"], ["up"], ["web"], DATABASE_URL=url):
        assert "acme on 127.0.0.1" in line and "secret" not in line


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Started]]:
    """A home and the product that serves it, on every interface."""
    home = tmp_path_factory.mktemp("served") / "home"
    with up(home, free_port(), REWYN_DEMO="0", HOST="0.0.0.0") as started:
        yield home, started


def test_a_link_leads_to_where_the_installation_answers(served):
    home, started = served
    kept = home / "address"
    assert manage(home, "sign_in_link").stdout.startswith(f"{started.base}/sign-in/")
    assert (kept.stat().st_mode & 0o777, kept.read_text()) == (0o600, f"{started.base}\n")


def test_a_link_leads_to_the_address_it_is_told(served):
    elsewhere = manage(served[0], "sign_in_link", BASE_URL="https://rewyn.example/")
    assert elsewhere.stdout.startswith("https://rewyn.example/sign-in/")


def test_every_interface_is_printed_as_one_that_answers(served):
    assert served[1].base.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_named(port):
    with pytest.raises(CommandError, match=f"PORT is {port}: a port is 1 to 65535"):
        call_command("up", f"--port={port}")


def test_a_home_that_cannot_be_is_named_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = manage(tmp_path / "file" / "home", "check")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and "cannot be used: Not a directory" in line


def test_of_two_that_start_at_once_both_have_the_secret_of_the_first(tmp_path, monkeypatch):
    def while_another_starts(length: int) -> str:
        (tmp_path / "secret_key").write_text("theirs")
        return "ours"

    monkeypatch.setattr(settings, "REWYN_HOME", tmp_path)
    monkeypatch.setattr(settings.secrets, "token_urlsafe", while_another_starts)
    assert settings._kept_secret("secret_key") == "theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_an_empty_secret_is_made_anew(tmp_path):
    home = tmp_path / "home"
    assert manage(home, "version").returncode == 0
    assert home.stat().st_mode & 0o777 == 0o700
    (home / "secret_key").write_text("")
    assert manage(home, "version").returncode == 0
    assert len((home / "secret_key").read_text()) > 40


def test_a_command_that_finds_no_installation_leaves_no_trace(tmp_path: Path) -> None:
    done = manage(tmp_path / "no" / "such", "sign_in_link")
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])


def test_a_home_that_is_there_keeps_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    assert manage(tmp_path, "sign_in_link").returncode == 1
    assert (tmp_path / "mine").exists()


def test_a_second_start_on_the_same_home_says_where_the_first_answers(served) -> None:
    home, first = served
    second = manage(home, "up", PORT=str(free_port()))
    assert second.returncode == 1
    assert f"is served already, at {first.base}." in second.stderr
    assert first.get("/healthz")["status"] == "ok"
