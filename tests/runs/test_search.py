"""Search finds what an effect said and was told, to the last character, alike on both databases."""

import json
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.db import connection, connections
from factories import completion, run, tool, user

from runs import busy
from runs.models import Effect, Run
from runs.search import indexing, sweeper
from runs.search.find import find, find_in_run, runs_with
from runs.search.models import SearchText
from runs.search.query import parse

TEXTS = {
    1: "The parcel was damaged in transit; order_8812 gets a refund of 12.50 EUR.",
    2: "Café naïve Straße, ÜBER and e\u0301clair",
    3: "東京都の天気は晴れです。サーバーが落ちた",
    4: "สวัสดีครับ ยินดีต้อนรับ",
    5: "مرحبا بالعالم والسلام عليكم",
    6: "Привет, мир! Ёлка стоит",
    7: "shipped 👍🏽 with 👩‍👩‍👧 🚀",
    8: "foo.bar calls f3a9-77be in /usr/lib/python3 at 10:45",
    9: "한국어로 검색하기",
    10: "हिन्दी में खोज",
    11: "transit in damaged order",
    12: "x² ＡＢＣ ﬁne \u202bשָׁלוֹם\u202c",
}
CASES = {
    "damaged": {1, 11},
    '"damaged in transit"': {1},
    "DAMAGED refund": {1},
    "dam*": {1, 11},
    '"damaged in tran"*': {1},
    "order_8812": {1},
    "8812": {1},
    "order_88*": {1},
    "12.50": {1},
    "12.5": set(),
    "cafe": {2},
    "CAFÉ strasse uber": {2},
    "éclair": {2},
    "京都": {3},
    "天気は晴れ": {3},
    "東京の天気": set(),
    "都": {3},
    "ｻｰﾊﾞｰ": {3},
    "ครับ": {4},
    "ยินดี": {4},
    "بالعالم": {5},
    "مرح*": {5},
    "елка": {6},
    "МИР": {6},
    "👍": {7},
    "🚀": {7},
    "foo.bar": {8},
    "bar.foo": set(),
    "f3a9-77be": {8},
    "f3a9*": {8},
    "/usr/lib": {8},
    "검색": {9},
    "खोज": {10},
    "हिन्द": set(),
    "x2 abc fine": {12},
    "שלום": {12},
    '"x NEAR(y"': set(),
    "damaged' | '@p1": set(),
    'words:"damaged"': set(),
    "AND OR NOT": set(),
}


@pytest.fixture
def send(api):
    """Send a run and have it indexed."""

    def send(run_id, *records, **fields):
        answer = api("POST", "/api/v1/runs", run(run_id, *records, **fields))
        assert answer.status_code == 201, answer.content
        indexing.index_pending()
        return Run.objects.get(external_id=run_id)

    return send


@pytest.fixture
def found(project):
    """The positions of effects that a query finds."""
    return lambda text: [hit.effect.seq for hit in find(project, parse(text), limit=200).hits]


def test_the_same_cases_on_either_database(send, found):
    send("r1", *(tool(n, result=text) for n, text in TEXTS.items()))
    assert {text: set(found(text)) for text in CASES} == CASES


def test_a_long_result_is_searched_to_its_end(send, found):
    lines = (f"line{n} status {n % 977} in 12.50 ms for customer {n % 5003}" for n in range(45_000))
    text = "\n".join(lines) + "\nthe very last word ultima"
    assert len(text) > 2_000_000
    send("r1", tool(1, result=text))
    assert found("ultima") == [1]
    assert found('line0 "very last word" line30000') == [1]
    assert found('"word last very"') == []
    assert found('"ms for customer 4975 the very"') == [1]


@pytest.mark.parametrize("border", [1936, 1937, 1970, 1999, 2000])
def test_a_phrase_across_a_border_is_found(send, found, border):
    text = " ".join([*["so"] * 40, *(f"w{n}" for n in range(40, 4500))])
    send("r1", tool(1, result=text))
    assert found(f'"{" ".join(f"w{n}" for n in range(border, border + 64))}"') == [1]


def test_words_of_two_effects_or_two_texts_are_not_one(send, found):
    send("r1", completion(1, "alpha beta", "gamma delta"), tool(2, result="epsilon"))
    assert found("alpha gamma") == [1]
    assert found('"beta gamma"') == []
    assert found("alpha epsilon") == []


