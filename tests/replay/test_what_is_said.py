"""A refusal says what is wrong with what was sent, and not something else that is not."""

from __future__ import annotations

from typing import Any

import factories
import pytest

LONG = "x" * 5000
HOOK = {"url": "https://a.example/x", "events": ["replay.finished"]}


@pytest.fixture
def asked(store, provider) -> None:
    provider({"answer": {"text": "Hello"}})
    store(factories.log(factories.completion(1, "Hi")), "r")


@pytest.fixture
def told(asked, call):
    """told(path, **body) -> what the API says against it, with its field."""

    def send(path: str, **body: Any) -> tuple[str, str]:
        status, answer = call("POST", path, **body)
        assert status in (400, 422), answer
        return answer["error"]["field"], answer["error"]["message"]

    return send


@pytest.mark.parametrize(
    ("path", "body", "field", "said"),
    [
        ("replays", {"run": LONG}, "run", "at most 200 characters"),
        ("replays", {"models": [f"openai:{LONG}"]}, "models", "at most 200 characters"),
        ("replays", {"models": ["openai:a", "b"]}, "models", "not “b”"),
        ("replays", {"tools_off": [LONG]}, "tools_off", "at most 200 characters"),
        ("replays", {"max_tokens": -5}, "max_tokens", "from 1 to 10,000,000"),
        ("experiments", {"runs": [LONG], "models": ["openai:a"]}, "runs.0", "at most 200"),
        ("experiments", {"runs": ["r"], "models": ["openai:a"], "name": "a\x00b"}, "name",
         "control characters"),
        ("datasets", {"runs": ["r"], "name": "a\x07b"}, "name", "control characters"),
    ],
)  # fmt: skip
def test_a_refused_question_says_what_is_wrong(told, path, body, field, said):
    given = body if path != "replays" else {"run": "r", **body}
    assert told(path, **given)[0] == field
    assert said in told(path, **given)[1]


@pytest.mark.parametrize(
    ("path", "body", "field", "said"),
    [
        ("providers/a", {"base_url": f"https://a.example/{LONG}"}, "base_url", "at most 500"),
        ("providers/a", {"base_url": "https://a.example/ö"}, "base_url", "plain ASCII"),
        ("providers/a", {"key": LONG}, "key", "at most 4,000 characters"),
        ("providers/a", {"key": "a b"}, "key", "without spaces"),
        ("providers/a", {"key_variable": "A" * 300}, "key_variable", "at most"),
        ("webhooks", {**HOOK, "url": "https://a.example/x#frag"}, "url", "fragment"),
        ("webhooks", {**HOOK, "url": "https://a.example/x?a=1#frag"}, "url", "fragment"),
        ("webhooks", {**HOOK, "url": f"https://a.example/{LONG}"}, "url", "characters"),
        ("webhooks", {**HOOK, "url": "https://a.example/?a=ö"}, "url", "plain ASCII"),
        ("webhooks", {**HOOK, "events": []}, "events", "Choose an event, or switch it off"),
        ("bounds", {"measure": "cost", "dollars": 1, "agent": LONG}, "agent", "at most"),
    ],
)
def test_a_refused_setting_says_what_is_wrong(call, path, body, field, said):
    one = path == "providers/a"
    given = {"kind": "compatible", "base_url": "https://a.example", **body} if one else body
    status, answer = call("PUT" if one else "POST", path, **given)
    assert (status, answer["error"]["field"]) == (422, field)
    assert said in answer["error"]["message"]
    assert "has no query" not in answer["error"]["message"]


def test_a_webhook_that_is_off_needs_no_event(call):
    status, made = call("POST", "webhooks", url="https://a.example/x", events=[], active=False)
    assert (status, made["events"], made["active"]) == (201, [], False)


@pytest.mark.parametrize(
    ("query", "control", "said"),
    [
        ("max_tokens=-5", "max_tokens", "from 1 to 10,000,000"),
        ("max_tokens=99999999999999", "max_tokens", "from 1 to 10,000,000"),
        ("max_tokens=1.5", "max_tokens", "whole number, not “1.5”"),
        ("samples=-1", "samples", "from 1 to 20"),
        ("calls=from&from=abc", "effects", "not “abc”"),
    ],
)
def test_the_form_of_a_replay_says_what_is_wrong(asked, member_client, query, control, said):
    page = member_client.get(f"/p/acme/runs/r/replay?model=openai:a&{query}").content.decode()
    assert said in page.partition(f'id="wrong-{control}"')[2].partition("</div>")[0]


def test_the_form_of_a_bound_speaks_of_percent_as_its_field_does(admin):
    for most in ("5 dollars", "101", "-1"):
        page = admin.post(
            "/p/acme/settings/notifications/bounds",
            {"watched": "error_rate.hour", "most": most, "agent": "", "least_runs": ""},
        )
        assert "A share is from 0 to 100 percent." in page.content.decode()


def test_the_form_of_a_provider_says_that_no_hyphen_leads(admin):
    page = admin.post("/p/acme/settings/providers", {"name": "-a", "kind": "openai"})
    assert "no hyphen first" in page.content.decode()
