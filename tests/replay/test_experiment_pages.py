"""Pages of experiments and datasets, without a browser."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import factories
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from replay import jobs
from replay.comparison.differences import Difference
from replay.experiments.models import Dataset
from replay.forms import offered_in
from replay.models import Experiment, Replay
from runs import ingest

NEW = "/p/acme/experiments/new"
BAD = r'note bad"><span><b>([^<]+)</b>'
ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def runs(store, provider):
    provider({"when": {"model": "b"}, "answer": {"text": "It costs $5."}},
             {"answer": {"text": "Hello"}})  # fmt: skip
    return [
        store(factories.log(factories.completion(1, f"Hi {name}")), name) for name in ("r1", "r2")
    ]


@pytest.fixture
def page(member_client):
    """page(path) -> the text of a page that is there."""

    def get(path: str, **headers: str) -> str:
        answer = member_client.get(path, headers=headers)
        assert answer.status_code == 200
        return answer.content.decode()

    return get


@pytest.fixture
def experiment(runs, member_client) -> Experiment:
    asked = {"run": ["r1", "r2"], "model": ["openai:a", "openai:b"], "min_same": "90"}
    answer = member_client.post(NEW, asked)
    made = Experiment.objects.get()
    assert answer["Location"] == f"/p/acme/experiments/{made.public_id}"
    return made


@pytest.fixture
def finished(experiment) -> str:
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    return f"/p/acme/experiments/{experiment.public_id}"


def test_several_selected_runs_lead_to_the_form(runs, member_client):
    answer = member_client.get("/p/acme/selection/replay?run=r1&run=r2", follow=True)
    assert answer.redirect_chain[-1][0] == f"{NEW}?run=r1&run=r2"
    assert "<b>2</b> runs" in answer.content.decode()


def test_a_gate_is_corrected_in_the_percents_it_is_written_in(runs, page):
    wrong = page(f"{NEW}?run=r1&model=openai:a&min_same=200&max_cost=lots&samples=0")
    assert '<div class="wrong" id="wrong-min_same">The share is from 0 to 100 %.</div>' in wrong
    said = "The share is a number, not “lots”."
    assert f'<div class="wrong" id="wrong-max_cost">{said}</div>' in wrong
    assert '<div class="wrong" id="wrong-samples">The number of samples is a whole' in wrong
    assert '<div class="wrong" id="wrong-name"></div>' in wrong


def test_the_plan_is_shown_before_anything_is_sent(runs, page):
    plan = page(f"{NEW}?run=r1&run=r2&model=openai:a&model=openai:b", HX_Request="true")
    assert "Start 4 calls" in plan
    assert "unknown" in plan
    assert Experiment.objects.count() == 0


@pytest.mark.parametrize("query", ["run=nobody", "run=nobody&run=no-one", "dataset=ds_none"])
def test_a_form_for_runs_that_are_not_there_is_not_there(runs, member_client, query):
    assert member_client.get(f"{NEW}?{query}").status_code == 404


def test_a_run_that_is_gone_is_named_and_the_others_stay(runs, member_client, page):
    query = {"run": ["r1", "gone"], "model": "openai:a"}
    shown = page(f"{NEW}?run=r1&run=gone&model=openai:a")
    assert "There is no run of this id: gone. What is not there is left out." in shown
    assert "Start 1 call" in shown
    assert member_client.post(NEW, query).status_code == 422
    assert Experiment.objects.count() == 0


MISTAKES = ["model=gpt", "model=openai:a&temperature=hot", "model=mars:a",
            "model=openai:a&min_same=200", "model=openai:a&max_cost=nan"]  # fmt: skip


@pytest.mark.parametrize("more", MISTAKES)
def test_a_mistake_is_said_and_nothing_can_be_started(runs, member_client, page, more):
    assert "disabled" in page(f"{NEW}?run=r1&{more}").partition('id="go"')[2][:120]
    sent = dict(pair.split("=") for pair in more.split("&"))
    assert member_client.post(NEW, {"run": "r1", **sent}).status_code == 422
    assert Experiment.objects.count() == 0


def test_the_tools_that_the_runs_offer_can_be_switched_off(
    run, runs, store, read_log, provider, member_client, page
):
    store(read_log("order-status-chat"), "orders")
    chosen = f"{NEW}?run=run-1&run=r1&run=orders&model=openai:a&tool_off=weather"
    form = page(chosen)
    offered = re.findall(r'checkbox" name="tool_off" value="([^"]+)"( checked)?', form)
    assert sorted(offered) == [
        ("lookup_order", ""), ("opening_hours", ""), ("weather", " checked"),
    ]  # fmt: skip
    sent = {"run": ["run-1", "r1"], "model": "openai:a", "tool_off": "weather"}
    assert member_client.post(NEW, sent).status_code == 302
    assert {str(one.controls) for one in Replay.objects.all()} == {"{'tools_off': ['weather']}"}


def test_a_tool_that_no_run_offers_is_a_mistake_beside_the_tools(runs, page):
    wrong = page(f"{NEW}?run=r1&model=openai:a&tool_off=get_weather")
    told = wrong.partition('id="wrong-tools_off">')[2].partition("</div>")[0]
    assert "get_weather" in told
    assert re.search('id="go"[^>]* disabled', wrong)


def test_the_tools_of_many_runs_are_few_queries(store, read_log, django_assert_max_num_queries):
    many = [store(read_log("order-status-chat"), f"many-{n}") for n in range(8)]
    with django_assert_max_num_queries(10):
        assert offered_in(many) == ["lookup_order"]


def test_a_mistake_has_the_name_of_its_control(runs, page):
    wrong = page(f"{NEW}?run=r1&model=openai:a&min_same=200&max_cost=lots&max_tokens=no")
    assert re.findall(BAD, wrong) == ["Gate: same", "Gate: cost", "Most tokens out"]
    assert re.findall(BAD, page(f"{NEW}?run=r1&model=gpt")) == ["Model"]


def test_the_page_shows_each_candidate_and_each_run(finished, page):
    text = page(finished)
    replays = Replay.objects.values_list("public_id", flat=True)
    assert [f"/p/acme/replays/{name}" in text for name in replays] == [True] * 4
    assert text.count(">facts</span>") == 2
    assert "gate not passed" in text
    assert "100 %" in text


def tags(text: str) -> list[str]:
    """What the gate's tags say, candidate by candidate."""
    return re.findall(r'<span class="tag \w+">((?:same|cost|no |\d+ err|not )[^<]*)</span>', text)


