"""Webhooks: who may have one, how it is signed, sent, sent again, and when it is given up."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from receiver import running

from replay.ids import new_id
from replay.models import Delivery, Notice, Webhook
from replay.notifications import posting, sending, signing
from replay.notifications.kinds import Kind
from replay.notifications.outbox import put
from runs.accounts.models import Membership

pytestmark = pytest.mark.django_db
PAGE = "/p/acme/settings/notifications"
API = "/api/v1/webhooks"
DOCS = (Path(__file__).resolve().parents[2] / "docs" / "notifications.md").read_text()
[EXAMPLE] = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)


@pytest.fixture(autouse=True)
def _here(settings):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    settings.SEAL_KEYS = ["the first seal key of this test, long"]


@pytest.fixture
def receiver():
    yield from running()


@pytest.fixture
def make(api, receiver):
    """make(events=…) -> what the API answered, the secret in it."""

    def send(**body):
        return api("POST", API, json.dumps({"url": receiver.url, **body}).encode())

    return send


@pytest.fixture
def hook(make) -> Webhook:
    return Webhook.objects.select_related("project").get(public_id=make().json()["id"])


def happen(hook: Webhook, key: str = "") -> Delivery:
    """Something the webhook is told of."""
    put([hook], Kind.REPLAY_FINISHED, key or new_id("k"), {"replay": "rp_1", "url": "/p/acme"})
    return Delivery.objects.latest("pk")


def wait_over(row: Delivery) -> None:
    """Its rest, or the lease of who has it, is over."""
    Delivery.objects.filter(pk=row.pk).update(next_at=timezone.now())


def verified(secret: str, got) -> dict:
    """What the example of the docs says of something that came."""
    names: dict = {}
    exec(EXAMPLE, names)
    return names["verify"](secret, got.headers, got.body)


# --- Signatures ---------------------------------------------------------------------------------


def test_the_signature_is_the_specification_s():
    # The example of https://www.standardwebhooks.com and of the libraries that follow it.
    made = signing.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_comes_is_signed_by_the_secret_that_was_shown(make, receiver):
    made = make().json()
    row = happen(Webhook.objects.get())
    assert sending.send_due() == 1
    [got] = receiver.got
    told = verified(made["secret"], got)
    assert (told["type"], told["data"]["replay"]) == ("replay.finished", "rp_1")
    assert told["data"]["url"] == "http://testserver/p/acme"
    assert (got.path, got.headers["webhook-id"]) == ("/hook?team=a", row.event_id)
    assert got.headers["content-type"] == "application/json"
    with pytest.raises(ValueError):
        verified(made["secret"], type(got)(got.path, got.headers, got.body + b" "))


def test_links_begin_with_the_address_the_operator_names(hook, receiver, settings):
    settings.BASE_URL = "https://rewyn.example/"
    happen(hook)
    sending.send_due()
    assert json.loads(receiver.got[0].body)["data"]["url"] == "https://rewyn.example/p/acme"


def test_for_a_day_the_secret_before_signs_too(make, api, receiver):
    made = make().json()
    fresh = api("POST", f"{API}/{made['id']}/secret").json()
    hook = Webhook.objects.get()
    happen(hook)
    sending.send_due()
    assert [verified(s, receiver.got[0])["type"] for s in (made["secret"], fresh["secret"])]
    Webhook.objects.update(before_until=timezone.now())
    happen(hook)
    sending.send_due()
    assert verified(fresh["secret"], receiver.got[1])
    with pytest.raises(ValueError):
        verified(made["secret"], receiver.got[1])


def test_no_log_holds_the_address(hook, receiver, caplog):
    """Receivers are often known by nothing but a token in it."""
    caplog.set_level(logging.DEBUG)
    happen(hook)
    assert sending.send_due() == 1 and receiver.got
    assert "/hook" not in caplog.text and "team=a" not in caplog.text


def test_a_secret_is_shown_once_and_nowhere_else(admin, receiver, api):
    form = {"url": receiver.url, "events": ["replay.finished"], "active": "on"}
    page = admin.post(PAGE, form, follow=True)
    secret = re.search(r"whsec_[\w+/=]+", page.content.decode())[0]
    where = page.redirect_chain[-1][0]
    later = [admin.get(where), admin.get(PAGE), api("GET", API)]
    assert not [answer for answer in later if secret.encode() in answer.content]
    assert secret not in json.dumps(list(Webhook.objects.values()), default=str)
    assert sending.secrets_of(Webhook.objects.get()) == [secret]


def test_secrets_are_sealed_anew_and_another_seal_sends_nothing(hook, receiver, settings):
    from django.core.management import call_command

    before = sending.secrets_of(hook)
    settings.SEAL_KEYS = ["the new seal key, long enough too!!!", *settings.SEAL_KEYS]
    call_command("reseal_provider_keys")
    settings.SEAL_KEYS, settings.SECRET_KEY = settings.SEAL_KEYS[:1], "another"
    assert sending.secrets_of(Webhook.objects.get()) == before
    settings.SEAL_KEYS = ["yet another seal key, as long as is asked"]
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert row.said.startswith("The secret cannot be opened") and not receiver.got


# --- Addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://2130706433/x",
        "https://u:p@x.example",
        "ftp://x.example",
        "https://x.example/#a",
        "https://x.example/?a=\x00",
        "",
        7,
    ],
)
def test_an_address_out_of_bounds_is_refused(make, url):
    refused = make(url=url)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "url")


def test_a_private_address_needs_the_operators_word_at_each_attempt(hook, receiver, settings, make):
    settings.REPLAY_PRIVATE_ADDRESSES = False
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.status_code, receiver.got) == ("waiting", None, [])
    assert "REPLAY_PRIVATE_ADDRESSES" in row.said
    assert make().status_code == 422


def test_a_redirect_is_not_followed(hook, receiver):
    receiver.answers = [(307, "", {"Location": receiver.url})]
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.status_code, len(receiver.got)) == ("waiting", 307, 1)
    assert row.said.startswith("Redirects are not followed.")


def test_no_proxy_of_the_environment_is_used(hook, receiver, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    happen(hook)
    sending.send_due()
    assert len(receiver.got) == 1


# --- Tries --------------------------------------------------------------------------------------


def test_after_500_it_comes_again_the_same(hook, receiver):
    receiver.answers = [(500, "x" * 900, {})]
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.status_code, len(row.said), row.attempts) == ("waiting", 500, 500, 1)
    assert timedelta(seconds=9) < row.next_at - row.tried_at <= timedelta(seconds=10)
    assert sending.send_due() == 0
    wait_over(row)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, row.said) == ("delivered", 2, "thanks")
    first, second = receiver.got
    assert (first.body, first.headers["webhook-id"]) == (
        second.body,
        second.headers["webhook-id"],
    )


@pytest.mark.parametrize(
    ("status", "asked", "rest"),
    [
        (429, "90", 90),
        (503, "5", 10),
        (503, "999999", 6 * 3600),
        (500, "90", 10),
        (429, "soon", 10),
    ],
)
def test_what_the_receiver_asks_for_is_waited_within_bounds(hook, receiver, status, asked, rest):
    receiver.answers = [(status, "", {"Retry-After": asked})]
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert row.state == "waiting"
    assert round((row.next_at - row.tried_at).total_seconds()) == rest


def test_what_else_waits_is_held_back_with_it(hook, receiver, monkeypatch):
    monkeypatch.setattr(sending, "EACH", 1)
    receiver.answers = [(429, "", {"Retry-After": "120"})]
    happen(hook)
    second = happen(hook)
    sending.send_due()
    assert sending.send_due() == 0
    second.refresh_from_db()
    assert second.next_at > timezone.now() + timedelta(seconds=100)


def test_gone_is_said_and_not_tried_again_and_switches_nothing_off(hook, receiver):
    receiver.answers = [(410, "moved away", {})]
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    hook.refresh_from_db()
    assert (row.state, row.status_code, row.attempts, row.next_at) == ("given_up", 410, 1, None)
    assert row.said == "Its receiver is gone for good: it is not tried again. moved away"
    assert (hook.is_active, hook.failures) == (True, 1)


def test_a_receiver_that_does_not_answer_is_left_in_time(hook, receiver, monkeypatch):
    monkeypatch.setattr(posting, "SECONDS", 0.1)
    receiver.silent = {"/hook?team=a"}
    row = happen(hook)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.said) == ("waiting", "No answer within 0.1 seconds.")
    wait_over(row)
    monkeypatch.undo()
    receiver.silent = set()
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, row.said) == ("delivered", 2, "thanks")


def test_a_slow_receiver_holds_up_nobody_else(hook, make, receiver, monkeypatch):
    monkeypatch.setattr(posting, "SECONDS", 4.0)
    make(url=f"http://127.0.0.1:{receiver.port}/other")
    other = Webhook.objects.exclude(pk=hook.pk).get()
    for _ in range(9):
        happen(hook)
    receiver.silent = {"/hook?team=a"}
    happen(other)
    assert sending.send_due() == 5
    assert Delivery.objects.get(webhook=other).state == "delivered"


def test_it_is_given_up_after_the_last_try_and_can_be_sent_again(hook, receiver, api):
    receiver.answers = [(503, "no", {})] * sending.TRIES
    row = happen(hook)
    rests = []
    for _ in range(sending.TRIES):
        wait_over(row)
        sending.send_due()
        row.refresh_from_db()
        rests.append(row.next_at and round((row.next_at - row.tried_at).total_seconds()))
    assert rests == [10, 60, 600, 3600, 21600, None] and row.state == "given_up"
    again = api("POST", f"{API}/{hook.public_id}/deliveries/{row.pk}/redeliver")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("delivered", 7)


def test_a_worker_killed_before_the_answer_is_written_loses_nothing(hook, receiver, monkeypatch):
    row = happen(hook)

    def killed(letters, policy):
        posting.post_all(letters, policy)
        raise SystemExit

    monkeypatch.setattr(sending, "post_all", killed)
    with pytest.raises(SystemExit):
        sending.send_due()
    monkeypatch.undo()
    assert sending.send_due() == 0  # the dead one still has it
    wait_over(row)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, row.said) == ("delivered", 2, "thanks")
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1


def test_a_worker_that_comes_late_changes_nothing(hook, receiver, monkeypatch):
    row = happen(hook)

    def slow(letters, policy):
        monkeypatch.undo()
        wait_over(row)
        sending.send_due()
        return [posting.Reply(500, "late")]

    monkeypatch.setattr(sending, "post_all", slow)
    sending.send_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, row.said) == ("delivered", 2, "thanks")


def test_of_two_workers_one_sends(hook, receiver):
    row = happen(hook)
    seen = [Delivery.objects.select_related("webhook").get(pk=row.pk) for _ in range(2)]
    assert [sending._take(one) for one in seen] == [True, False]
    assert sending.send_due() == 0


def test_an_event_is_written_down_once(hook, receiver):
    happen(hook, "replay:7")
    happen(hook, "replay:7")
    assert sending.send_due() == 1


# --- Switched off -------------------------------------------------------------------------------


def test_one_that_fails_for_days_is_switched_off_and_the_admins_are_told(
    hook, receiver, make_member, admin
):
    make_member("member")
    receiver.answers = [(500, "no", {})]
    last, waiting = happen(hook), happen(hook)
    Delivery.objects.filter(pk=last.pk).update(tries=sending.TRIES - 1)
    Delivery.objects.filter(pk=waiting.pk).update(next_at=timezone.now() + timedelta(hours=1))
    long_ago = timezone.now() - sending.FAILED_FOR
    Webhook.objects.update(failing_since=long_ago, failures=sending.FAILED_EVENTS - 1)
    sending.send_due()
    hook.refresh_from_db()
    waiting.refresh_from_db()
    assert (hook.is_active, waiting.state) == (False, "given_up")
    assert list(Notice.objects.values_list("user__email", flat=True)) == ["admin@example.com"]
    assert f"{PAGE}/webhooks/{hook.public_id}" in admin.get("/p/acme/inbox").content.decode()


def test_one_that_takes_something_again_begins_anew(hook, receiver):
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=9), failures=7)
    happen(hook)
    sending.send_due()
    hook.refresh_from_db()
    assert (hook.failing_since, hook.failures) == (None, 0)


def test_one_that_is_off_is_told_nothing_but_a_ping(hook, receiver, api):
    row = happen(hook)
    api("PATCH", f"{API}/{hook.public_id}", b'{"active": false}')
    row.refresh_from_db()
    assert (row.state, sending.send_due()) == ("given_up", 0)
    again = api("POST", f"{API}/{hook.public_id}/deliveries/{row.pk}/redeliver")
    assert again.status_code == 409
    assert api("POST", f"{API}/{hook.public_id}/ping").json()["state"] == "delivered"


# --- Pages and API ------------------------------------------------------------------------------


def test_a_ping_says_what_came(admin, hook, receiver):
    receiver.answers = [(404, "nobody <here>", {})]
    where = f"{PAGE}/webhooks/{hook.public_id}"
    page = admin.post(f"{where}/ping", follow=True).content.decode()
    assert "The ping was not taken: 404 nobody &lt;here&gt;" in page
    assert json.loads(receiver.got[0].body)["type"] == "ping"
    page = admin.post(f"{where}/ping", follow=True).content.decode()
    assert "The ping was taken: 200." in page and page.count("<code>ping</code>") == 2


def test_the_log_has_pages_and_a_button_to_send_again(admin, hook, receiver, api):
    for _ in range(3):
        happen(hook)
    sending.send_due()
    address = f"{API}/{hook.public_id}/deliveries"
    first = api("GET", f"{address}?limit=2").json()
    rest = api("GET", f"{address}?limit=2&cursor={first['next']}").json()
    assert (len(first["results"]), len(rest["results"]), rest["next"]) == (2, 1, None)
    last = Delivery.objects.latest("pk")
    page = admin.post(
        f"{PAGE}/webhooks/{hook.public_id}/deliveries/{last.pk}/again", follow=True
    ).content.decode()
    assert "It is sent again in a moment." in page
    sending.send_due()
    assert len(receiver.got) == 4


def test_a_webhook_is_changed_and_removed(admin, hook, receiver):
    where = f"{PAGE}/webhooks/{hook.public_id}"
    admin.post(where, {"url": receiver.url, "events": ["regression.found", "replay.finished"]})
    hook.refresh_from_db()
    assert (hook.events, hook.is_active) == (["replay.finished", "regression.found"], False)
    assert admin.post(where, {"url": receiver.url, "active": "on"}).status_code == 400
    admin.post(f"{where}/removal")
    assert not Webhook.objects.exists()


def test_another_project_s_webhook_is_not_there(hook, make_member, api):
    from runs.accounts.models import Project

    other = Project.objects.create(slug="other", name="Other")
    client = Client()
    client.force_login(
        make_member("owner", "o@example.com", of=other),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    at = f"/p/other/settings/notifications/webhooks/{hook.public_id}"
    assert [client.get(at).status_code, client.post(f"{at}/ping").status_code] == [404, 404]
    assert not Membership.objects.filter(project=hook.project).exists()


def test_what_is_old_is_forgotten(hook, receiver):
    old, new = happen(hook), happen(hook)
    Delivery.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    sending.forget_old()
    assert list(Delivery.objects.values_list("pk", flat=True)) == [new.pk]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"events": []}, "events"),
        ({"events": ["ping"]}, "events"),
        ({"events": "replay.finished"}, "events"),
        ({"events": [{}]}, "events"),
        ({"active": "yes"}, "active"),
        ({"secret": "mine"}, "secret"),
    ],
)
def test_what_no_webhook_can_be_is_refused(make, body, field):
    refused = make(**body)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)
