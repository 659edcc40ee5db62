"""How what was said is drawn: tables, code, Markdown on demand, big texts; nothing of it runs."""

import html
import json
import re
import time
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from runs import ingest
from runs.messages import exact, markup
from runs.messages.pieces import pieces
from runs.messages.tables import table

SAID = "/outcome/Ok/choice/0/text"


@pytest.fixture
def shown(member_client, project):
    """shown(text) -> the page of a model call that answered it, and its address."""

    def show(text: str, tabs: str = "", raw: bool = False) -> str:
        part = {"type": "text", "text": text}
        ask = {"chat_history": [{"role": "user", "content": "ask"}]}
        kind = {"effect": "completion", "request": ask, "stream": False}
        ok = {"outcome": "completion", "choice": [part], "usage": None, "finish_reason": "stop"}
        record = {"id": 1, "key": "a/model#0", "kind": kind, "outcome": {"Ok": ok}}
        header = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
        body = json.dumps({"header": header, "records": [record]})
        ingest.accept_log(project, body.encode(), run_id="run")
        page = member_client.get(f"/p/acme/runs/run?at=1{tabs}", headers={"HX-Request": "true"})
        assert page.status_code == 200
        return page.text

    return show


def texts_of(page: str) -> str:
    """What a person reads of the answer, tags taken out."""
    answer = page.partition('id="answer-heading"')[2]
    return html.unescape(re.sub(r"<[^>]*>", "", answer))


# --- Tables ------------------------------------------------------------------------------------


def test_rows_are_a_table_exact_to_the_digit(shown) -> None:
    page = shown('[{"id":18446744073709551617,"p":1.50},{"id":2,"p":null}]')
    assert "<th>id</th><th>p</th>" in page
    assert '<td class="num">18446744073709551617</td><td class="num">1.50</td>' in page
    assert '<td class="num">2</td><td class="muted">null</td>' in page
    assert "2 rows" in page
    assert "<summary>JSON</summary>" in page


def test_rows_of_a_database_are_a_table_too(member_client, project, shared) -> None:
    """Effect 2 of the real log answers lists: region and sum."""
    log = (shared / "data/rig/sql-analyst-responses.effects.json").read_bytes()
    ingest.accept_log(project, log, run_id="sql")
    page = member_client.get("/p/acme/runs/sql?at=2", headers={"HX-Request": "true"}).text
    assert "<th>1</th><th>2</th>" in page
    assert '<td dir="auto">DACH</td><td class="num">1204881.1</td>' in page


def test_a_huge_table_is_bounded_and_says_its_true_size(shown) -> None:
    rows = [{f"c{j}": i for j in range(40)} for i in range(20_000)]
    page = shown(json.dumps({"total": 20_000, "rows": rows})[:900_000].rpartition("}, ")[0] + "}]}")
    assert "rows, the first 100 shown; 40 columns, the first 12 shown" in page
    assert page.count("<tr>") == 101
    assert "Total <b>20000</b>" in page
    assert len(page) < 120_000


@pytest.mark.parametrize(
    "value",
    [[], [{}], [{"a": 1}], [1, 2], [{"a": [1]}, {"a": [2]}], {"a": [1, 2]}, "text", None,
     [{"a": 1}, {"b": 2}, {"c": 3}], [[1], [2]], [[1, 2], [3]], [[1, [2]], [3, [4]]],
     {"a": [{"b": 1}, {"b": 2}], "c": {"d": 1}}],
)  # fmt: skip
def test_what_is_no_rows_is_no_table(value: object) -> None:
    assert table(value) is None


def test_a_table_of_strangers_texts_is_only_text(shown) -> None:
    page = shown('[{"<img src=x onerror=a>":"<script>b</script>"},{"<img src=x onerror=a>":"c"}]')
    assert "&lt;img src=x onerror=a&gt;</th>" in page
    assert "<script>b" not in page