def test_history_is_found_where_it_was_new(send, found):
    first = completion(1, "question about zebras", "an answer about stripes in general")
    again = completion(3, said="done")
    again["kind"]["request"]["chat_history"] = [
        user("question about zebras"),
        {"role": "assistant", "content": first["outcome"]["Ok"]["choice"]},
        user("tool says that zebras run away fast"),
        user("and giraffes?"),
    ]
    send("r1", first, tool(2, result="tool says that zebras run away fast"), again)
    assert found("zebras") == [2, 1]
    assert found("stripes") == [1]
    assert found("giraffes") == [3]


def test_an_effect_that_came_alone_repeats_nothing(send, found, api):
    send("r1", completion(1, "question about zebras", "an answer about stripes"))
    later = completion(2, said="done")
    later["kind"]["request"]["chat_history"].insert(0, user("question about zebras"))
    body = {"records": [later]}
    api("POST", "/api/v1/runs/r1/effects", json.dumps(body).encode())
    indexing.index_pending()
    assert found("zebras") == [1]
    assert found("done") == [2]


def test_escaped_json_inside_a_text_is_read(send, found):
    send("r1", tool(1, args='{"note":"caf\\u00e9\\nau lait"}', result='{"a":"tab\\there"}'))
    assert found('"cafe au"') == [1]
    assert found('"tab here"') == [1]


def test_a_failure_is_found_by_its_message(send, found):
    send("r1", completion(1, error="rate limit exceeded for org-77"))
    assert found("org-77") == [1]


def test_base64_is_not_indexed(send):
    send("r1", tool(1, result="before " + "QUJD" * 5000 + " after"))
    assert len(SearchText.objects.get(part=0).body) < 200


def test_a_deleted_run_leaves_no_text(send, found):
    gone = send("r1", tool(1, result="secret phrase"))
    send("r2", tool(1, result="other phrase"))
    gone.delete()
    assert found("secret") == []
    assert found("phrase") == [1]
    assert SearchText.objects.count() == 1


def test_redacted_text_is_what_is_indexed(send, found):
    send("r1", tool(1, result="key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD here"))
    assert found("abcdefghijklmnopqrstuvwxyz0123456789ABCD") == []
    assert found("here") == [1]


def test_another_project_finds_nothing(send, db):
    from runs.accounts.models import Project

    send("r1", tool(1, result="mine"))
    other = Project.objects.create(slug="other", name="Other")
    assert find(other, parse("mine")).hits == []


def test_pages_hold_together(send, project):
    send("r1", *(tool(n, result=f"common {n}") for n in range(1, 61)))
    seen, after = [], None
    while True:
        page = find(project, parse("common"), after=after, limit=25)
        seen += [hit.effect.seq for hit in page.hits]
        after = page.next
        if after is None:
            break
    assert seen == list(range(60, 0, -1))


def test_a_hit_is_shown_in_its_sentence(send, project):
    send("r1", tool(1, result="word " * 100 + "the Straße was closed " + "word " * 100))
    [hit] = find(project, parse('"the strasse"')).hits
    assert hit.excerpt.marked == ["the Straße"]
    assert len(str(hit.excerpt)) < 320


def test_find_in_a_run_is_in_its_order(send):
    mine = send("r1", *(tool(n, result=f"needle {n}") for n in range(1, 6)))
    send("r2", tool(1, result="needle"))
    hits = find_in_run(mine, parse("needle"), after=2, limit=2)
    assert [hit.effect.seq for hit in hits] == [3, 4]


def test_lag_is_told_until_it_is_caught_up(api, project):
    for name in ("r1", "r2"):
        api("POST", "/api/v1/runs", run(name, tool(1)))
    assert indexing.lag(project).runs == 2
    assert indexing.index_pending() == 2
    assert indexing.lag(project).runs == 0


def test_a_number_that_was_passed_is_looked_for_again(send, found):
    from runs.search.models import SearchState

    send("r1", tool(1, result="early"))
    key = Effect.objects.get().pk
    SearchText.objects.all().delete()
    SearchState.objects.update(gaps=[[key, key, 4e9]])
    indexing.index_pending()
    assert found("early") == [1]
    assert SearchState.objects.get().gaps == []


