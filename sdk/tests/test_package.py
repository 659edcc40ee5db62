"""The distribution as a user installs it: one wheel, nothing beside it."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import rewyn_sdk

HERE = Path(__file__).parent
PROJECT = HERE.parent

CALL = """
import sys
sys.path.insert(0, sys.argv[1])
import rewyn_sdk
assert rewyn_sdk.__file__.startswith(sys.argv[1]), rewyn_sdk.__file__
from rewyn_sdk import EffectLog, stable_hash
import rewyn_sdk.client, rewyn_sdk.cli, rewyn_sdk.convert, rewyn_sdk.match, rewyn_sdk.textdiff
assert stable_hash("run") == 3756214662760930808
text = '{"header":{"handlers":[],"signature":{},"hooks":[],"required":{}},"records":[]}'
assert EffectLog.loads(text, strict=True).records == []
outside = {name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(sorted(outside - {"__main__"}))
"""


def isolated(code, *arguments):
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without network by the back end that pyproject.toml names."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, PROJECT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


def test_the_wheel_works_with_nothing_but_the_standard_library(wheel):
    done = isolated(CALL, wheel)
    assert (done.stdout, done.stderr) == ("['rewyn_sdk']\n", "")


def test_the_wheel_holds_the_package_its_types_and_its_command(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    info = f"rewyn_sdk-{rewyn_sdk.__version__}.dist-info"
    assert {"rewyn_sdk/py.typed", "rewyn_sdk/__main__.py", f"{info}/entry_points.txt"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"rewyn_sdk", info}


def test_the_wheel_asks_for_nothing_else(wheel):
    info = f"rewyn_sdk-{rewyn_sdk.__version__}.dist-info/METADATA"
    metadata = zipfile.ZipFile(wheel).read(info).decode()
    assert "Requires-Dist" not in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_one_version_everywhere():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == rewyn_sdk.__version__


@pytest.mark.parametrize("name", rewyn_sdk.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert name in dir(rewyn_sdk)
    assert getattr(rewyn_sdk, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        rewyn_sdk.nothing  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "from rewyn_sdk import diff",
        "from rewyn_sdk.diff import Change; from rewyn_sdk import diff",
        "import rewyn_sdk.diff; diff = rewyn_sdk.diff",
        "from rewyn_sdk import diff; from rewyn_sdk.diff import diff",
    ],
)
def test_diff_can_be_called_however_it_is_imported(code):
    path = f"import sys; sys.path.insert(0, {str(PROJECT / 'src')!r}); "
    done = isolated(f"{path}{code}; print(len(diff(1, 2)))")
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_importing_loads_nothing_heavy():
    path = f"import sys; sys.path.insert(0, {str(PROJECT / 'src')!r}); "
    done = isolated(f"{path}import rewyn_sdk; print(len([m for m in sys.modules if 'rewyn' in m]))")
    assert done.stdout == "1\n"
    heavy = "print({'json', 'typing', 'dataclasses', 're'} & set(sys.modules))"
    assert isolated(f"{path}import rewyn_sdk; {heavy}").stdout == "set()\n"


@pytest.mark.slow
def test_the_types_are_as_documented(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull]
    command += ["--cache-dir", str(tmp_path), str(HERE / "typing/api.py")]
    environment = {**os.environ, "MYPYPATH": str(PROJECT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout
