"""Secrets are taken out before storing; what holds none keeps its bytes."""

import json
import time

import pytest
from factories import body, completion, log, run, tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.accounts.models import Project
from runs.models import Effect, Segment
from runs.own_patterns import BadPattern, compile_pattern
from runs.redaction import Redactor
from runs.redaction.rules import for_project
from runs.storage.segments import decompress

A16, A40 = "Ab1Cd2Ef3Gh4Ij5K", "a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{A40}\n{A40}\n-----END RSA PRIVATE KEY-----"
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{A40}"
SECRETS = {
    "openai-key": f"sk-proj-{A40}",
    "anthropic-key": f"sk-ant-api03-{A40}",
    "aws-key-id": "AKIAIOSFODNN7EXAMPLE",
    "google-key": "AIza" + A40[:35],
    "github-token": "ghp_" + A40[:36],
    "gitlab-token": f"glpat-{A16}abcd",
    "slack-token": f"xoxb-{A16}",
    "stripe-key": f"sk_live_{A16}",
    "huggingface-token": f"hf_{A40}",
    "groq-key": f"gsk_{A40}",
    "xai-key": f"xai-{A40}",
    "rewyn-key": f"rw_{A40[:32]}",
    "jwt": JWT,
    "private-key": PEM,
}
INNOCENT = [
    "the task-force asked a risk-averse desk-clerk",
    "sk-this-is-a-long-hyphenated-word-list",
    "Bearer of bad news",
    "Basic authentication, basic understanding and Basic internationalization",
    r"C:\/dir and {\"a\": \"\u0041 plain \u003cb\u003e\"}",
    "https://example.com/a:b@c and http://host:8080/path",
    "AKIA is short, eyJ too, and ghp_ as well",
    "uuid 00000000-0000-4000-8000-000000000000",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
]


def recorded(api, seq: int = 1) -> dict:
    return api("GET", f"/api/v1/runs/r1/effects/{seq}").json()


def everything_stored() -> bytes:
    held = Segment.objects.values_list("data", "rest")
    return b"".join(decompress(bytes(data) + bytes(rest or b"")) for data, rest in held)


@pytest.mark.parametrize("rule", SECRETS)
def test_a_well_known_secret_is_taken_out(api, rule):
    secret = SECRETS[rule]
    api("POST", "/api/v1/runs", run("r1", tool(1, result=f"it is {secret}, keep it")))
    kept = recorded(api)
    text = kept["record"]["outcome"]["Ok"]["result"]["value"][0]["text"]
    assert text == f"it is [redacted:{rule}], keep it"
    [mark] = kept["redactions"]
    assert (mark["path"], mark["rule"]) == ("/outcome/Ok/result/value/0/text", rule)
    assert secret.encode() not in everything_stored()


LINES = [*SECRETS.values(), "Basic dXNlcjpwYTU1d29yZA=="]


@pytest.mark.parametrize("secret", LINES)
@pytest.mark.parametrize("blank", ["\n", "\t", "\r\n", "\f", "\b", "\x0b", "\x1f"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_secret_that_begins_a_line_of_json_inside_a_text_is_found(secret, blank, times):
    """The file a tool wrote stands in its arguments, which are a text: there a line break is `\\n`,
    and the secret behind it seems to go on a word."""
    text = f"keys:{blank}{secret}{blank}end"
    for _ in range(times):
        text = json.dumps({"content": text})
    assert Redactor().text(text)[1], text
    data = json.dumps({"args": text}).encode()
    assert secret.splitlines()[0] not in Redactor().json(data)[0].decode()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"Authorization: Bearer {A40}", "Authorization: Bearer [redacted:bearer-token]"),
        ("postgres://u:pa55word@db/x", "postgres://[redacted:url-password]@db/x"),
        ("https://:token@host/", "https://[redacted:url-password]@host/"),
        (r"postgres:/\/bob:pw@h", "postgres://[redacted:url-password]@h"),
        (f"Bearer\t {A40}", "Bearer\t [redacted:bearer-token]"),
        (f"Bearer  {'a' * 9000}", "Bearer  [redacted:bearer-token]"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted:basic-login]"),
        (f"x_{JWT}", "x_[redacted:jwt]"),
        (PEM.replace(A40, A40 * 1000) + " end", "[redacted:private-key] end"),
        (PEM[:80], "[redacted:private-key]"),
    ],
)
def test_the_words_around_a_secret_stay(text, clean):
    assert Redactor().text(text)[0] == clean


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_stays(text):
    assert Redactor().text(text) == (text, [])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.recursive(st.text() | st.integers() | st.none(), lambda v: st.lists(v)))
