"""Commands from a shell that names another installation, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from started import ROOT, free_port, up

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


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line it ends with."""
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout, line[:14]) == (1, "", "CommandError: ")
    assert "REWYN_HOME" in line and "DATABASE_URL" in line
    return line


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: args[0])
def test_where_nothing_was_started_a_command_says_so_and_makes_nothing(tmp_path, args):
    assert "There is no database" in refusal(manage(tmp_path, *args))
    assert not (tmp_path / "db.sqlite3").exists()


def test_a_database_without_tables_is_named(tmp_path):
    (tmp_path / "db.sqlite3").touch()
    assert "manage.py migrate" in refusal(manage(tmp_path, "sign_in_link"))


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "db.sqlite3").write_text("no database at all, only some text" * 99)
    assert "not a database" in refusal(manage(tmp_path, "sign_in_link"))


@pytest.mark.parametrize("command", ["sign_in_link", "up", "web"])
def test_a_database_that_is_away_is_named_without_its_password(tmp_path, command):
    url = f"postgres://ada:secret@127.0.0.1:{free_port()}/acme"
    line = refusal(manage(tmp_path, command, DATABASE_URL=url))
    assert "acme on 127.0.0.1" in line and "secret" not in line


def test_a_link_leads_to_where_the_installation_answers(tmp_path):
    with up(tmp_path, free_port(), REWYN_DEMO="0") as started:
        link = manage(tmp_path, "sign_in_link").stdout
        kept = tmp_path / "address"
        assert link.startswith(f"{started.base}/sign-in/")
        assert (kept.stat().st_mode & 0o777, kept.read_text()) == (0o600, f"{started.base}\n")
    elsewhere = manage(tmp_path, "sign_in_link", BASE_URL="https://rewyn.example/")
    assert elsewhere.stdout.startswith("https://rewyn.example/sign-in/")


def test_every_interface_is_printed_as_one_that_answers(tmp_path):
    with up(tmp_path, free_port(), REWYN_DEMO="0", HOST="0.0.0.0") as started:
        assert started.base.startswith("http://127.0.0.1:")