def test_the_index_is_made_anew(send, found):
    send("r1", tool(1, result="needle"))
    SearchText.objects.all().delete()
    assert found("needle") == []
    call_command("rebuild_search")
    call_command("rebuild_search")
    assert found("needle") == [1]


def test_only_one_indexes_at_a_time(api, project):
    from runs.search.models import SearchState

    api("POST", "/api/v1/runs", run("r1", tool(1)))
    SearchState.objects.create(pk=1, lease_until=4e9)
    assert indexing.index_pending() == 0


# --- The API and the pages ----------------------------------------------------------------------


def test_the_api_gives_hits_with_their_place(send, api):
    send(
        "r1",
        tool(1, name="order_lookup", result="The parcel was damaged in transit."),
        agent="desk",
    )
    answer = api("GET", "/api/v1/search?q=%22damaged+in%22").json()
    [hit] = answer["results"]
    assert hit["run"]["id"] == "r1" and hit["run"]["agent"] == "desk"
    assert (hit["seq"], hit["family"], hit["name"]) == (1, "tool", "order_lookup")
    assert hit["excerpt"] == "The parcel was damaged in transit."
    assert hit["marked"] == ["damaged in"]
    assert hit["url"] == "/p/acme/runs/r1?at=1&q=%22damaged+in%22"
    assert (answer["next"], answer["waiting"]) == (None, {"runs": 0, "more": False})


@pytest.mark.parametrize("q", ["", '"open', "%00", "---", "x" * 10_000, "a*"])
def test_the_api_refuses_what_it_does_not_understand(api, q):
    answer = api("GET", f"/api/v1/search?q={q}")
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "q"


@pytest.mark.parametrize("cursor", ["x", "-1", "9" * 30])
def test_a_cursor_that_is_none_of_ours_is_refused(api, cursor):
    assert api("GET", f"/api/v1/search?q=ab&cursor={cursor}").status_code == 422


def test_the_api_says_what_is_not_searched_yet(api):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert api("GET", "/api/v1/search?q=ab").json()["waiting"] == {"runs": 1, "more": False}


def test_the_page_marks_hits_and_leads_to_them(send, member_client):
    send("r1", tool(1, result="The <b>parcel</b> was damaged"))
    page = member_client.get("/p/acme/search?q=PARCEL").content.decode()
    assert "The &lt;b&gt;<mark>parcel</mark>&lt;/b&gt; was damaged" in page
    assert 'href="/p/acme/runs/r1?at=1&amp;q=PARCEL"' in page
    assert "Not searched:" in page
    assert member_client.get("/p/acme/runs/r1?at=1&q=PARCEL").status_code == 200


@pytest.mark.parametrize("q", ['"open', "%00", "---", "x" * 10_000, "a*", "%ed%a0%80", "nothing"])
def test_the_page_answers_any_query(member_client, q):
    assert member_client.get(f"/p/acme/search?q={q}&after=zzz").status_code == 200


def test_the_page_says_that_it_lags(api, member_client):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert "1 run is not searched yet" in member_client.get("/p/acme/search").content.decode()


def test_the_page_takes_few_queries(send, member_client, django_assert_max_num_queries):
    for name in range(30):
        send(f"r{name}", tool(1, result="needle"), tool(2, result="needle again"))
    with django_assert_max_num_queries(16):
        page = member_client.get("/p/acme/search?q=needle").content.decode()
    assert page.count("<mark>") == 25
    assert "Older" in page


def test_find_in_run_gives_positions(send, member_client):
    send("r1", *(tool(n, result="needle" if n % 2 else "hay") for n in range(1, 6)))
    answer = member_client.get("/p/acme/runs/r1/find?q=needle&after=1").json()
    assert [hit["seq"] for hit in answer["hits"]] == [3, 5]
    assert (answer["next"], answer["waiting"]) == (None, False)
    assert member_client.get("/p/acme/runs/r1/find?q=%22").status_code == 422


