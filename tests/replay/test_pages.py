"""Pages of replays: the whole of what a person can do, without JavaScript."""

from __future__ import annotations

import html
import json
import re

import factories
import pytest
from django.http import QueryDict
from django.test import Client
from sessions import browser_of

from replay import jobs
from replay.models import Replay, ReplayEffect
from replay.questions import read_question
from replay.start import start
from runs import ingest
from runs.models import Effect

SAY = {"answer": {"text": "Take an umbrella to the Munch museum."}}
FORM = "/p/acme/runs/run-1/replay"
HX = {"HX-Request": "true"}


pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def page(member_client):
    def get(path: str, **headers) -> str:
        answer = member_client.get(path, headers=headers)
        assert answer.status_code in (200, 286), answer.status_code
        return answer.content.decode()

    return get


@pytest.fixture
def asked(run, provider, member_client):
    """A finished prompt replay that was started from the form."""
    provider(SAY)
    answer = member_client.post(FORM, {"model": "openai:gpt-b"})
    replay = Replay.objects.get(public_id=answer["Location"].rpartition("/")[2])
    jobs.run_job(replay.public_id)
    replay.refresh_from_db()
    return replay


def test_the_form_names_the_mode_that_follows(run, page, provider):
    provider(SAY)
    assert "reconstruct: answered from the log" in page(FORM)
    assert "every recorded prompt is sent again" in page(f"{FORM}?model=openai:gpt-b")


def test_replay_again_asks_the_same(run, page, provider, member_client):
    provider(SAY)
    first_message = re.search(r'<option value="(\d+:\d+)"', page(f"{FORM}?model=openai:gpt-b"))[1]
    given = {"model": "openai:gpt-b", "temperature": "0.5", "top_p": "0.9", "max_tokens": "50",
             "samples": "2", "calls": "choose", "effects": "2", "system": "Be brief & kind.",
             "message": first_message, "message_text": "Hail?", "tool_off": "weather"}  # fmt: skip
    member_client.post(FORM, given)
    replay = Replay.objects.get()
    assert len(replay.controls) == 8
    jobs.run_job(replay.public_id)
    [query] = re.findall(r'\?([^"]*)">Replay again', page(f"/p/acme/replays/{replay.public_id}"))
    member_client.post(FORM, QueryDict(html.unescape(query)))
    again = Replay.objects.latest("pk")
    assert again.pk != replay.pk
    assert (again.controls, again.candidate) == (replay.controls, replay.candidate)


def test_the_plan_says_how_many_calls_and_what_they_may_cost(run, page, provider):
    fake = provider(SAY)
    shown = page(f"{FORM}?model=openai:gpt-b")
    assert "Start 2 calls" in shown
    assert re.search(r"<b>2</b> to openai, 8 with every retry", shown)
    assert re.search(r"Estimated cost</dt><dd><b>unknown", shown)
    assert fake.asked == []


def test_only_models_that_can_be_asked_are_suggested(run, page, provider):
    assert '<option value="openai:' not in page(FORM)
    provider(SAY)
    assert '<option value="openai:' in page(FORM)


def test_several_models_are_planned_together(run, page, provider):
    provider(SAY)
    shown = page(f"{FORM}?model=openai:a&model=anthropic:b")
    assert "Start 4 calls" in shown
    assert "against 2 models" in shown


def test_a_missing_key_is_said_before_the_start(run, page, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    shown = page(f"{FORM}?model=openai:gpt-b")
    assert "OPENAI_API_KEY is not set" in shown
    assert re.search(r'<button id="go"[^>]* disabled', shown)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("model=gpt", "A model is written as"),
        ("model=openai:b&temperature=warm", "The temperature is a number"),
        ("model=openai:b&calls=choose&effects=2,x", "is no position of a call"),
        ("model=openai:b&calls=choose&effects=3", "No model call of this run: #3"),
        ("model=openai:b&calls=from&from=99", "No model call is chosen"),
    ],
)
def test_what_cannot_be_replayed_is_said_in_place(run, page, provider, query, told):
    provider(SAY)
    assert told in page(f"{FORM}?{query}").replace("&#x27;", "'")


def test_the_live_plan_is_a_part_of_the_page(run, page, provider):
    provider(SAY)
    part = page(f"{FORM}?model=openai:gpt-b", **HX, **{"HX-Target": "plan"})
    assert part.lstrip().startswith('<aside id="plan"')
    assert 'id="go"' in part and "<html" not in part


def test_starting_leads_to_the_replay(asked):
    assert (asked.status, asked.changed, asked.candidate) == ("succeeded", 2, "openai:gpt-b")


