"""A text that is too long, or holds what no text has (NUL, half a character), in every place where
somebody gives one: by API `too_long` with the field and its limit, or `invalid` with the field; on
pages the same in words, with the number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from replay.models import Baseline, Cluster, Dataset, Divergence
from replay.project_providers.models import ProjectProvider
from replay.review.deciding import checked, decide
from replay.review.people import Decider
from runs.comments.models import Comment

pytestmark = pytest.mark.django_db

REPLAY = {"run": "run-1", "models": ["openai:gpt-b"]}
EXPERIMENT = {"runs": ["run-1"], "models": ["openai:gpt-b"]}
MESSAGE = {"effect": 1, "index": 0, "text": "TEXT"}
RULE = {"name": "ids", "pattern": "id-[0-9]+", "path": "/text"}
HIDDEN = {"name": "ids", "pattern": "id-[0-9]+"}

BODIES = [
    ("POST", "replays", {**REPLAY, "run": "TEXT"}, "run", 200),
    ("POST", "replays", {**REPLAY, "models": ["openai:TEXT"]}, "models", 200),
    ("POST", "replays", {"run": "run-1", "model": "openai:TEXT"}, "model", 200),
    ("POST", "replays", {**REPLAY, "system": "TEXT"}, "system", 1_000_000),
    ("POST", "replays", {**REPLAY, "message": MESSAGE}, "message", 1_000_000),
    ("POST", "replays", {**REPLAY, "tools_off": ["TEXT"]}, "tools_off", 200),
    ("POST", "replays", {**REPLAY, "dangling_result": "TEXT"}, "dangling_result", 1_000_000),
    ("POST", "experiments", {**EXPERIMENT, "name": "TEXT"}, "name", 200),
    ("POST", "experiments", {**EXPERIMENT, "runs": ["run-1", "TEXT"]}, "runs.1", 200),
    ("POST", "experiments", {"models": ["a:b"], "dataset": "TEXT"}, "dataset", 200),
    ("POST", "experiments", {**EXPERIMENT, "models": ["openai:TEXT"]}, "models.0", 200),
    ("POST", "experiments", {**EXPERIMENT, "system": "TEXT"}, "system", 1_000_000),
    (
        "POST",
        "experiments",
        {"runs": ["run-1"], "candidates": [{"model": "openai:a", "system": "TEXT"}]},
        "candidates.0.system",
        1_000_000,
    ),
    ("POST", "datasets", {"name": "TEXT", "runs": ["run-1"]}, "name", 200),
    ("POST", "datasets", {"name": "a", "runs": ["TEXT"]}, "runs.0", 200),
    ("PATCH", "datasets/DATASET", {"name": "TEXT"}, "name", 200),
    ("PATCH", "datasets/DATASET", {"add": ["TEXT"]}, "add.0", 200),
    (
        "POST",
        "divergences/DIVERGENCE/verdict",
        {"verdict": "ignored", "reason": "TEXT"},
        "reason",
        2000,
    ),
    ("POST", "baselines/BASELINE/revocation", {"reason": "TEXT"}, "reason", 2000),
    ("POST", "runs/run-1/effects/1/comments", {"text": "TEXT"}, "text", 10_000),
    ("PUT", "providers/mine", {"kind": "openai", "base_url": "https://TEXT"}, "base_url", 500),
    ("PUT", "providers/mine", {"kind": "openai", "key": "TEXT"}, "key", 4000),
    ("PUT", "providers/mine", {"kind": "openai", "key_variable": "TEXT"}, "key_variable", 100),
    ("POST", "providers/there/test", {"model": "TEXT"}, "model", 200),
    ("POST", "webhooks", {"url": "https://example.com/TEXT"}, "url", 500),
    ("POST", "bounds", {"measure": "cost", "dollars": 1, "agent": "TEXT"}, "agent", 200),
    ("PUT", "ignore-rules", {"rules": [{**RULE, "name": "TEXT"}]}, "rules[0].name", 60),
    ("PUT", "ignore-rules", {"rules": [{**RULE, "path": "/text/TEXT"}]}, "rules[0].path", 200),
    ("PUT", "ignore-rules", {"rules": [{**RULE, "pattern": "TEXT"}]}, "rules[0].pattern", 300),
    ("PUT", "ignore-rules", {"rules": [{**RULE, "key": "TEXT"}]}, "rules[0].key", 200),
    ("POST", "ignore-rules/preview", {"name": "a", "path": "/calls", "tool": "TEXT"}, "tool", 200),
    ("PUT", "redaction", {"rules": [{**HIDDEN, "name": "TEXT"}]}, "rules[0].name", 60),
    ("PUT", "redaction", {"rules": [{**HIDDEN, "pattern": "TEXT"}]}, "rules[0].pattern", 300),
    ("POST", "redaction/preview", {"field": "TEXT"}, "field", 200),
]
BAD = "a\0b"
PARAMETERS = [
    ("runs?agent=TEXT", "agent", 200),
    ("runs?tag=TEXT", "tag", 200),
    ("runs?q=TEXT", "q", 1000),
    ("search?q=TEXT", "q", 1000),
    ("divergences?agent=TEXT", "agent", 200),
    ("divergences?run=TEXT", "run", 200),
    ("replays?experiment=TEXT", "experiment", 200),
    ("baselines?run=TEXT", "run", 200),
    ("verdicts/export?replay=TEXT", "replay", 200),
    ("compare?a=TEXT&b=run-1", "a", 200),
]


@pytest.fixture
def there(found, project, store, read_log, monkeypatch) -> dict[str, str]:
    """What the addresses name."""
    monkeypatch.setattr("replay.jobs.ring", lambda public_id: None)
    divergence = Divergence.objects.order_by("pk")[0]
    accepted = Divergence.objects.order_by("pk")[1]
    decide(accepted, checked("accepted", ""), Decider(None, "CI"), seen=accepted.version)
    ProjectProvider.objects.create(project=project, name="there", kind="openai")
    return {
        "DATASET": Dataset.objects.create(project=project, name="Some").public_id,
        "DIVERGENCE": divergence.public_id,
        "BASELINE": Baseline.objects.get().public_id,
    }


def filled(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value.replace("TEXT", text)
    if isinstance(value, list):
        return [filled(one, text) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, text) for name, one in value.items()}
    return value


def named(path: str, there: dict[str, str]) -> str:
    for name, public_id in there.items():
        path = path.replace(name, public_id)
    return f"/api/v1/{path}"


def test_a_text_that_is_too_long_is_named_with_its_limit(there, api):
    told = {}
    for method, path, body, field, limit in BODIES:
        sent = json.dumps(filled(body, "x" * (limit + 1))).encode()
        answer = api(method, named(path, there), sent)
        error = answer.json()["error"]
        said = f"{limit:,} characters" in error["message"]
        got = (answer.status_code, error["code"], error["field"], error.get("limit"), said)
        if got != (422, "too_long", field, limit, True):
            told[f"{method} {path} {field}"] = answer.json()
        if "errors" in error and error["errors"][0].get("limit") != limit:
            told[f"{method} {path} {field} among all"] = error["errors"]
    assert not told, json.dumps(told, indent=1)


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"], ids=["nul", "half a character"])
def test_what_no_text_has_is_refused_by_its_field(there, api, bad):
    told = {}
    for method, path, body, field, _ in BODIES:
        sent = json.dumps(filled(body, bad)).encode()
        answer = api(method, named(path, there), sent)
        error = answer.json()["error"]
        if (answer.status_code, error["code"], error["field"]) != (422, "invalid", field):
            told[f"{method} {path} {field}"] = answer.json()
    assert not told, json.dumps(told, indent=1)
    assert not Comment.objects.exists()


def test_a_parameter_that_is_too_long_is_named_with_its_limit(there, api):
    told = {}
    for path, field, limit in PARAMETERS:
        answer = api("GET", named(path, there).replace("TEXT", "x" * (limit + 1)))
        error = answer.json()["error"]
        got = (answer.status_code, error["code"], error["field"], error.get("limit"))
        if got != (422, "too_long", field, limit):
            told[path] = answer.json()
    assert not told, json.dumps(told, indent=1)


def test_a_parameter_with_nul_is_refused_by_its_name(there, api):
    told = {}
    for path, field, _ in PARAMETERS:
        answer = api("GET", named(path, there).replace("TEXT", quote("a\0b")))
        error = answer.json()["error"]
        if (answer.status_code, error["code"], error["field"]) != (422, "invalid", field):
            told[path] = answer.json()
    assert not told, json.dumps(told, indent=1)


VERDICT = {"verdict": "ignored", "which": "all", "version": 0, "up_to": 9}
KEEP = {"run": "run-1"}
PAGES = [
    ("account", {"name": "TEXT"}, 200),
    ("projects", {"name": "TEXT", "slug": "new"}, 200),
    ("p/acme/keys", {"name": "TEXT", "scope": "read", "expires": ""}, 200),
    ("p/acme/settings", {"name": "TEXT"}, 200),
    ("p/acme/settings/redaction", {"name": "TEXT", "pattern": "id-[0-9]+"}, 60),
    ("p/acme/settings/redaction", {"name": "ids", "pattern": "TEXT"}, 300),
    ("p/acme/settings/redaction", {"name": "ids", "field": "TEXT"}, 200),
    ("p/acme/runs/run-1/effects/1/comments", {"text": "TEXT"}, 10_000),
    ("p/acme/review/divergences/DIVERGENCE/comments", {"text": "TEXT"}, 10_000),
    ("p/acme/review/clusters/CLUSTER/verdict", {**VERDICT, "reason": "TEXT"}, 2000),
    ("p/acme/baselines/BASELINE/revocation", {"reason": "TEXT"}, 2000),
    ("p/acme/views", {"name": "TEXT", "query": ""}, 80),
    ("p/acme/views", {"name": "Mine", "query": "agent=TEXT"}, 2000),
    ("p/acme/selection/tags", {"run": "run-1", "tag": "TEXT"}, 200),
    ("p/acme/runs/run-1/replay", {"model": "openai:gpt-b", "system": "TEXT"}, 1_000_000),
    ("p/acme/runs/run-1/replay", {"model": "openai:TEXT"}, 200),
    ("p/acme/experiments/new", {"run": "run-1", "model": "a:b", "name": "TEXT"}, 200),
    ("p/acme/datasets", {"run": "run-1", "name": "TEXT"}, 200),
    ("p/acme/datasets/DATASET", {"name": "TEXT"}, 200),
    ("p/acme/settings/providers", {"name": "TEXT", "kind": "openai"}, 40),
    ("p/acme/settings/providers", {"name": "a", "kind": "openai", "base_url": "https://TEXT"}, 500),
    ("p/acme/settings/providers", {"name": "a", "kind": "openai", "key": "TEXT"}, 4000),
    ("p/acme/settings/providers", {"name": "a", "kind": "openai", "key_variable": "TEXT"}, 100),
    ("p/acme/settings/providers/there/test", {"model": "TEXT"}, 200),
    ("p/acme/settings/notifications", {"url": "https://example.com/TEXT", "events": "ping"}, 500),
    (
        "p/acme/settings/notifications/bounds",
        {"watched": "cost.day", "most": "1", "agent": "TEXT"},
        200,
    ),
    ("p/acme/ignore-rules", {"name": "TEXT", "path": "/text"}, 60),
    ("p/acme/ignore-rules", {"name": "a", "path": "/text/TEXT"}, 200),
    ("p/acme/ignore-rules", {"name": "a", "path": "/text", "tool": "TEXT"}, 200),
    ("p/acme/import", {"agent": "TEXT", "files": "FILE"}, 200),
]


REFUSED = (
    "Null characters are not allowed",
    "This holds NUL",
    "Control characters",
    "control characters",
    "printable ASCII",
    "plain ASCII",
    "is no name of an environment variable",
    "small letters",
)


def said(browser: Client, address: str, form: dict[str, Any], fragment: bool) -> str:
    """All that somebody is told who sends a form, with scripts or without."""
    if "files" in form:
        form = {**form, "files": SimpleUploadedFile("a.json", b'{"header":{},"records":[]}')}
    headers = {"HX-Request": "true"} if fragment else {}
    page = browser.post(f"/{address}", form, headers=headers, follow=True)
    if page.status_code >= 500:
        return f"broken: {page.status_code}"
    if "HX-Redirect" in page.headers:
        page = browser.get(page.headers["HX-Redirect"])
    return page.text + page.headers.get("HX-Trigger", "")


def forms_of(there: dict[str, str], fragment: bool) -> Iterator[tuple[str, dict[str, Any], int]]:
    there["CLUSTER"] = str(Cluster.objects.all()[0].pk)
    for path, form, limit in PAGES:
        if not (fragment and path == "p/acme/views"):  # which no script sends
            yield named(path, there).removeprefix("/api/v1/"), form, limit


@pytest.mark.parametrize("fragment", [False, True])
def test_a_page_says_how_long_a_text_may_be(there, person, fragment):
    ada, silent = person("Ada", "owner"), []
    for address, form, limit in forms_of(there, fragment):
        words = said(ada, address, filled(form, "x" * (limit + 1)), fragment)
        if not any(f"at most {number} characters" in words for number in (f"{limit:,}", limit)):
            silent.append(f"{address} {form}")
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize("fragment", [False, True])
def test_a_page_refuses_nul_in_words(there, person, fragment):
    ada, silent = person("Ada", "owner"), []
    for address, form, _ in forms_of(there, fragment):
        words = said(ada, address, filled(form, "a\0b"), fragment)
        if not any(refused in words for refused in REFUSED):
            silent.append(f"{address} {form}")
    assert not silent, "\n".join(silent)


LOOKED_FOR = [
    ("get", "p/acme/selection/export", {"run": BAD}),
    ("get", "p/acme/selection/deletion", {"run": BAD}),
    ("get", "p/acme/selection/replay", {"run": BAD}),
    ("post", "p/acme/selection/tags", {"run": BAD, "tag": "a"}),
    ("post", "p/acme/selection/deletion", {"run": BAD}),
    ("get", "p/acme/list/rows", {"run": BAD}),
    ("get", "p/acme/experiments/new", {"dataset": BAD}),
    ("get", "p/acme/experiments/new", {"run": "run-1", "keep": BAD}),
    ("post", "p/acme/datasets", {"run": "run-1", "name": BAD}),
    ("post", "p/acme/datasets/DATASET", {"remove": BAD}),
    ("get", "p/acme/session", {"id": BAD}),
    ("get", "p/acme/agent", {"name": BAD}),
    ("get", "p/acme/search", {"q": BAD}),
]


def test_what_cannot_be_there_is_not_asked_of_the_database(there, person):
    ada, broken = person("Ada", "owner"), []
    for method, path, sent in LOOKED_FOR:
        address = named(path, there).removeprefix("/api/v1")
        status = getattr(ada, method)(address, sent).status_code
        if status not in (200, 302, 404, 422):
            broken.append(f"{method} {path} {sent}: {status}")
    assert not broken, "\n".join(broken)