def test_the_list_of_runs_is_filtered_by_what_was_said(send, api, member_client):
    send("r1", tool(1, result="needle in hay"), agent="a")
    send("r2", tool(1, result="needle"), agent="b")
    send("r3", tool(1, result="hay"), agent="b")
    ids = lambda path: [one["id"] for one in api("GET", path).json()["results"]]  # noqa: E731
    assert ids("/api/v1/runs?q=needle") == ["r2", "r1"]
    assert ids("/api/v1/runs?q=needle&agent=a&sort=started") == ["r1"]
    assert ids("/api/v1/runs?q=%22hay+needle%22") == []
    assert api("GET", "/api/v1/runs?q=%22").json()["error"]["field"] == "q"
    assert "/runs/r3" not in member_client.get("/p/acme/runs?q=needle").content.decode()


@pytest.mark.parametrize("q", ['"needle in"', "need*", "hay need*", '"needle in ha"*'])
def test_the_list_is_gone_along_where_many_have_it(send, api, monkeypatch, q):
    monkeypatch.setattr("runs.search.find.MANY_HITS", 1)
    for name in ("r1", "r2", "r3"):
        send(name, tool(1, result="needle in hay" if name != "r2" else "hay unneedled"))
    runs = api("GET", f"/api/v1/runs?{urlencode({'q': q})}").json()["results"]
    assert [one["id"] for one in runs] == ["r3", "r1"]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", ["r11", "r9", "r7", "r5", "r3", "r1"]),
        ("&agent=late", ["r11", "r9", "r7"]),
        ("&sort=started", ["r1", "r3", "r5", "r7", "r9", "r11"]),
    ],
)
def test_a_frequent_phrase_gives_its_runs_page_by_page(send, api, more, wanted):
    """Where nothing else is asked the list is gone along, else its runs are told by their keys."""
    for number in range(1, 13):
        said = "needle in hay" if number % 2 else "hay in needle"
        send(f"r{number}", tool(1, result=said), agent="late" if number > 6 else "early")
    path = f"/api/v1/runs?q=%22needle+in%22&limit=2{more}"
    page = api("GET", path).json()
    found = page["results"]
    while page["next"]:
        page = api("GET", f"{path}&cursor={page['next']}").json()
        found += page["results"]
    assert [one["id"] for one in found] == wanted


def test_a_frequent_phrase_is_not_counted_to_its_last_text(send, project):
    for number in range(8):
        send(f"r{number}", tool(1, result="needle in hay"))
    assert runs_with(project, parse('"needle in"'), newest=True).is_guessed
    assert not runs_with(project, parse('"needle in"')).is_guessed
    assert not runs_with(project, parse('"in needle"'), newest=True).is_guessed


@pytest.fixture
def home(monkeypatch, settings, tmp_path):
    """Nothing came in yet, as far as this home's processes know."""
    settings.REWYN_HOME = tmp_path
    monkeypatch.setattr(busy, "_last", float("-inf"))
    monkeypatch.setattr(busy, "_began", float("-inf"))
    monkeypatch.setattr(busy, "WITHIN", 60)


def test_the_index_rests_longer_while_many_runs_come_in(api, home, monkeypatch):
    quiet = sweeper._rest()
    for number in range(5):
        api("POST", "/api/v1/runs", run(f"busy-{number}", completion(1)))
    monkeypatch.setattr(busy, "_last", float("-inf"))  # as in another process
    assert sweeper._rest() > quiet
    monkeypatch.setattr(busy, "SECONDS", 0)
    assert sweeper._rest() == quiet


def test_the_index_keeps_up_with_a_run_now_and_then(api, home):
    quiet = sweeper._rest()
    api("POST", "/api/v1/runs", run("one", completion(1)))
    assert sweeper._rest() == quiet


def test_a_home_that_takes_no_note_refuses_no_run(api, monkeypatch, settings, tmp_path):
    settings.REWYN_HOME = tmp_path / "gone"
    monkeypatch.setattr(busy, "MANY", 1)
    monkeypatch.setattr(busy, "_last", float("-inf"))
    assert api("POST", "/api/v1/runs", run("kept", completion(1))).status_code == 201
    monkeypatch.setattr(busy, "_last", float("-inf"))
    assert busy.is_busy() is False


def test_the_thread_leaves_no_connection_behind_when_it_ends(transactional_db, monkeypatch) -> None:
    opened = []

    def last_batch() -> int:
        connection.ensure_connection()
        opened.append(connections["default"])
        sweeper._stop.set()
        return 1

    monkeypatch.setattr(sweeper, "_index_some", last_batch)
    sweeper.start()
    sweeper.stop()
    assert [one.connection for one in opened] == [None]
