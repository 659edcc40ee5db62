"""Modules that call themselves pure are those whose imports `make check` watches."""

from __future__ import annotations

import ast
import re
import tomllib

from started import ROOT

CONTRACT = "What calls itself pure knows no models"


def test_every_module_that_calls_itself_pure_is_held_to_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    [watched] = [c["source_modules"] for c in contracts if c["name"] == CONTRACT]
    files = [path for top in ("runs", "replay") for path in (ROOT / top).rglob("*.py")]
    pure = [_name(path) for path in files if _calls_itself_pure(path.read_text())]
    assert len(pure) > 30
    assert not [name for name in pure if not _is_within(name, watched)]


def _name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _calls_itself_pure(source):
    said = ast.get_docstring(ast.parse(source)) or ""
    return re.search(r"\bPure\.|\(pure\)", said) is not None


def _is_within(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)