def test_a_gate_shows_values_and_limits(finished, page):
    gate = {"min_same": 0.995, "max_cost_ratio": 1, "no_errors": True}
    Experiment.objects.update(gate=gate)
    told = tags(page(finished))
    assert told[0] == "same 100 % ≥ 99.5 %" and "same 0 % &lt; 99.5 %" in told
    assert told.count("no errors") == 2
    assert told.count("cost unknown (≤ 100 %)") == 2


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        (0.9, 0.9, "same 90 % ≥ 90 %"),
        (0.8999, 0.9, "same 89.99 % < 90 %"),
        (0.996, 0.995, "same 99.6 % ≥ 99.5 %"),
        (1 / 3, 0.33, "same 33.3 % ≥ 33 %"),
        (1 / 3, 1 / 3, "same 33.333333 % ≥ 33.3333 %"),
    ],
)
def test_a_value_is_said_on_its_side_of_the_limit(value, limit, said):
    from replay.experiments.gate import Check
    from replay.templatetags.experiment_tags import check_said

    check = Check("m", 1, "min_same", limit, value, value >= limit)
    assert check_said(check, True) == said


def test_the_list_says_how_each_came_out(experiment, page, member_client):
    row = page("/p/acme/experiments").partition("<tbody")[2]
    assert '<span class="tag muted">running</span>' in row
    assert '<span class="tag muted">gate waits</span>' in row
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    row = page("/p/acme/experiments").partition("<tbody")[2]
    assert '<span class="tag ok">succeeded</span>' in row
    assert '<span class="tag bad">gate not passed</span>' in row
    Experiment.objects.update(gate={"min_same": 0})
    assert '<span class="tag ok">gate passed</span>' in page("/p/acme/experiments")
    Experiment.objects.update(gate={})
    assert "gate" not in page("/p/acme/experiments").partition("<tbody")[2].partition("</tbody")[0]


def test_the_list_names_four_candidates_and_counts_the_others(runs, member_client, page):
    member_client.post(NEW, {"run": ["r1"], "model": [f"openai:model-{n}" for n in range(6)]})
    row = page("/p/acme/experiments").partition("<tbody")[2]
    assert row.count('class="chip"') == 4 and "and 2 more" in row


def test_a_plan_that_follows_the_controls_looks_up_no_models_to_name(runs, member_client):
    address = f"{NEW}?run=r1&run=r2&model=openai:a"

    def looked_up(**headers: str) -> list[bool]:
        with CaptureQueriesContext(connection) as asked:
            assert member_client.get(address, headers=headers).status_code == 200
        said = " ".join(query["sql"] for query in asked)
        return ['SELECT DISTINCT "runs_effect"' in said, '"replay_replay"."model"' in said]

    assert looked_up() == [True, True]
    assert looked_up(**{"HX-Request": "true", "HX-Target": "plan"}) == [False, False]