def test_without_a_secret_the_bytes_stay(value):
    data = json.dumps(value, indent=1).encode()
    assert Redactor().json(data) == (data, [])


def test_only_the_string_with_the_secret_is_written_anew(api):
    record = '{ "id" : 1.0e0 , "n":1.50, "a":"\\u00e9", "s" : "AKIAIOSFODNN7EXAMPLE" ,"z":[ ] }'
    clean, marks = Redactor().json(record.encode())
    assert clean.decode() == record.replace("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key-id]")
    assert [mark.path for mark in marks] == ["/s"]


@pytest.mark.parametrize("spelling", ["\\u0041KIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7\\u0045XAMPLE"])
def test_an_escape_hides_no_secret(api, spelling):
    sent = body(log(tool(1, result="SECRET"))).replace(b"SECRET", spelling.encode())
    api("POST", "/api/v1/effect-logs?run_id=r1", sent)
    assert recorded(api)["redactions"][0]["rule"] == "aws-key-id"


@pytest.mark.parametrize("slashes", [rb"\/\/", rb"/\/", rb"\//"])
def test_escaped_slashes_hide_no_password(api, slashes):
    password = b"ftp:" + slashes + b"u:hunter22@h"
    sent = body(log(tool(1, result="SECRET"))).replace(b"SECRET", password)
    api("POST", "/api/v1/effect-logs?run_id=r1", sent)
    assert b"hunter22" not in everything_stored()


def test_a_secret_inside_json_inside_a_text_is_found(api):
    args = json.dumps({"header": f"Bearer {A40}", "note": "ok"})
    api("POST", "/api/v1/runs", run("r1", tool(1, args=args)))
    kept = json.loads(recorded(api)["record"]["kind"]["args"])
    assert kept == {"header": "Bearer [redacted:bearer-token]", "note": "ok"}


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        (r'{"u":"postgres:\/\/bob:pw@h"}', {"u": "postgres://[redacted:url-password]@h"}),
        (rf'{{"k":"\u0073k-{A40}"}}', {"k": "[redacted:openai-key]"}),
        (rf'{{"k":"Bearer\t{A16}\/{A16}"}}', {"k": "Bearer\t[redacted:bearer-token]"}),
    ],
)
def test_an_escape_inside_json_inside_a_text_hides_no_secret(api, inside, kept):
    api("POST", "/api/v1/runs", run("r1", tool(1, args=inside)))
    effect = recorded(api)
    assert json.loads(effect["record"]["kind"]["args"]) == kept
    assert len(effect["redactions"]) == 1


def test_a_secret_name_beside_the_records_is_taken_out(api):
    secrets = [SECRETS["openai-key"], SECRETS["openai-key"] + "9"]
    sent = {"run": {"id": "r1"}, "log": {**log(), **dict.fromkeys(secrets, 1)}}
    api("POST", "/api/v1/runs", body(sent))
    exported = b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)
    shown = exported + api("GET", "/api/v1/runs/r1").content
    assert secrets[0].encode() not in shown
    assert b"[redacted:openai-key]-2" in exported


def test_a_password_in_a_key_is_in_no_path(api):
    key = "postgres://bob:hunter22@h"
    sent = {"run": {"id": "r1", "metadata": {key: 1}}, "log": log({**tool(1), "x": {key: 1}})}
    api("POST", "/api/v1/runs", body(sent))
    assert recorded(api)["redactions"][0]["path"] == "/x/postgres:~1~1[redacted:url-password]@h"
    assert b"hunter22" not in api("GET", "/api/v1/runs/r1").content


