"""The documents name what there is: every variable, endpoint and link."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from rest_framework.exceptions import MethodNotAllowed

from runs import demo
from runs.accounts.models import Project
from runs.api.errors import DRF_CODES, STATUS_OF
from runs.lists.filters import RunFilterForm
from runs.search import indexing
from runs.search.find import find
from runs.search.query import parse

ROOT = Path(__file__).resolve().parent.parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def variables_read() -> set[str]:
    """Names of environment variables that the server reads."""
    folders = ("rewyn_web", "runs", "replay")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    pattern = r'env(?:\.\w+)?\(\s*"([A-Z_]+)"|environ\.get\("([A-Z_]+)"'
    found = re.findall(pattern, "\n".join(file.read_text() for file in files))
    return {first or second for first, second in found}


def test_every_variable_is_in_the_operations_page() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    read = variables_read()
    assert len(read) > 20
    assert {name for name in read if f"`{name}`" not in text} == set()


def api_paths() -> set[str]:
    """The addresses the OpenAPI document has."""
    return set(SchemaGenerator().get_schema(request=None, public=True)["paths"])


def test_every_endpoint_is_in_the_api_page() -> None:
    text = re.sub(r"\{[a-z_]+\}", "{}", (ROOT / "docs/api.md").read_text())
    paths = {re.sub(r"\{[a-z_]+\}", "{}", path) for path in api_paths()}
    assert len(paths) > 10
    assert {path for path in paths if path not in text} == set()


CODE_AT = {"Refused": 0, "ItemRefused": 0, "ApiError": 1, "body": 0, "Rejected": 2, "_reject": 1}
CODE_AT |= {"BadModel": 0, "_error": 0}
"""What makes an error of the API, and which of its arguments is the code."""


def codes_in(file: Path) -> set[str]:
    """The error codes that a module names."""
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    named = ((getattr(c.func, "id", getattr(c.func, "attr", "")), c.args) for c in calls)
    found = (
        args[CODE_AT[name]] for name, args in named if name in CODE_AT and args[CODE_AT[name] :]
    )
    return {one.value for one in found if isinstance(one, ast.Constant)}


def test_every_error_code_is_in_the_api_page() -> None:
    files = [f for folder in ("rewyn_web", "runs", "replay") for f in (ROOT / folder).rglob("*.py")]
    used = set().union(*(codes_in(file) for file in files if "fake_provider" not in file.parts))
    used |= {*STATUS_OF, *DRF_CODES.values(), MethodNotAllowed.default_code}
    told = (ROOT / "docs/api.md").read_text().partition("## Errors")[2].partition("## Reading")[0]
    rows = "".join(re.findall(r"^\| \d{3} \| (.*?) \|", told, re.M))
    of_one_effect = {"position_taken", "unknown_effect"}
    assert len(used) > 25
    assert used == set(re.findall(r"`(\w+)`", rows)) | of_one_effect


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_link_between_the_documents_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def filters_of_runs() -> dict[str, list[str]]:
    """Name of each filter of the run list and the values it may have, where they are listed."""
    fields = RunFilterForm().fields
    return {
        name: [str(value) for value, _ in getattr(field, "choices", ()) if value]
        for name, field in fields.items()
        if name not in ("after", "before")
    }


def filter_table() -> str:
    return (ROOT / "docs/api.md").read_text().partition("| Filter | Value |")[2]


@pytest.mark.parametrize("name", filters_of_runs())
def test_every_filter_and_its_values_are_told(name: str) -> None:
    listed = SchemaGenerator().get_schema(request=None, public=True)["paths"]["/api/v1/runs"]["get"]
    told = {parameter["name"]: parameter for parameter in listed["parameters"]}[name]
    schema = told["schema"].get("items", told["schema"])
    (row,) = re.findall(rf"^\| .*`{name}`.* \| (.+) \|$", filter_table(), re.M)
    assert told["description"]
    assert set(schema.get("enum", [])) == set(filters_of_runs()[name])
    assert [value for value in filters_of_runs()[name] if f"`{value}`" not in row] == []


EXAMPLES = ("refund order", '"back to your card"', "ord*", "BK-10077")


@pytest.mark.django_db
def test_what_the_search_pages_give_as_examples_is_found_in_the_demo(project: Project) -> None:
    demo.load(project)
    indexing.index_pending()
    for page in ("docs/search.md", "templates/runs/search.html"):
        text = (ROOT / page).read_text()
        assert [one for one in EXAMPLES if not re.search(f"[`>]{re.escape(one)}[`<]", text)] == []
    assert [one for one in EXAMPLES if not find(project, parse(one)).hits] == []


def test_the_openapi_document_is_made_without_a_warning(tmp_path: Path) -> None:
    call_command("spectacular", "--fail-on-warn", "--validate", file=str(tmp_path / "schema.yml"))
