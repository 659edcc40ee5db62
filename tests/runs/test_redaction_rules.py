"""A project's own rules: set by people and programs, tried before, applied to what comes in."""

from __future__ import annotations

import json

import pytest
from factories import HEADER, body, completion, log, run, tool

from runs.accounts.models import Project
from runs.models import Effect, Segment
from runs.storage import segments

RULES = "/api/v1/redaction"
PAGE = "/p/acme/settings/redaction"
CUSTOMER = {"name": "customer", "pattern": "C-[0-9]{6}"}
PASSWORD = {"name": "password", "field": "password"}


def put(api, *rules: object):
    return api("PUT", RULES, body({"rules": list(rules)}))


def stored_after(api, *records: dict, **more) -> tuple[str, list[dict]]:
    """Everything stored of these records, and the marks of the first."""
    assert api("POST", "/api/v1/runs", run("r1", *records, **more)).status_code == 201
    held = Segment.objects.values_list("data", "rest")
    parts = [bytes(data) + bytes(rest or b"") for data, rest in held]
    text = b"".join(map(segments.decompress, parts)).decode()
    return text, api("GET", "/api/v1/runs/r1/effects/1").json()["redactions"]


@pytest.fixture
def admin_client(client, make_member):
    client.force_login(make_member("admin"), backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_a_rule_counts_from_the_next_request_on(api):
    assert put(api, CUSTOMER).json()["rules"][0] == CUSTOMER | {"field": None, "problem": None}
    text, [mark] = stored_after(api, tool(1, result="order of C-123456, sent"))
    assert "C-123456" not in text and "order of [redacted:customer], sent" in text
    assert (mark["rule"], mark["path"]) == ("customer", "/outcome/Ok/result/value/0/text")
    put(api)
    api("POST", "/api/v1/runs", run("r2", tool(1, result="order of C-123456")))
    assert api("GET", "/api/v1/runs/r2/effects/1").json()["redactions"] is None


def test_a_field_goes_with_all_that_is_under_it(api):
    put(api, PASSWORD)
    record = completion(1) | {"x": {"Password": {"old": "a1", "new": ["b2", 33]}, "note": "c4"}}
    text, marks = stored_after(api, record)
    assert [mark["path"] for mark in marks] == [
        "/x/Password/old",
        "/x/Password/new/0",
        "/x/Password/new/1",
    ]
    assert '"new": ["[redacted:password]", "[redacted:password]"]' in text and "c4" in text


def test_a_field_is_found_in_the_json_of_a_text(api):
    put(api, PASSWORD)
    args = json.dumps({"user": "u", "password": "hunter2"})
    text, [mark] = stored_after(api, tool(1, args=args))
    assert "hunter2" not in text
    assert mark["path"] == "/kind/args"
    kept = api("GET", "/api/v1/runs/r1/effects/1").json()["record"]["kind"]["args"]
    assert json.loads(kept) == {"user": "u", "password": "[redacted:password]"}


@pytest.mark.parametrize("start", ["\n", "  \r\n\t", ""])
def test_json_in_a_text_may_begin_with_blanks(api, start):
    """Models put a line break in front of it."""
    put(api, PASSWORD)
    text, marks = stored_after(api, tool(1, args=f'{start}{{"a": [{{"password": "s3cret"}}]}}'))
    assert "s3cret" not in text and [mark["rule"] for mark in marks] == ["password"]


@pytest.mark.parametrize("spelled", ["Пароль", "пароль", "ПАРОЛЬ"])
def test_the_case_of_a_name_does_not_count_in_any_script(api, spelled):
    put(api, {"name": "password", "field": "пароль"})
    record = completion(1) | {"x": {spelled: "s3cret"}}
    sent = json.dumps({"run": {"id": "r1"}, "log": {"records": [record]}}, ensure_ascii=False)
    assert api("POST", "/api/v1/runs", sent.encode()).status_code == 201
    assert "s3cret" not in api("GET", "/api/v1/runs/r1/log").getvalue().decode()


def test_a_pointer_names_one_place_and_a_pattern_what_goes_there(api):
    put(api, {"name": "city", "pattern": "[A-Z][a-z]+", "field": "/x/*/address"})
    people = [{"address": "7 Main, Berlin", "name": "Ann"}, {"address": "none", "name": "Bob"}]
    text, marks = stored_after(api, completion(1) | {"x": people})
    assert {mark["path"] for mark in marks} == {"/x/0/address"}
    assert '"7 [redacted:city], [redacted:city]", "name": "Ann"' in text


def test_a_pointer_names_the_same_place_in_a_log_that_comes_as_lines(api):
    """In a line that goes on from another (format §3) a record's members stand one deeper."""
    put(
        api,
        {"name": "ssn", "field": "/x/ssn"},
        {"name": "token", "field": "/deliveries/*/token"},
        {"name": "said", "field": "/kind/request/chat_history/1/content/0/text"},
        {"name": "new", "field": "new"},
    )
    first, asked = completion(1, asked="one"), completion(2, asked="two")
    kind = asked["kind"] | {"request": {"chat_history": asked["kind"]["request"]["chat_history"]}}
    record = {"key": first["key"], "kind": kind, "outcome": asked["outcome"], "x": {"ssn": "333"}}
    lines = [
        {"header": HEADER | {"deliveries": [{"token": "t0k"}]}},
        first | {"x": {"ssn": "111"}},
        {"id": 2, "after": 1, "keep": 1, "then": [{"new": 1}], "record": record},
    ]
    sent = b"\n".join(map(body, lines))
    assert api("POST", "/api/v1/effect-logs?run_id=r1", sent).status_code == 201
    told = api("GET", "/api/v1/runs/r1/log?format=jsonl").getvalue()
    assert not [word for word in (b"111", b"333", b"t0k", b'"two"') if word in told]
    assert b"[redacted:said]" in told and b'"one"' in told
    again = api("POST", "/api/v1/effect-logs?run_id=r2", told)
    assert again.json()["effects"]["stored"] == 2
    held = Segment.objects.values_list("data", "rest")
    parts = [segments.decompress(bytes(data) + bytes(rest or b"")) for data, rest in held]
    assert not [word for word in (b"333", b"t0k") if word in b"".join(parts)]


def test_the_id_of_a_log_gives_nothing_away_that_was_taken_out(api, settings):
    """The rest of the log is there to be read: four digits would be found by trying them all."""
    sent = body(log(completion(1, asked="PIN-1234")))
    told = [api("POST", "/api/v1/effect-logs", sent).json()["run_id"]]
    put(api, {"name": "pin", "pattern": "PIN-[0-9]{4}"})
    told += [api("POST", "/api/v1/effect-logs", sent).json()["run_id"] for _ in range(2)]
    settings.SECRET_KEY = "of another server"
    told.append(api("POST", "/api/v1/effect-logs", sent).json()["run_id"])
    assert told[1] == told[2] and len(set(told)) == 3
    other = body(log(completion(1, asked="PIN-1235")))
    assert api("POST", "/api/v1/effect-logs", other).json()["run_id"] not in told


def test_a_field_beside_a_log_goes_too(api):
    put(api, {"name": "person", "field": "user_id"}, {"name": "team", "field": "/session_id"})
    sent = body(log(completion(1)))
    api("POST", "/api/v1/effect-logs?run_id=r1&user_id=ann&session_id=s-1&agent=a", sent)
    told = api("GET", "/api/v1/runs/r1").json()
    assert (told["user_id"], told["session_id"]) == ("[redacted:person]", "[redacted:team]")
    assert told["agent"] == "a"


def test_a_field_of_header_wire_and_run_goes_too(api):
    put(api, PASSWORD)
    wire = {"1": {"request": {"password": "hunter2"}, "status": 200}}
    text, _ = stored_after(api, tool(1), wire=wire, metadata={"password": "hunter2"})
    assert "hunter2" not in text
    assert api("GET", "/api/v1/runs/r1").json()["metadata"] == {"password": "[redacted:password]"}


def test_a_redacted_record_sent_again_is_known(api):
    put(api, PASSWORD)
    sent = run("r1", tool(1, args='{"password": "hunter2"}'))
    api("POST", "/api/v1/runs", sent)
    assert api("POST", "/api/v1/runs", sent).json()["effects"]["duplicate"] == 1


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"name": "", "pattern": "abc"}, "rules[0].name"),
        ({"name": "a b", "pattern": "abc"}, "rules[0].name"),
        ({"name": "jwt", "pattern": "abc"}, "rules[0].name"),
        ({"name": "x"}, "rules[0].pattern"),
        ({"name": "x", "pattern": "(a+)+b"}, "rules[0].pattern"),
        ({"name": "x", "pattern": "a" * 301}, "rules[0].pattern"),
        ({"name": "x", "pattern": "abc\x00"}, "rules[0].pattern"),
        ({"name": "x", "pattern": "abc\ud800"}, "rules[0].pattern"),
        ({"name": "x", "pattern": 5}, "rules[0].name"),
        ({"name": "x", "field": "effect"}, "rules[0].field"),
        ({"name": "x", "field": "/kind/effect"}, "rules[0].field"),
        ({"name": "x", "field": "f" * 201}, "rules[0].field"),
        ({"name": "x", "field": "/a~2"}, "rules[0].field"),
        ({"name": "x", "field": "/a~"}, "rules[0].field"),
        ({"name": "x", "field": "f", "flags": "i"}, "rules[0].flags"),
        ("x", "rules[0].name"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_name(api, rule, field):
    answer = put(api, rule)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert Project.objects.get().redaction_rules == []


def test_names_and_numbers_of_rules_are_bounded(api):
    assert put(api, CUSTOMER, CUSTOMER).json()["error"]["field"] == "rules[1].name"
    many = [{"name": f"r{n}", "pattern": "abc"} for n in range(51)]
    told = put(api, *many).json()["error"]
    assert (told["code"], told["field"], told["limit"]) == ("too_many", "rules", 50)
    assert api("PUT", RULES, b"[]").status_code == 422
    assert api("PUT", RULES, b"\xff").status_code == 400
    assert api("PUT", RULES, b" " * 200_001).status_code == 413


def test_a_rule_is_tried_on_what_came_in_last(api):
    api("POST", "/api/v1/runs", run("r1", tool(1, result="C-123456"), tool(2, result="none")))
    tried = api("POST", f"{RULES}/preview", body({"pattern": "C-[0-9]{6}"})).json()
    assert (tried["runs"], tried["effects"], tried["matched"], tried["complete"]) == (1, 2, 1, True)
    [example] = tried["examples"]
    path = "/outcome/Ok/result/value/0/text"
    assert example == {"run": "r1", "seq": 1, "path": path, "text": "C-123456"}
    assert Effect.objects.get(seq=1).redactions is None


def test_trying_reads_no_more_than_it_says(api, django_assert_max_num_queries):
    records = [tool(n, result=f"C-{n:06}") for n in range(1, 301)]
    api("POST", "/api/v1/runs", run("r1", *records))
    with django_assert_max_num_queries(8):
        tried = api("POST", f"{RULES}/preview", body({"pattern": "C-[0-9]{6}"})).json()
    assert (tried["effects"], tried["matched"], len(tried["examples"])) == (200, 200, 20)


def test_an_admin_tries_adds_and_removes_a_rule_by_page(api, admin_client):
    api("POST", "/api/v1/runs", run("r1", tool(1, result="to <b>C-123456</b>")))
    tried = admin_client.post(PAGE, CUSTOMER | {"try": "1"}).text
    assert "It would change 1 of 1 effect" in tried and "&lt;b&gt;C-123456" in tried
    assert Project.objects.get().redaction_rules == []
    assert admin_client.post(PAGE, CUSTOMER).status_code == 302
    assert "C-[0-9]{6}" in admin_client.get(PAGE).text
    assert "Another rule has this name." in admin_client.post(PAGE, CUSTOMER).text
    assert admin_client.post(f"{PAGE}/remove", {"name": "customer"}).status_code == 302
    assert Project.objects.get().redaction_rules == []


def test_a_page_says_what_is_wrong_with_a_rule(admin_client):
    answer = admin_client.post(PAGE, {"name": "x", "pattern": "(a+)+b"})
    assert answer.status_code == 400
    assert "nothing that repeats inside of a repeat" in answer.text


def test_a_stored_rule_that_no_longer_can_be_is_shown_as_such(api, admin_client):
    old = [{"name": "old", "pattern": "(a+)+b"}, {"name": "n"}, 7]
    Project.objects.update(redaction_rules=old)
    assert "does not count" in admin_client.get(PAGE).text
    assert "repeat" in api("GET", RULES).json()["rules"][0]["problem"]


def test_two_who_change_rules_at_once_lose_nothing(project):
    from runs.redaction import rules as redaction_rules

    other = Project.objects.get()
    redaction_rules.add(other, CUSTOMER)
    with pytest.raises(redaction_rules.ChangedMeanwhile):
        redaction_rules.add(project, PASSWORD)
    redaction_rules.add(Project.objects.get(), PASSWORD)
    assert Project.objects.get().redaction_rules == [CUSTOMER, PASSWORD]
