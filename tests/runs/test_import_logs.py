"""manage.py import_logs: files and folders in, one line a failed file, an exit code."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from factories import completion, log, tool

from runs.accounts.models import Project
from runs.models import Run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.effects.json").write_text(json.dumps(log(completion(1))))
    (tmp_path / "b.effects.json").write_text(json.dumps(log(completion(1), tool(2))))
    return tmp_path


def call(*args: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("import_logs", *map(str, args), stdout=out, stderr=err)
    except CommandError as error:
        return out.getvalue(), f"{err.getvalue()}{error} (exit {error.returncode})"
    return out.getvalue(), err.getvalue()


def test_files_become_runs(project, folder):
    out, _ = call(folder / "a.effects.json", folder / "b.effects.json", "--agent", "desk")
    assert out == "2 of 2 files imported, 3 new effects\n"
    assert set(Run.objects.values_list("agent", flat=True)) == {"desk"}


def test_a_folder_stands_for_its_files(project, folder):
    call(folder)
    assert Run.objects.count() == 2


def test_files_sent_again_bring_nothing_new(project, folder):
    call(folder)
    assert call(folder)[0] == "2 of 2 files imported, 0 new effects\n"


def test_a_bad_file_is_named_and_the_others_are_imported(project, folder):
    (folder / "c.effects.json").write_text('{"records": [')
    out, err = call(folder, folder / "missing.json")
    assert out == "2 of 4 files imported, 3 new effects\n"
    assert "c.effects.json: The body is not valid JSON" in err and "missing.json: " in err
    assert err.endswith("2 of 4 files were not imported (exit 1)")


def test_a_file_with_a_refused_effect_is_named(project, folder):
    (folder / "b.effects.json").write_text(json.dumps(log(tool(1), tool(1, result="other"))))
    assert "1 effects refused; effect 1: This id is there" in call(folder)[1]


def test_several_projects_need_a_name(project, folder):
    Project.objects.create(slug="other", name="Other")
    assert "say which with --project" in call(folder)[1]
    assert call(folder, "--project", "other")[0].startswith("2 of 2")


def test_every_real_log_is_imported(project, shared):
    folders = [shared / "data" / "rig-examples", shared / "data" / "rig" / "newer"]
    logs = [file for folder in folders for file in folder.glob("*.effects.*")]
    out, err = call(*folders)
    assert (out.split(",")[0], err) == (f"{len(logs)} of {len(logs)} files imported", "")