@pytest.mark.parametrize("rules", [[], [{"name": "own", "pattern": "C-[0-9]{6}"}]])
def test_an_id_in_the_address_that_holds_a_secret_is_refused(api, project, rules):
    Project.objects.update(redaction_rules=rules)
    secret = "C-123456" if rules else SECRETS["openai-key"]
    answer = api("POST", f"/api/v1/effect-logs?run_id={secret}", body(log()))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert api("GET", f"/api/v1/runs/{secret}").status_code == 404


def test_a_secret_as_a_key_is_found():
    clean, marks = Redactor().json(b'{"a":[{"AKIAIOSFODNN7EXAMPLE":1}],"b~/":"x"}')
    assert clean == b'{"a":[{"[redacted:aws-key-id]":1}],"b~/":"x"}'
    assert marks[0].path == "/a/0/[redacted:aws-key-id]"


@pytest.mark.parametrize("odd", ["\\u0000", "\\ud800"])
def test_nul_and_surrogates_beside_a_secret_are_kept(api, odd):
    sent = body(log({**tool(1), "KEYODD": {"x": "ODD AKIAIOSFODNN7EXAMPLE"}}))
    answer = api("POST", "/api/v1/effect-logs?run_id=r1", sent.replace(b"ODD", odd.encode()))
    assert answer.status_code == 201
    whole = api("GET", "/api/v1/runs/r1/effects/1").content
    assert f'{{"x": "{odd} [redacted:aws-key-id]"}}'.encode() in whole


def test_paths_are_json_pointers():
    secret = SECRETS["aws-key-id"]
    value = {"a~b/c": [0, {"x": secret, "y": [[], secret]}], "z": secret}
    marks = Redactor().json(json.dumps(value).encode())[1]
    assert [m.path for m in marks] == ["/a~0b~1c/1/x", "/a~0b~1c/1/y/1", "/z"]


def test_wire_header_and_run_are_redacted_too(api):
    secret = SECRETS["openai-key"]
    wire = {"1": {"headers": {"authorization": f"Bearer {secret}"}}}
    sent = {
        "run": {"id": "r1", "agent": secret, "metadata": {"k": secret}, "input": secret},
        "log": {**log(completion(1)), "header": {"hooks": [secret]}, "extra": secret},
        "wire": wire,
    }
    api("POST", "/api/v1/runs", body(sent))
    exported = b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)
    assert secret.encode() not in exported and exported.count(b"[redacted:openai-key]") == 6
    assert recorded(api)["redactions"][0]["path"] == "wire/headers/authorization"
    warnings = api("GET", "/api/v1/runs/r1").json()["warnings"]
    assert {"redacted"} == {w["code"] for w in warnings if w["code"] != "unknown_key"}


def test_the_same_secret_has_the_same_hash_and_another_another():
    hashes = [Redactor().text(text)[1][0][1] for text in ("AKIA" + "A" * 16, "AKIA" + "B" * 16)]
    assert Redactor().text("AKIA" + "A" * 16)[1][0][1] == hashes[0] != hashes[1]


def test_a_redacted_record_sent_again_is_known(api):
    sent = run("r1", tool(1, result=SECRETS["jwt"]))
    assert [api("POST", "/api/v1/runs", sent).status_code for _ in range(2)] == [201, 200]


OWN = [{"name": "own", "pattern": "password=[a-z0-9]+"}]


@pytest.mark.parametrize(("before", "after"), [([], OWN), (OWN, [])])
@pytest.mark.parametrize("text", ["password=hunter2", f"{JWT} and password=hunter2"])
def test_a_record_sent_again_under_other_rules_is_known(api, project, before, after, text):
    sent = run("r1", tool(1, result=text))
    for rules, status in ((before, 201), (after, 200)):
        Project.objects.update(redaction_rules=rules)
        assert api("POST", "/api/v1/runs", sent).status_code == status


def test_a_secret_in_the_address_is_taken_out(api):
    api("POST", f"/api/v1/effect-logs?run_id=r1&agent={SECRETS['groq-key']}", body(log()))
    assert api("GET", "/api/v1/runs/r1").json()["agent"] == "[redacted:groq-key]"


# --- Hostile texts -------------------------------------------------------------------------------