def test_the_form_sends_exactly_what_was_planned(run, provider, member_client):
    fake = provider(SAY)
    data = {"model": ["openai:gpt-b", ""], "temperature": "0", "system": "Be\r\nterse.",
            "calls": "choose", "effects": "5"}  # fmt: skip
    answer = member_client.post(FORM, data)
    jobs.run_job(answer["Location"].rpartition("/")[2])
    assert len(fake.asked) == 1
    assert fake.asked[0].body["messages"][0]["content"] == "Be\nterse."
    assert fake.asked[0].body["temperature"] == 0


def test_the_plan_says_of_each_component_whether_it_is_live_and_what_is_changed(
    run, page, provider
):
    provider(SAY)
    told = " ".join(re.sub(r"<[^>]+>", " ", page(f"{FORM}?model=openai:gpt-b")).split())
    assert "model openai:gpt-4o → openai:gpt-b" in told
    assert re.search(r"Recorded or live (\S+ )*live 2×", told)
    assert "recorded 1×" in told and "0 really run" in told and "Tokens out, from" in told
    told = page(f"{FORM}?model=openai:gpt-b&calls=choose&effects=5&temperature=0")
    assert "<b>live</b> 1 of 2×" in told
    assert "<dt>temperature</dt><dd>" in told and "→ 0.0" in told
    told = page(FORM)
    assert "Recorded or live" in told and "<b>live</b>" not in told


def grow(project, name: str) -> None:
    """One more model call comes into a run that was looked at."""
    more = {"records": [factories.completion(900, "And now?")]}
    ingest.append_effects(project, name, json.dumps(more).encode())


def test_no_call_goes_out_that_the_plan_did_not_have_when_it_was_seen(
    run, project, page, provider, member_client
):
    """A run that still records grows between the look and the click."""
    fake = provider(SAY)
    [seen] = re.findall(r'name="seen" value="(\d+)"', page(f"{FORM}?model=openai:gpt-b"))
    asked = {"model": "openai:gpt-b", "seen": seen}
    grow(project, "run-1")
    answer = member_client.post(FORM, asked)
    shown = answer.content.decode()
    assert (answer.status_code, Replay.objects.count(), fake.asked) == (422, 0, [])
    assert "3 calls now, 2 when it was seen" in shown
    [again] = re.findall(r'name="seen" value="(\d+)"', shown)
    assert member_client.post(FORM, {**asked, "seen": again}).status_code == 302
    assert Replay.objects.get().plan["calls"]["total"] == 3


def test_a_retry_says_how_many_calls_it_makes(run, provider, page, settings):
    settings.REPLAY_CALL_ATTEMPTS = 2
    provider({"answer": {"error": {"status": 400, "message": "no"}}, "times": 1}, SAY)
    queued = start(run, read_question({"run": "run-1", "models": ["openai:b"]}), jobs.Asker())
    jobs.run_job(queued.replays[0].public_id)
    shown = page(f"/p/acme/replays/{queued.replays[0].public_id}")
    assert "Ask 1 call again" in shown and "at most 2 with every retry" in shown


