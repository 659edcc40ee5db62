"""The environment is made by .ci/bootstrap.py, from whatever Python calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOOTSTRAP = Path(__file__).resolve().parents[2] / ".ci" / "bootstrap.py"


def test_an_activated_environment_is_not_made_with_itself(tmp_path: Path) -> None:
    """`make` in an activated shell finds the environment's own Python, which is removed first."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "bootstrap.py").write_text(BOOTSTRAP.read_text())
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    ask = "import sys, bootstrap; print(bootstrap.maker() == sys.executable, bootstrap.maker())"
    answers = [
        subprocess.check_output([python, "-c", ask], cwd=tmp_path / ".ci", text=True).split()
        for python in (tmp_path / ".venv/bin/python", sys.executable)
    ]
    assert [answer[0] for answer in answers] == ["False", "True"]
    made_with = Path(answers[0][1])
    assert made_with.exists() and tmp_path not in made_with.parents