def test_the_list_asks_no_more_for_many(experiment, member_client, django_assert_max_num_queries):
    for _ in range(5):
        member_client.post(NEW, {"run": ["r1"], "model": ["openai:a"], "min_same": "90"})
    with django_assert_max_num_queries(12):
        member_client.get("/p/acme/experiments")


def test_the_address_narrows_the_matrix(finished, page):
    assert "Hi r1" not in page(f"{finished}?of=error")
    assert "Hi r1" in page(f"{finished}?of=facts&candidate=2&sort=worst")
    assert "Hi r1" in page(f"{finished}?of=nonsense&after=x&candidate=z&sort=0")


def test_the_poll_ends_with_the_experiment(experiment, finished, member_client):
    headers = {"HX-Request": "true", "HX-Target": "live"}
    assert member_client.get(finished, headers=headers).status_code == 286
    Experiment.objects.update(finished_at=None)
    going = member_client.get(finished, headers=headers)
    assert (going.status_code, b"every 2s" in going.content) == (200, True)


def test_the_page_is_few_queries(finished, member_client, django_assert_max_num_queries):
    with django_assert_max_num_queries(22):
        member_client.get(finished)


def test_a_retry_says_how_many_calls_it_makes(
    store, provider, call, page, member_client, settings, django_assert_max_num_queries
):
    settings.REPLAY_CALL_ATTEMPTS, settings.REPLAY_PARALLEL_CALLS = 2, 1
    no = {"answer": {"error": {"status": 400, "message": "no"}}}
    fake = provider({"when": {"model": "b"}, "times": 3, "answer": {"text": "Hello"}},
                    {"when": {"model": "b"}, "times": 3, **no},
                    {"answer": {"text": "Hello"}})  # fmt: skip
    for name in ("r1", "r2"):
        store(factories.log(*(factories.completion(n, f"Hi {name} {n}") for n in (1, 2))), name)
    candidates = [{"model": "openai:a"}, {"model": "openai:b", "samples": 2}]
    _, made = call("POST", "experiments", runs=["r1", "r2"], candidates=candidates)
    path = f"/p/acme/experiments/{made['id']}"
    run_all()  # of b: one call answered twice, one once, two never
    with django_assert_max_num_queries(25):
        shown = page(path)
    assert "Ask 5 calls of 2 replays again" in shown
    assert "at most 10 with every retry" in shown
    before = len(fake.asked)
    member_client.post(f"{path}/retry")
    run_all()
    assert len(fake.asked) == before + 5
    assert "again" not in page(path).partition('id="doing"')[2].partition("</span>")[0]


def run_all() -> None:
    for replay in Replay.objects.filter(status="queued").order_by("pk"):
        jobs.run_job(replay.public_id)


def test_stop_and_ask_again(experiment, member_client):
    path = f"/p/acme/experiments/{experiment.public_id}"
    member_client.post(f"{path}/cancellation")
    assert set(Replay.objects.values_list("status", flat=True)) == {"cancelled"}
    assert b"Ask 4 calls of 4 replays again" in member_client.get(path).content
    member_client.post(f"{path}/retry")
    assert set(Replay.objects.values_list("status", flat=True)) == {"queued"}


def test_a_candidate_is_added_from_its_own_form(finished, member_client, page):
    assert "Start 2 calls" in page(f"{finished}/candidates?model=openai:c")
    member_client.post(f"{finished}/candidates", {"model": "openai:c"})
    assert Experiment.objects.get().candidates.count() == 3
    assert Replay.objects.count() == 6


def test_a_candidate_may_be_held_to_other_limits(runs, member_client, page):
    changed = "&top_p=0.5&max_tokens=64"
    assert "Start 1 call" in page(f"{NEW}?run=r1&model=openai:a{changed}")
    sent = {"run": "r1", "model": "openai:a", "top_p": "0.5", "max_tokens": "64"}
    member_client.post(NEW, sent)
    assert Replay.objects.get().controls == {"top_p": 0.5, "max_tokens": 64}
    assert "top p 0.5 · max tokens 64" in page("/p/acme/experiments")
    wrong = page(f"{NEW}?run=r1&model=openai:a&top_p=7&max_tokens=0")
    assert wrong.count('<div class="wrong" id="wrong-top_p"></div>') == 0
    assert wrong.count('<div class="wrong" id="wrong-max_tokens"></div>') == 0


def test_the_list_and_the_files(finished, page, member_client):
    assert finished in page("/p/acme/experiments")
    rows = member_client.get(f"{finished}/export?format=csv").getvalue().decode().splitlines()
    assert len(rows) == 5