# --- Code --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["plain", "a\n```python\nx = 1\n```\nb", "```\nno end", "~~~sql\nselect 1\n~~~", "```a```",
     "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "```py\n```\n```js\n```"],
)  # fmt: skip
def test_a_text_in_pieces_is_still_the_text(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text


def test_a_fenced_block_and_a_diff_are_coloured_by_classes(shown) -> None:
    page = shown(
        "Run:\n```python\ndef f():\n    return 'a'\n```\nthen\n```\n@@ -1 +1 @@\n-a\n+b\n```"
    )
    assert '<span class="k-key">def' in page
    assert '<span class="k-add">+b' in page
    assert " style=" not in page
    assert "```python" in texts_of(page)


def test_code_in_arguments_is_shown_as_lines(shown) -> None:
    page = shown(json.dumps({"code": "import os\nprint(os.name)", "note": "one line"}))
    assert "code, as lines" in page
    assert "note, as lines" not in page
    assert '<span class="k-key">import' in page


def test_tags_and_white_space_of_a_prompt_stay_visible(shown) -> None:
    page = shown("<rules>\n\tbe  brief\n</rules>\n")
    assert '<span class="k-tag">&lt;rules&gt;</span>\n\tbe  brief\n' in page


SLOW = ["(\"'", "<", "\\", "[[", "<!--", "@@", "-", "a: "]


@pytest.mark.parametrize("language", ["cpp", "diff", "python", "xml", "yaml", "nonsense"])
def test_no_code_takes_long_to_colour_and_none_of_it_is_lost(language: str) -> None:
    start = time.process_time()
    for text in [mark * 20_000 for mark in SLOW] + [(mark * 90 + "\n") * 20 for mark in SLOW]:
        assert html.unescape(re.sub("<[^>]*>", "", markup.code(text, language))) == text
    assert time.process_time() - start < 10


def test_colouring_a_page_is_bounded(shown) -> None:
    fence = "```python\n" + "x = f(1) + 'a'\n" * 300 + "```\n"
    page = shown(json.dumps({str(n): fence for n in range(6)}))
    assert 100 < page.count('class="k-') < 5_000


# --- Markdown ----------------------------------------------------------------------------------

MARKDOWN = "# Title\n\nSome **bold** and [a link](https://example.com/x)."


def test_markdown_is_off_until_the_address_asks_for_it(shown) -> None:
    page = shown(MARKDOWN)
    assert "# Title" in page
    assert "<strong>" not in page
    assert f"md={quote(SAID, safe='')}" in page


def test_markdown_on_demand_shows_where_links_lead(shown) -> None:
    page = shown(MARKDOWN, f"&md={quote(SAID)}")
    assert "<h1>Title</h1>" in page
    assert '<span class="k-target">https://example.com/x</span>' in page
    assert 'rel="noopener noreferrer nofollow"' in page
    assert "as text, as it came" in page


HOSTILE = [
    "**x** <script>alert(1)</script>",
    "**x** <img src=x onerror=alert(1)>",
    "**x** <iframe srcdoc='<script>1</script>'></iframe>",
    "**x** ![pixel](https://evil.example/p.png)",
    "**x** [a](javascript:alert(1)) [b](JAVASCRIPT&colon;alert(1)) [c](java\nscript:alert(1))",
    "**x** [a](data:text/html;base64,PHNjcmlwdD4=) ![b](data:image/svg+xml,<svg onload=a>)",
    "**x** [a](vbscript:x) [b](file:///etc/passwd) [c](//evil.example) [d](/accounts/logout)",
    "**x** <svg/onload=alert(1)> <style>*{display:none}</style> <base href=//evil.example>",
    "**x** <form action=/p/acme/runs method=post><button formaction=javascript:1>",
    "**x** <a href='https://e.example' onclick=a hx-get=/p style=position:fixed>y</a>",
    '```html"><script>alert(1)</script>\nx\n```\n**x**',
    '**x** <https://e.example/"onmouseover=alert(1)> [a](<javascript:alert(1)>)',
    "**x** [q]: javascript:alert(1)\n\n[q]\n\n[z][q]",
    "**x** \u202e\u2066 &#106;avascript:alert(1) &lt;script&gt;",
]


class Elements(HTMLParser):
    """Every element with its attributes, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_markdown_runs_loads_or_frames(text: str) -> None:
    link = {"href", "rel", "target", "hx-boost"}
    for tag, attributes in Elements(markup.markdown(text)).found:
        assert tag in markup.TAGS
        assert attributes.keys() <= {"a": link, "span": {"class"}, "ol": {"start"}}.get(tag, set())
        assert (attributes.get("href") or "https://").startswith(("https://", "mailto:"))


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_plain_text_runs_either(shown, text: str) -> None:
    answer = shown(text).partition('id="answer-heading"')[2]
    body = answer.partition('<div class="spoken"')[2].partition('<a class="more-link')[0]
    assert {tag for tag, _ in Elements(body).found} <= {"div", "span", "code"}
    assert {key for _, attributes in Elements(body).found for key in attributes} <= {"class", "dir"}


BOMBS = [
    "> " * 20_000 + "**x**", "[" * 20_000 + "**x**", "*a_" * 10_000, "`" * 20_000,
    "- " * 10_000 + "**x**", "| a " * 10_000 + "|\n" + "|-" * 10_000 + "|", "<a " * 10_000,
    "![[]()" * 8_000, "***" * 10_000 + "a", "\\" * 20_000, "&" * 20_000, "<!--" * 8_000,
    "[a](" * 8_000, "# " * 10_000, "a\n```\n" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_a_bomb_of_markup_goes_off_quietly(shown, text: str) -> None:
    start = time.process_time()
    page = shown(text, f"&md={quote(SAID)}")
    assert time.process_time() - start < 4
    assert len(page) < 1_500_000


# --- Big texts ---------------------------------------------------------------------------------


def test_a_big_text_is_folded_and_says_how_big_it_is(shown) -> None:
    text = "\n".join(f"line {n}" for n in range(1, 1201))
    page = shown(text)
    assert f"of {len(text):,}, 1,200 lines</summary>" in page
    assert "line 1200" in texts_of(page)


def test_a_text_past_the_bound_leads_to_the_whole(shown, member_client) -> None:
    page = shown("x" * 50_000 + " end")
    assert "only the start of 50,004 characters" in page
    whole = f"/p/acme/runs/run/effects/1/value?of=record&at={quote(SAID)}"
    assert member_client.get(whole).text.endswith("x end")


def test_json_in_a_text_is_opened_one_level_and_marked(shown) -> None:
    page = shown('{"inner": "{\\"deep\\": 1e2}", "n": 1e2}')
    assert "JSON in a text, opened" in page
    assert '"inner": "{\\"deep\\": 1e2}"' in html.unescape(page)


def test_pretty_json_of_a_table_keeps_digits() -> None:
    cells = table(exact.loads('[{"a":1e2,"b":-0},{"a":1.0,"b":0}]')).rows
    assert [cell.text for row in cells for cell in row] == ["1e2", "-0", "1.0", "0"]
