"""What people say about effects: who may, who is told, what goes with a run."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from factories import completion, run, tool
from hypothesis import given
from hypothesis import strategies as st

from runs import curate, ingest
from runs.accounts.models import User
from runs.comments.models import Comment, Mention
from runs.comments.names import mentioned, pieces
from runs.models import Run

THREAD = "/p/acme/runs/r1/effects/2/comments"
HX = {"HX-Request": "true"}


@pytest.fixture
def stored(project) -> Run:
    ingest.accept_run(project, run("r1", completion(1), tool(2), completion(3)))
    return Run.objects.get(external_id="r1")


@pytest.fixture
def person(make_member):
    """person("Ada Lovelace", "member") -> a client in which she is signed in."""

    def make(name: str, role: str = "member") -> Client:
        user = make_member(role, f"{name.partition(' ')[0].lower()}@secret.example")
        User.objects.filter(pk=user.pk).update(name=name)
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make


def say(client: Client, text: str, **headers: str):
    return client.post(THREAD, {"text": text}, headers=headers)


def test_a_comment_is_said_and_read_by_others(stored, person) -> None:
    answer = say(person("Ada"), "Why twice?")
    assert answer["Location"] == "/p/acme/runs/r1?at=2#comments"
    page = person("Bob", "viewer").get("/p/acme/runs/r1?at=2").content.decode()
    assert "Why twice?" in page and "<b>Ada</b>" in page
    assert page.count('class="remarks" title="1 comment"') == 1
    assert "Why twice?" not in person("Cleo").get("/p/acme/runs/r1?at=1").content.decode()


def test_htmx_gets_the_thread_alone(stored, person) -> None:
    part = say(person("Ada"), "Why twice?", **HX).content.decode()
    assert part.startswith('<section id="comments"') and 'data-count="1"' in part


def test_a_viewer_reads_and_does_not_write(stored, person) -> None:
    viewer = person("Vic", "viewer")
    assert say(viewer, "Hi").status_code == 403
    assert "textarea" not in viewer.get(THREAD, headers=HX).content.decode()
    assert not Comment.objects.exists()


def test_one_changes_and_deletes_ones_own_and_an_owner_deletes_any(stored, person) -> None:
    ada, bob, owner = person("Ada"), person("Bob"), person("Olga", "owner")
    say(ada, "Why twice?")
    address = f"/p/acme/comments/{Comment.objects.get().pk}"
    assert bob.post(address, {"text": "mine"}).status_code == 403
    assert bob.post(f"{address}/deletion").status_code == 403
    assert owner.post(address, {"text": "mine"}).status_code == 403
    ada.post(address, {"text": "Why thrice?"})
    assert "edited" in bob.get(THREAD, headers=HX).content.decode()
    owner.post(f"{address}/deletion")
    assert Run.objects.get().comment_count == 0 and not Comment.objects.exists()


def test_a_stranger_and_another_project_find_nothing(stored, person, make_member) -> None:
    from runs.accounts.models import Project

    say(person("Ada"), "Why twice?")
    other = Client()
    user = make_member("owner", "x@example.com", of=Project.objects.create(slug="other", name="O"))
    other.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    pk = Comment.objects.get().pk
    assert other.get(THREAD).status_code == 404
    assert other.post(f"/p/other/comments/{pk}/deletion").status_code == 404
    assert person("Cleo").get("/p/acme/runs/r1/effects/9/comments").status_code == 404


def test_whoever_is_mentioned_finds_it_in_the_inbox_until_it_is_read(stored, person) -> None:
    ada, bob = person("Ada"), person("Bob de Vries")
    say(ada, "@bob de vries, and @Ada: look. mail@bob de vries is none")
    inbox = bob.get("/p/acme/inbox").content.decode()
    assert '<b aria-hidden="true">1</b>' in inbox
    assert '<span class="mention me">@bob de vries</span>, and' in inbox
    assert "/p/acme/runs/r1?at=2#c" in inbox
    assert "Nothing is here for you" in ada.get("/p/acme/inbox").content.decode()
    bob.post("/p/acme/mentions", {"comment": Comment.objects.get().pk})
    assert '<b aria-hidden="true">' not in bob.get("/p/acme/inbox").content.decode()


def test_who_leaves_the_words_is_not_told_again_when_they_change(stored, person) -> None:
    ada, bob = person("Ada"), person("Bob")
    say(ada, "@Bob look")
    bob.post("/p/acme/mentions")
    ada.post(f"/p/acme/comments/{Comment.objects.get().pk}", {"text": "@Bob please look"})
    assert Mention.objects.filter(read_at=None).count() == 0


def test_a_name_that_two_have_is_offered_once(stored, person, make_member) -> None:
    ada, names = person("Ada"), ("sam@a.example", "sam@b.example")
    User.objects.filter(pk__in=[make_member("member", one).pk for one in names]).update(name="Sam")
    assert ada.get("/p/acme/people").content.decode().count('data-mention="Sam"') == 1
    say(ada, "@Sam twice?")
    assert Mention.objects.count() == 2


def test_addresses_are_not_shown_in_comments(stored, person) -> None:
    ada = person("Ada")
    say(ada, "@Bob hello")
    person("", "member")
    assert "secret.example" not in ada.get("/p/acme/people").content.decode()
    part = person("Vic", "viewer").get(THREAD, headers=HX).content.decode()
    assert "secret.example" not in part


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> @<img src=x onerror=alert(1)>",
        "\x1b[31m red \x07",
        "مرحبا @Ada 👩🏽‍💻",
        "{{ csrf_token }} {% debug %}",
        "w" * 9999,
    ],
)
def test_hostile_words_stay_words(stored, person, text) -> None:
    ada = person("Ada")
    page = say(ada, text, **HX).content.decode()
    assert "<script>" not in page and "<img" not in page and "\x1b" not in page
    assert ada.get("/p/acme/runs/r1?at=2").status_code == 200
    assert Run.objects.get().comment_count == 1


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 10_001])
def test_what_is_no_comment_is_named_and_not_kept(stored, person, text) -> None:
    part = say(person("Ada"), text, **HX).content.decode()
    assert 'role="alert"' in part and not Comment.objects.exists()


def test_the_list_counts_and_filters(stored, project, person) -> None:
    ingest.accept_run(project, run("r2", completion(1)))
    ada = person("Ada")
    say(ada, "One")
    page = ada.get("/p/acme/runs?comments=yes&col=comments").content.decode()
    assert page.count("data-row>") == 1 and '<td class="num">1</td>' in page
    assert "r2" in ada.get("/p/acme/runs?comments=no").content.decode()


def test_comments_go_with_their_run(stored, person) -> None:
    say(person("Ada"), "@Bob gone soon")
    assert (1, "comment") in curate.what_goes([stored]).counts
    curate.delete_run(stored)
    assert not Comment.objects.exists() and not Mention.objects.exists()


def test_a_comment_of_a_deleted_run_waits_for_nobody(stored, person) -> None:
    bob = person("Bob")
    say(person("Ada"), "@Bob look")
    curate.mark_deleted([stored])
    assert "Nothing is here for you" in bob.get("/p/acme/inbox").content.decode()


def test_the_api_reads_and_writes(stored, api, person) -> None:
    person("Bob")
    path = "/api/v1/runs/r1/effects/2/comments"
    made = api("POST", path, json.dumps({"text": "@Bob nightly check failed"}).encode())
    assert made.status_code == 201
    assert (made.json()["author"], made.json()["mentions"]) == ("test", ["Bob"])
    (found,) = api("GET", path).json()["results"]
    assert found == made.json()
    assert api("GET", "/api/v1/runs/r1").json()["comment_count"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 422), (b'{"text": 1}', 422), (b'{"text": " "}', 422),
     (b'{"text": "\\ud800"}', 422), (b'{"text": "a \\u0000"}', 422),
     (b'{"text": "\\u001b"}', 201)],
)  # fmt: skip
def test_the_api_names_what_it_cannot_take(stored, api, body, status) -> None:
    assert api("POST", "/api/v1/runs/r1/effects/2/comments", body).status_code == status
    assert api("POST", "/api/v1/runs/r1/effects/9/comments", b'{"text": "x"}').status_code == 404


def test_the_run_page_asks_no_more_for_comments_than_two_questions(
    stored, person, django_assert_max_num_queries
) -> None:
    ada = person("Ada")
    for n in range(5):
        say(ada, f"@Ada {n}")
    ada.get("/p/acme/runs/r1?at=2")
    with django_assert_max_num_queries(24):
        ada.get("/p/acme/runs/r1?at=2")


@given(st.text(max_size=80), st.lists(st.text(max_size=12), max_size=5))
def test_no_text_is_lost_in_pieces(text, names) -> None:
    assert "".join(piece.text for piece in pieces(text, names)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@Ann and @ann-marie", ["Ann", "Ann-Marie"]),
        ("@Annabel", []),
        ("x@Ann @@Ann", []),
        ("(@ANN)", ["Ann"]),
        ("@Ann's", ["Ann"]),
    ],
)
def test_the_longest_name_that_fits_is_meant(text, found) -> None:
    assert mentioned(text, ["Ann", "Ann-Marie"]) == found
