"""A verdict where the list is of one experiment: it covers what is shown, unless one says more."""

from __future__ import annotations

import json
import re

import pytest
from reviewing import PAGE, counts, decide, form, judge, states, text, undo

from replay.models import Experiment, Replay, ReviewEvent
from runs.accounts.models import Project


@pytest.fixture
def experiment(cluster, project) -> Experiment:
    """One that found the first of the two members of the cluster."""
    made = Experiment.objects.create(project=project, name="Move off")
    Replay.objects.filter(pk=cluster.members.earliest("pk").replay_id).update(experiment=made)
    return made


@pytest.fixture
def seen(experiment, cluster, person):
    """seen("Ada") -> a client and what the page under the experiment would send by itself."""

    def look(name: str = "Ada"):
        client = person(name)
        query = f"&experiment={experiment.public_id}"
        sent = form(client, cluster, query)
        page = text(client.get(f"{PAGE}?cluster={cluster.pk}{query}"))
        return client, {**sent, "which": chosen(page)}

    return look


def chosen(page: str) -> str:
    [value] = re.findall(r'name="which" value="(\w+)" checked', page)
    return value


def choices(page: str) -> list[str]:
    return re.findall(r'name="which" value="\w+"(?: checked)?> ([^<]+)</label>', page)


def test_the_page_offers_what_it_lists_and_the_cluster_beside_it(experiment, cluster, person):
    ada = person()
    page = text(ada.get(f"{PAGE}?cluster={cluster.pk}&experiment={experiment.public_id}"))
    assert choices(page) == ["1 open of this experiment", "all 2 open of the cluster", "only #5"]
    assert chosen(page) == "here"
    assert choices(text(ada.get(f"{PAGE}?cluster={cluster.pk}"))) == ["all 2 open", "only #5"]


def test_what_is_chosen_by_itself_is_what_the_filter_shows(seen, cluster):
    ada, sent = seen()
    answer = judge(ada, cluster, sent, "accepted", follow=True)
    assert states(cluster) == ["accepted", "open"]
    assert counts(cluster) == (1, 1, 0)
    told = "accepted: 1 divergence of this experiment. 1 of the cluster still open."
    assert told in text(answer)
    assert ReviewEvent.objects.get().count == 1


def test_the_cluster_is_decided_where_it_is_chosen(seen, cluster):
    ada, sent = seen()
    judge(ada, cluster, {**sent, "which": "all"}, "ignored")
    assert states(cluster) == ["ignored", "ignored"]


def test_the_history_says_of_which_and_undo_opens_those(seen, cluster):
    ada, sent = seen()
    judge(ada, cluster, sent, "accepted")
    page = text(ada.get(f"{PAGE}?cluster={cluster.pk}&tab=history"))
    assert "accepted: 1 divergence of the experiment “Move off”" in page
    undo(ada, ReviewEvent.objects.get())
    assert states(cluster) == ["open", "open"]


def test_what_joins_while_one_looks_is_not_covered(seen, cluster, replay, experiment):
    ada, sent = seen()
    joined = replay(models=["openai:gpt-c"])
    Replay.objects.filter(pk=joined.pk).update(experiment=experiment)
    judge(ada, cluster, sent, "ignored")
    assert states(cluster) == ["ignored", "open", "open"]


def again(page: str) -> tuple[dict[str, str], str]:
    """What going on after a conflict sends, and the words of its button."""
    [found] = re.findall(r'class="conflict.*?(<form.*?</form>)', page, re.S)
    [button] = re.findall(r"<button[^>]*>([^<]*)<", found)
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found)), button


def test_of_two_at_once_the_second_decides_what_is_still_open(seen, cluster, person, experiment):
    bob, sent = seen("Bob")
    ada = person("Ada")
    other = cluster.members.latest("pk")
    one = {**form(ada, cluster, f"&at={other.public_id}"), "which": "one"}
    judge(ada, cluster, one, "regression")
    page = text(judge(bob, cluster, sent, "accepted"), 409)
    sent, button = again(page)
    assert button == "Make it accepted for the 1 still open of this experiment"
    page = text(judge(bob, cluster, sent, "accepted", follow=True))
    assert "accepted: 1 divergence." in page
    assert states(cluster) == ["accepted", "regression"]


def test_where_none_is_left_the_second_may_replace_those_of_the_experiment(seen, cluster, person):
    bob, sent = seen("Bob")
    decide(person("Ada"), cluster, "regression", reason="paid twice")
    page = text(judge(bob, cluster, sent, "accepted"), 409)
    assert "Already decided by Ada: regression (“paid twice”)." in page
    sent, button = again(page)
    assert (button, sent["which"]) == ("Make it accepted", "here")
    judge(bob, cluster, sent, "accepted")
    assert states(cluster) == ["accepted", "regression"]