HOSTILE = {
    "begins": "-----BEGIN PRIVATE KEY-----" * 100_000,
    "ends": "-----BEGIN PRIVATE KEY-----" + "-----END " * 200_000,
    "jwt": "eyJ" * 1_000_000,
    "jwt, cut": "-eyJ" * 500_000,
    "jwt, two parts": "eyJaaaaaaaa.-." * 200_000,
    "backslashes": "Bearer" + "\\" * 1_000_000,
    "addresses": "://a:" * 300_000,
    "keys": "sk-a-" * 200_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_stalls(kind):
    data = json.dumps([HOSTILE[kind]]).encode()
    start = time.process_time()
    Redactor().may_hold_secrets(data)
    Redactor().text(HOSTILE[kind])
    Redactor().json(data)
    assert time.process_time() - start < 5


def test_a_long_name_above_many_secrets_stalls_nothing():
    value = {"://" + "k" * 500_000: [SECRETS["aws-key-id"]] * 2000}
    start = time.process_time()
    marks = Redactor().json(json.dumps(value).encode())[1]
    assert (len(marks), max(len(mark.path) for mark in marks)) == (2000, 1000)
    assert time.process_time() - start < 5


# --- A project's own rules -----------------------------------------------------------------------


def test_a_projects_own_rule_is_applied(api, project):
    Project.objects.update(
        redaction_rules=[{"name": "customer", "pattern": "C-[0-9]{6}"}, {"name": 5}, "x"]
    )
    api("POST", "/api/v1/runs", run("r1", tool(1, result="order of C-123456 \u00e9")))
    assert recorded(api)["redactions"][0]["rule"] == "customer"
    assert Effect.objects.get().redactions is not None


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("C-[0-9]{6}", "x C-123456 y", "C-123456"),
        ("(?:EUR|USD) ?[0-9]+", "pay EUR 12 now", "EUR 12"),
        (r"\bacct_\w{4,}", "an acct_9Zx1 here", "acct_9Zx1"),
        ("[]x]{3}", "a]x]b", "]x]"),
        ("a.c", "abc", "abc"),
    ],
)
def test_ordinary_patterns_work(pattern, text, found):
    assert compile_pattern(pattern).search(text)[0] == found


@pytest.mark.parametrize(
    "pattern",
    [
        "ab",
        "x" * 301,
        "(a",
        "a(?=b)cd",
        "(?P<x>abc)",
        "(abc)\\1",
        "abc*?",
        "abc**",
        "a{1,5000}bc",
        "(?i)abc",
        "[ab]*",
        "^abc$\\Z",
        "(a+)+b",
        "(?:a*)*b",
        "(?:[0-9]{1,400}x?){1,400}",
        "abc\\",
    ],
)
def test_patterns_that_could_stall_or_mean_nothing_are_refused(pattern):
    with pytest.raises(BadPattern):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["a+b", "(a|a)+b", "(a|aa)+b", "(a?)+bc", "a*a*a*a*b", "(.*)(.*)(.*)b", "aa[^b]+b"]
)
def test_no_pattern_stalls(pattern):
    rules = for_project([{"name": "evil", "pattern": pattern}])
    start = time.process_time()
    rules.text("a" * 300_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("pattern", "text", "left"),
    [
        ("[a-z.]+@corp", "to joe.b@corp, " + "x" * 3000 + "@corp", "to #, #"),
        ("KEY-[a-z]+", "KEY-" + "x" * 3000 + "!", "#!"),
        ("(?:[0-9]{4}-){3}[0-9]{4}", "card 1234-5678-9012-3456.", "card #."),
        ("x{2,}y|[ab]+c", "xxxy abac xy", "# # xy"),
    ],
)
def test_bounds_take_nothing_from_ordinary_patterns(pattern, text, left):
    assert compile_pattern(pattern).sub("#", text) == left


@pytest.mark.parametrize("rule", SECRETS)
def test_a_secret_is_found_wherever_it_stands_in_a_large_text(rule):
    for before in range(256 * 1024 - 24, 256 * 1024 + 2, 5):
        text = "," * before + SECRETS[rule]
        assert Redactor().may_hold_secrets(text.encode()), before