def test_a_selection_is_kept_renamed_and_deleted(runs, member_client, page):
    kept = member_client.post("/p/acme/datasets", {"run": ["r1", "r2"], "name": "Refunds"})
    dataset = Dataset.objects.get()
    assert kept["Location"] == f"{NEW}?dataset={dataset.public_id}"
    assert "dataset <b>Refunds</b>" in page(kept["Location"])
    path = f"/p/acme/datasets/{dataset.public_id}"
    member_client.post(path, {"name": "Old"})
    assert "Old" in page("/p/acme/datasets")
    assert "Hi r2" in page(path)
    member_client.post(f"{path}/removal")
    assert Dataset.objects.count() == 0


def test_what_is_filled_in_stays_where_the_runs_are_kept(runs, member_client, page):
    controls = "model=openai:a&model=openai:b&temperature=0.2&name=Night&min_same=90&no_errors=1"
    keep = {"run": ["r1", "r2"], "name": "Refunds", "controls": f"{controls}&run=r9&strange=1"}
    kept = member_client.post("/p/acme/datasets", keep)
    asked = controls.replace(":", "%3A")
    assert kept["Location"] == f"{NEW}?dataset={Dataset.objects.get().public_id}&{asked}"
    again = member_client.post("/p/acme/datasets", {**keep, "name": "R" * 201})
    assert again["Location"] == f"{NEW}?run=r1&run=r2&{asked}&keep={'R' * 201}"
    told = page(again["Location"])
    assert 'id="wrong-keep" role="alert">' in told
    assert f'id="keep" name="name" value="{"R" * 201}"' in told
    for filled in ("openai:b", "Night", 'value="90"', 'name="no_errors" value="1" checked'):
        assert filled in told
    assert Dataset.objects.count() == 1


def test_an_experiment_made_before_there_were_cells_leads_to_its_replays(project, member_client):
    old = Experiment.objects.create(project=project)
    answer = member_client.get(f"/p/acme/experiments/{old.public_id}")
    assert answer["Location"] == f"/p/acme/replays?experiment={old.public_id}"


def test_the_bar_has_a_legend_of_what_is_in_it(finished, page):
    [legend] = re.findall(r'<ul class="legend".*?</ul>', page(finished), re.S)
    assert re.findall(r'class="c-(\w+)".*?</svg>([\w ]+)</li>', legend) == [
        ("same", "same"),
        ("facts", "facts"),
    ]


def test_each_class_has_a_colour_of_its_own():
    style = (settings.BASE_DIR / "static/css/experiment.css").read_text()
    fills = dict(re.findall(r"\.c-(\w+) \{ fill: var\((--[\w-]+)\); \}", style))
    assert set(fills) == set(Difference)
    assert len(set(fills.values())) == len(Difference)


def test_neighbours_in_a_bar_differ_by_more_than_their_colour():
    """Their fills are of nearly the same lightness: each has a mark other than its neighbour's."""
    css = (ROOT / "static/css/experiment.css").read_text()
    groups = re.findall(r"classes :is\((.*?)\)", css)
    mark = {name.strip(): group for group in groups for name in group.split(",")}
    marks = [mark.get(f".m-{each}") for each in Difference]
    assert len(groups) == 3 and all(one != other for one, other in pairwise(marks))


def test_the_form_says_which_models_were_recorded_and_offers_them(runs, page):
    shown = page(f"{NEW}?run=r1&run=r2")
    assert "recorded: openai:gpt-4o. Each is asked" in shown
    assert '<option value="openai:gpt-4o">' in shown


def test_an_experiment_starts_with_no_more_calls_than_were_seen(runs, project, page, member_client):
    """A run of it records on between the look and the click."""
    asked = {"run": ["r1", "r2"], "model": "openai:a"}
    [seen] = re.findall(r'name="seen" value="(\d+)"', page(f"{NEW}?run=r1&run=r2&model=openai:a"))
    more = {"records": [factories.completion(900, "And now?")]}
    ingest.append_effects(project, "r2", json.dumps(more).encode())
    answer = member_client.post(NEW, {**asked, "seen": seen})
    assert (answer.status_code, Experiment.objects.count()) == (422, 0)
    shown = answer.content.decode()
    assert "3 calls now, 2 when it was seen" in shown
    [again] = re.findall(r'name="seen" value="(\d+)"', shown)
    assert member_client.post(NEW, {**asked, "seen": again}).status_code == 302
    made = f"/p/acme/experiments/{Experiment.objects.get().public_id}/candidates"
    answer = member_client.post(made, {"model": "openai:b", "seen": "2"})
    assert (answer.status_code, Replay.objects.count()) == (422, 2)