def test_a_conflict_counts_only_what_it_would_decide(cluster, person, replay):
    """Not those that came since the page was looked at."""
    ada, bob = person("Ada"), person("Bob")
    sent = form(bob, cluster)
    decide(ada, cluster, "regression", which="one")
    replay(models=["openai:gpt-c"])
    _, button = again(text(judge(bob, cluster, sent, "accepted"), 409))
    assert button == "Make it accepted for the 1 still open"


def test_the_last_one_of_an_experiment_leads_to_the_next_cluster(seen, cluster):
    """The cluster has others open, which the list does not show."""
    ada, sent = seen()
    answer = judge(ada, cluster, {**sent, "which": "one"}, "accepted")
    assert f"cluster={cluster.pk}" not in answer["Location"]


def test_where_what_is_decided_is_listed_the_open_ones_are_not_chosen(cluster, person):
    ada = person()
    decide(ada, cluster, "accepted", which="one")
    assert chosen(text(ada.get(f"{PAGE}?cluster={cluster.pk}&state=accepted"))) == "one"
    assert chosen(text(ada.get(f"{PAGE}?cluster={cluster.pk}"))) == "all"


def test_a_cluster_of_which_the_experiment_found_none_is_not_chosen(experiment, found, person):
    from replay.models import Cluster

    Replay.objects.update(experiment=None)
    pk = Cluster.objects.get(difference="facts").pk
    page = text(person().get(f"{PAGE}?cluster={pk}&experiment={experiment.public_id}"))
    assert (chosen(page), choices(page)) == ("one", ["all 2 open of the cluster", "only #5"])


@pytest.mark.parametrize("place", ["", "experiment=ex_no"])
def test_without_an_experiment_there_is_nothing_of_it(seen, cluster, place):
    ada, sent = seen()
    assert judge(ada, cluster, {**sent, "place": place}, "accepted").status_code == 404
    assert states(cluster) == ["open", "open"]


def test_the_page_costs_one_query_more(experiment, cluster, person, django_assert_max_num_queries):
    client = person()
    client.get(PAGE)
    with django_assert_max_num_queries(27):
        text(client.get(f"{PAGE}?cluster={cluster.pk}&experiment={experiment.public_id}"))


# --- By API ------------------------------------------------------------------------------------


@pytest.fixture
def verdict(api, cluster):
    def send(**body):
        one = cluster.members.latest("pk").public_id
        data = json.dumps({"verdict": "accepted", **body}).encode()
        answer = api("POST", f"/api/v1/divergences/{one}/verdict", data)
        return answer.status_code, answer.json()

    return send


def test_a_program_narrows_a_cluster_to_an_experiment(verdict, experiment, cluster):
    status, told = verdict(of="cluster", experiment=experiment.public_id)
    assert (status, told["decided"], told["cluster"]["open"]) == (200, 1, 1)
    assert states(cluster) == ["accepted", "open"]
    status, told = verdict(of="cluster", experiment=experiment.public_id)
    assert (status, told["error"]["code"]) == (409, "conflict")
    assert verdict(of="cluster")[1]["decided"] == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"of": "cluster", "experiment": "ex_no"}, 404, "not_found"),
        ({"of": "cluster", "experiment": "\x00"}, 422, "invalid"),
        ({"of": "cluster", "experiment": 1}, 422, "invalid"),
        ({"of": "one", "experiment": "ex_no"}, 422, "invalid"),
        ({"of": "cluster", "experimnet": "ex_no"}, 422, "unknown_field"),
    ],
)
def test_what_cannot_narrow_decides_nothing(verdict, cluster, body, status, code):
    answered, told = verdict(**body)
    assert (answered, told["error"]["code"]) == (status, code)
    assert "experim" in told["error"]["field"]
    assert states(cluster) == ["open", "open"]


def test_nor_can_what_is_another_projects(verdict, seen, cluster):
    theirs = Experiment.objects.create(project=Project.objects.create(slug="other", name="Other"))
    ada, sent = seen()
    place = f"experiment={theirs.public_id}"
    assert judge(ada, cluster, {**sent, "place": place}, "accepted").status_code == 404
    assert verdict(of="cluster", experiment=theirs.public_id)[0] == 404
    assert states(cluster) == ["open", "open"]
