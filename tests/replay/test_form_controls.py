"""Controls of the two forms: one message's text, and the tools that the provider runs."""

from __future__ import annotations

import html
import re

import factories
import pytest
from asked import HELLO, wired

from replay import jobs
from replay.models import Experiment, Replay

NEW = "/p/acme/experiments/new"
HOSTED = [
    {"type": "web_search_preview"},
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "function", "name": "look", "parameters": {"type": "object"}},
]
PLAN = {"HX-Request": "true", "HX-Target": "plan"}

pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def page(member_client):
    """page(path) -> the text of a page that is there."""

    def get(path: str, **headers: str) -> str:
        answer = member_client.get(path, headers=headers)
        assert answer.status_code == 200
        return html.unescape(answer.content.decode())

    return get


@pytest.fixture
def fake(provider):
    return provider({"answer": {"text": "Hello"}})


@pytest.fixture
def hosted(api, fake):
    """A run whose recorded bodies have tools that the log's own requests do not name."""
    body = {"model": "gpt-5", "input": HELLO, "tools": HOSTED}
    wire = {"1": wired("https://api.openai.com/v1/responses", body)}
    sent = factories.run("h", factories.completion(1, "Hello there"), wire=wire)
    assert api("POST", "/api/v1/runs", sent).status_code == 201


@pytest.mark.parametrize("form", ["/p/acme/runs/h/replay?", f"{NEW}?run=h&"])
def test_tools_that_the_provider_runs_are_offered_to_be_switched_off(hosted, page, form):
    shown = page(f"{form}model=openai-responses:m&tool_off=web_search")
    offered = re.findall(r'checkbox" name="tool_off" value="([^"]+)"( checked)?', shown)
    assert offered == [("web_search_preview", ""), ("web_search", " checked"), ("look", "")]
    assert "Start 1 call " in shown
    assert "to switch off" not in shown


@pytest.fixture
def two(store, fake):
    """Two runs that ask alike in other words."""
    for name in ("r1", "r2"):
        said = [factories.completion(1, f"Hi {name}"), factories.completion(2, "Bye")]
        store(factories.log(*said), name)
    return f"{NEW}?run=r1&run=r2&model=openai:m"


def test_a_message_is_reworded_in_each_run_of_an_experiment(two, page, member_client, fake):
    shown = page(two)
    choices = re.findall(r'<option value="(\d+:\d+)"[^>]*>([^<]+)<', shown)
    assert choices == [("1:0", "#1 user: Hi r1"), ("2:0", "#2 user: Bye")]
    box = page(f"{two}&message=1:0", **PLAN)
    assert 'name="message_text"' in box and ">Hi r1</textarea>" in box
    assert "as recorded in Hi r1" in box
    changed = f"{two}&message=1:0&message_of=1:0&message_text=Hail"
    live = page(changed, **PLAN)
    assert "replaces it in every call that holds it; of each run, the message at this place" in live
    assert "<del>Hi r1</del><ins>Hail</ins>" in live.replace("\n", "")
    kept = dict(re.findall(r'<input type="hidden" name="(message\w*)" value="([^"]*)">', live))
    assert kept == {"message": "1:0", "message_text": "Hail"}
    sent = {"run": ["r1", "r2"], "model": "openai:m", "seen": "4", **kept}
    assert member_client.post(NEW, sent).status_code == 302
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    asked = sorted(one.body["messages"][0]["content"] for one in fake.asked)
    assert asked == ["Bye", "Bye", "Hail", "Hail"]
    assert Experiment.objects.get().candidates.get().controls["message"]["text"] == "Hail"


def test_a_candidate_that_is_added_later_may_reword_one_too(two, page, member_client):
    member_client.post(NEW, {"run": ["r1", "r2"], "model": "openai:m"})
    more = f"/p/acme/experiments/{Experiment.objects.get().public_id}/candidates"
    shown = page(f"{more}?model=openai:m&message=1:0&message_of=1:0&message_text=Hail")
    assert "selected>#1 user: Hi r1<" in shown and "Start 4 calls " in shown


def test_runs_without_a_model_call_have_no_message_to_reword(store, fake, page):
    store(factories.log(factories.tool(1)), "t")
    shown = page(f"{NEW}?run=t&model=openai:m&message=1:0&message_text=x")
    assert "all as recorded" in shown and "message_of" not in shown


def test_what_was_reworded_survives_keeping_the_runs_as_a_dataset(two, page, member_client):
    shown = page(f"{two}&message=1:0&message_of=1:0&message_text=Hail")
    [controls] = re.findall(r'name="controls" value="([^"]*)"', shown)
    answer = member_client.post(
        "/p/acme/datasets", {"run": ["r1", "r2"], "name": "kept", "controls": controls}
    )
    assert "message=1%3A0&message_text=Hail" in answer["Location"]
    again = page(answer["Location"])
    assert ">Hail</textarea>" in again
