"""No heading and no button of a replay, an experiment or a review is squeezed, whatever the names
and messages beside it."""

from __future__ import annotations

import pytest

from replay import jobs
from replay.models import Divergence, Experiment, Replay
from replay.notifications import keeping
from replay.notifications.models import Delivery, Webhook
from replay.questions import read_question
from replay.start import start
from runs.models import Run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTHS = (1024, 1100, 1440)
NAMES = (
    "Support agents of the north, moved from gpt-5 to claude, second try with a shorter system",
    "N" * 200,
)
MESSAGE = "The provider refused the request because of a setting of this account. " * 9
SQUEEZED = """() => {
    const shown = [...document.querySelectorAll("main :is(h1, h2, button, summary, a.btn, .tag)")]
        .filter((one) => one.checkVisibility() && !one.closest(".comments, .visually-hidden"));
    const told = (one) => `${one.tagName} ${one.textContent.trim().slice(0, 30)}`;
    const line = (one) => parseFloat(getComputedStyle(one).lineHeight);
    const tall = (one) => one.getBoundingClientRect().height > 3.2 * line(one);
    const least = (one) => Math.min(24, 6 * one.textContent.trim().length);
    const gone = (one) => one.getBoundingClientRect().width < least(one);
    const outside = (one) => one.getBoundingClientRect().right > innerWidth
        && !one.closest(".scroll-x, .rows");
    const cut = (one) => one.matches("h1, h2") && one.scrollWidth > one.clientWidth + 1
        && one.clientWidth < 180;
    return shown.filter((one) => tall(one) || gone(one) || outside(one) || cut(one)).map(told); }"""


def squeezed(page, path: str) -> list[str]:
    page.goto(path)
    return list(page.evaluate(SQUEEZED))


@pytest.fixture
def experiment(refund) -> Experiment:
    gate = {"min_same": 0.9, "max_cost_ratio": 1.0, "no_errors": True}
    models = ["openai:gpt-b", "openai:gpt-c"]
    start(Run.objects.get(), read_question({"run": "refund", "models": models}), jobs.Asker())
    Experiment.objects.update(gate=gate)
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    return Experiment.objects.get()


@pytest.mark.parametrize("name", NAMES, ids=["words", "unbroken"])
def test_headings_keep_their_room(open_page, make_member, experiment, name) -> None:
    Experiment.objects.update(name=name)
    Run.objects.update(name=name[:200], title=name)
    Replay.objects.filter(pk=Replay.objects.earliest("pk").pk).update(status="failed")
    replay, cluster = Replay.objects.earliest("pk"), Divergence.objects.latest("pk").cluster_id
    page = open_page(make_member("admin"))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for path in (
            f"experiments/{experiment.public_id}",
            f"replays/{replay.public_id}?at=4",
            f"review?experiment={experiment.public_id}&cluster={cluster}",
            "experiments",
            "replays",
            "baselines",
        ):
            assert (width, path, squeezed(page, f"/p/acme/{path}")) == (width, path, [])
        page.goto(f"/p/acme/experiments/{experiment.public_id}")
        assert page.evaluate("document.querySelector('h1').clientWidth") >= 240
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        gate = page.locator(".candidates .checks").first
        assert gate.evaluate("(one) => one.getBoundingClientRect().right <= innerWidth")
        assert gate.locator(".tag").count() == 3


@pytest.mark.parametrize("message", [MESSAGE, "m" * 600], ids=["words", "unbroken"])
def test_a_long_message_leaves_the_button_its_words_on_one_line(
    open_page, make_member, experiment, message
) -> None:
    Replay.objects.update(status="failed", error_text=message)
    replay = Replay.objects.earliest("pk")
    page = open_page(make_member("member"))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert squeezed(page, f"/p/acme/replays/{replay.public_id}") == []
        button = page.locator(".note form button")
        assert button.evaluate("(one) => one.getClientRects().length") == 1
        assert page.locator(".note > span").first.evaluate("(one) => one.clientWidth") > 400


def test_a_delivery_is_sent_again_without_scrolling_sideways(
    open_page, make_member, project
) -> None:
    owner = make_member("admin")
    keeping.add(project, keeping.read({"url": "https://a.example/hook"}), by=owner, origin="")
    hook = Webhook.objects.get()
    for said in ("refused: " + "no such host " * 20, "n" * 300):
        Delivery.objects.create(
            **{"webhook": hook, "key": said[:9], "kind": "experiment.finished", "body": "{}"},
            **{"event_id": "evt_01m8q7sevkt71a9kzyg476", "state": "given_up", "attempts": 9},
            **{"said": said, "took_ms": 10_000, "status_code": 503},
        )
    page = open_page(owner)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"/p/acme/settings/notifications/webhooks/{hook.public_id}")
        log = page.locator(".scroll-x")
        assert log.evaluate("(one) => one.scrollWidth <= one.clientWidth")
        assert page.get_by_role("button", name="again").count() == 2