def test_a_plan_that_cannot_be_carried_out_starts_nothing(run, member_client, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    answer = member_client.post(FORM, {"model": "openai:gpt-b"})
    assert (answer.status_code, Replay.objects.count()) == (422, 0)


def test_two_models_lead_to_their_experiment(run, provider, member_client):
    provider(SAY)
    answer = member_client.post(FORM, {"model": ["openai:a", "openai:b"]})
    assert re.fullmatch(r"/p/acme/experiments/ex_\w+", answer["Location"])
    listed = member_client.get(answer["Location"]).content.decode()
    assert "openai:a" in listed and "openai:b" in listed


def test_the_replay_says_what_was_changed_on_purpose(run, provider, page, member_client):
    provider(SAY)
    changed = {"model": "openai:gpt-b", "temperature": "0", "calls": "choose", "effects": "5"}
    answer = member_client.post(FORM, {**changed, "dangling": "drop"})
    shown = page(answer["Location"])
    [told] = re.findall(r"Changed on purpose</span><div>(.*?)</div>", shown)
    assert told == (
        "openai:gpt-b · temperature 0.0 · calls without a result dropped · 1 chosen call"
    )


def test_the_replay_shows_its_verdict_and_rows(asked, page):
    shown = page(f"/p/acme/replays/{asked.public_id}")
    assert "2 of 2" in shown
    assert "drops weather, opening_hours" in shown
    assert '<span class="tag bad">tool calls</span>' in shown


def test_both_sides_of_a_row_are_shown_as_words(asked, page):
    shown = page(f"/p/acme/replays/{asked.public_id}?at=5")
    recorded, replayed = shown.split('id="replayed-heading"')
    assert "<del>" in recorded and "<ins>" in replayed
    assert "Munch museum" in replayed
    assert "/p/acme/runs/run-1?at=5" in recorded


@pytest.mark.parametrize("show", ["words", "lines", "json", "request"])
def test_each_way_to_show_is_in_the_address(asked, page, show):
    shown = page(f"/p/acme/replays/{asked.public_id}?at=5&show={show}")
    assert re.search(rf'show={show}[^>]* aria-current="true"', shown)


def test_the_request_that_was_sent_stands_beside_the_recorded_one(
    project, provider, member_client, page
):
    """Other members are marked; of a long text stands what tells it apart."""
    provider(SAY)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
    body = {"model": "gpt-4o", "seed": 7, "messages": [{"role": "user", "content": [picture]}]}
    url = "https://api.openai.com/v1/chat/completions"
    wire = {"method": "POST", "url": url, "request": body, "status": 200, "response": {}}
    log = factories.log(factories.completion(1))
    sent = {"run": {"id": "wired"}, "log": log, "wire": {"1": wire}}
    ingest.accept_run(project, json.dumps(sent).encode())
    form = "/p/acme/runs/wired/replay"
    answer = member_client.post(form, {"model": "openai:gpt-b", "temperature": "0"})
    jobs.run_job(answer["Location"].rpartition("/")[2])
    shown = page(f"{answer['Location']}?at=1&show=request")
    assert re.search(r'show=request[^>]* aria-current="true"', shown)
    gone, came = (re.findall(rf"<{mark}>(.*?)</{mark}>", shown, re.S) for mark in ("del", "ins"))
    assert gone == ["4o"] and came[0] == "b"
    assert "temperature" in "".join(came) and "seed" not in "".join(gone + came)
    assert shown.count("(9,022 characters, ") == 2
    _, _, panes = shown.partition('<div class="pair">')
    assert "umbrella" not in panes


def test_a_request_that_was_not_recorded_on_the_wire_is_shown_as_the_log_has_it(asked, page):
    shown = page(f"/p/acme/replays/{asked.public_id}?at=5&show=request")
    assert "chat_history" in shown and "&quot;messages&quot;" in shown
    assert "<del>" not in shown and "<ins>" not in shown


def test_a_step_swaps_the_pair_alone(asked, page):
    part = page(f"/p/acme/replays/{asked.public_id}?at=5", **HX, **{"HX-Target": "pair"})
    assert '<div id="pair">' in part and "<html" not in part and 'id="live"' not in part


def test_the_poll_ends_when_the_replay_has(asked, member_client):
    live = {**HX, "HX-Target": "live"}
    url = f"/p/acme/replays/{asked.public_id}"
    assert member_client.get(url, headers=live).status_code == 286
    Replay.objects.update(status="running", finished_at=None)
    answer = member_client.get(url, headers=live)
    assert (answer.status_code, "every 1s" in answer.content.decode()) == (200, True)


def test_back_never_shows_a_bare_part(asked, member_client):
    answer = member_client.get(f"/p/acme/replays/{asked.public_id}")
    assert "HX-Request" in answer["Vary"]


def test_what_was_sent_and_received_can_be_read(asked, member_client):
    url = f"/p/acme/replays/{asked.public_id}/effects/5"
    sent = member_client.get(f"{url}/sent")
    assert sent["Content-Type"] == "text/plain; charset=utf-8"
    assert b'"model":"gpt-b"' in sent.content.replace(b": ", b":")
    assert b"umbrella" in member_client.get(f"{url}/response").content
    assert member_client.get(f"{url}/answer").status_code == 404


def test_the_proof_page_names_what_does_not_hold(store, read_log, page, reconstruct):
    log = read_log("02-two-tools-memory")
    log["records"][2]["outcome"]["Ok"]["result"]["value"][0]["value"]["celsius"] = 15
    replay = reconstruct(store(log, "bad"))
    shown = page(f"/p/acme/replays/{replay.public_id}")
    assert "/outcome/Ok/result/value/0/value/celsius" in shown
    assert '<td class="wide">15</td><td class="wide">14</td>' in shown
    assert "it contradicts itself" in shown


def test_the_proof_page_says_what_cannot_be_proved(run, page, reconstruct):
    shown = page(f"/p/acme/replays/{reconstruct(run).public_id}")
    assert "1 effect no later request mentions" in shown
    assert "/p/acme/runs/run-1?at=6" in shown


def test_a_model_s_words_are_text(run, provider, member_client, page):
    provider({"answer": {"text": "<script>alert(1)</script><img src=x onerror=y>"}})
    answer = member_client.post(FORM, {"model": "openai:gpt-b"})
    jobs.run_job(answer["Location"].rpartition("/")[2])
    shown = page(f"{answer['Location']}?at=5")
    assert "<script>alert" not in shown and "<img src=x" not in shown
    assert "&lt;script&gt;" in shown


def test_stop_and_ask_again(run, provider, member_client):
    provider(SAY)
    location = member_client.post(FORM, {"model": "openai:gpt-b"})["Location"]
    member_client.post(f"{location}/cancellation")
    assert Replay.objects.get().status == "cancelled"
    member_client.post(f"{location}/retry")
    assert Replay.objects.get().status == "queued"


def test_the_run_s_page_gets_its_replays(asked, page):
    shown = page("/p/acme/runs/run-1/replays")
    assert "openai:gpt-b" in shown and "changed 2 of 2" in shown and "<html" not in shown


def test_a_run_without_replays_gets_nothing(run, page):
    assert page("/p/acme/runs/run-1/replays").strip() == ""


def test_the_list_is_filtered_by_its_address(asked, page):
    assert asked.public_id in page("/p/acme/replays?mode=prompt&status=succeeded")
    assert "No replay matches" in page("/p/acme/replays?status=failed")
    assert asked.public_id in page("/p/acme/replays?status=nonsense&before=x")


ROUTES = [
    "/p/acme/replays",
    "/p/acme/replays/{id}",
    "/p/acme/replays/{id}/effects/5/sent",
    "/p/acme/runs/run-1/replays",
    FORM,
]


@pytest.mark.parametrize("route", ROUTES)
def test_a_stranger_finds_nothing(asked, make_member, django_user_model, route):
    client = Client()
    stranger = django_user_model.objects.create_user("stranger@example.com", "x")
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(route.format(id=asked.public_id)).status_code == 404


@pytest.mark.parametrize("route", ["/cancellation", "/retry"])
def test_a_viewer_looks_and_changes_nothing(asked, make_member, route):
    client = Client()
    client.force_login(make_member("viewer"), backend="django.contrib.auth.backends.ModelBackend")
    url = f"/p/acme/replays/{asked.public_id}"
    assert client.get(url).status_code == 200
    assert client.post(f"{url}{route}").status_code == 403
    assert client.get(FORM).status_code == 403


@pytest.mark.parametrize("path", ["/p/acme/replays/rp_none", "/p/acme/runs/none/replay"])
def test_what_is_not_there(run, member_client, path):
    assert member_client.get(path).status_code == 404


def test_a_page_asks_the_database_a_bounded_number_of_times(
    asked, member_client, django_assert_max_num_queries
):
    with django_assert_max_num_queries(16):
        member_client.get(f"/p/acme/replays/{asked.public_id}?at=5")


def test_rows_in_flight_and_interrupted_are_told_apart(run, page, provider, member_client):
    provider(SAY)
    location = member_client.post(FORM, {"model": "openai:gpt-b"})["Location"]
    replay = Replay.objects.get()
    for seq, state in ((2, "in_flight"), (5, "interrupted")):
        effect = run.effects.get(seq=seq)
        ReplayEffect.objects.create(replay=replay, seq=seq, effect=effect, state=state,
                                    interruptions=state == "interrupted")  # fmt: skip
    shown = page(location)
    assert '<span class="tag muted">in flight</span>' in shown
    assert '<span class="tag warn">interrupted</span>' in shown
    assert "was interrupted 1×" in shown


def test_an_effect_leads_to_a_replay_from_there(run, provider, page, make_member):
    provider(SAY)
    here = re.compile(r'id="way-replay"[^>]*href="([^"]*)"')
    calls = sorted(
        Effect.objects.filter(run=run, family="completion").values_list("seq", flat=True)
    )
    behind = html.unescape(here.search(page(f"/p/acme/runs/run-1?at={calls[0] + 1}"))[1])
    planned = page(f"{behind}&model=openai:b")
    assert f'name="from" inputmode="numeric" value="{calls[0] + 1}"' in planned
    assert "Start 1 call " in planned
    last = html.unescape(here.search(page(f"/p/acme/runs/run-1?at={calls[-1]}"))[1])
    assert last.endswith(f"?calls=from&from={calls[-1]}")
    assert not here.search(page(f"/p/acme/runs/run-1?at={calls[-1] + 1}"))
    viewer = browser_of(make_member("viewer"))
    assert not here.search(viewer.get("/p/acme/runs/run-1?at=1").content.decode())
