"""Spans as exporters write them (OTLP/JSON), and what they tell of searches and embeddings."""

import html
import json
import re
from typing import Any

import pytest
from factories import completion, record, run
from real_spans import SHARED, attributes, spans

from runs.messages import request_view, wire_answer, wire_request
from runs.messages.knew import knew
from runs.messages.loose import at
from runs.messages.parts import Data, Document, Text
from runs.messages.summary import summarise
from runs.search.texts import Conversation

OTLP = SHARED / "data" / "otlp"
CASES = [
    "langsmith-otel/image", "mlflow/parallel_tools", "openinference-anthropic/multi_turn",
    "openinference-llamaindex/retrieval", "openinference-openai/resp_reason",
    "openllmetry-openai-old/parallel_tools", "pydantic-ai/tool_error", "vercel-ai-v6/embed",
    "vercel-ai-v6/stream_tools",
]  # fmt: skip
QUERY = "According to the handbook, how many vacation days do I get?"
EXPIRE = "Unused vacation days expire on 31 March of the next year."
RECEIPT = "Expenses over 50 CHF need a receipt and the approval of the team lead."


def sent_with(case: str, named: str) -> dict[str, Any]:
    """The first span of that name, as it was sent."""
    return next(span for span in spans(OTLP / case) if span["name"] == named)


def texts_of(span: dict[str, Any]) -> list[Any]:
    """The texts that are shown as they were recorded."""
    turns, answer = wire_request(span, "").messages, wire_answer(span, "")
    said = (*turns, *answer.documents)
    parts = [*answer.parts, *(part for one in said for part in one.parts)]
    return [part for part in parts if isinstance(part, Text) and not part.label]


@pytest.mark.parametrize("case", CASES)
def test_the_exporter_s_own_spelling_reads_as_the_flat_one(case: str) -> None:
    flat = attributes(OTLP / case)
    for span in spans(OTLP / case):
        for body in (span, span.get("attributes", [])):
            assert (
                wire_request(body, "").messages == wire_request(flat[span["spanId"]], "").messages
            )
        if not any(part.kind == "data" for part in wire_answer(flat[span["spanId"]], "").parts):
            assert wire_answer(span, "") == wire_answer(flat[span["spanId"]], "")


@pytest.mark.parametrize("case", CASES)
def test_a_pointer_leads_to_what_is_shown(case: str) -> None:
    for span in spans(OTLP / case):
        for part in texts_of(span):
            assert at(span, part.pointer) in (part.text, json.dumps(part.text))


def test_a_list_that_is_no_exporter_s_is_left_as_it_is() -> None:
    for odd in ([{"key": "input.value"}], [{"key": "input.value", "value": {"text": "x"}}], [1]):
        [part] = wire_answer(odd, "").parts
        assert (part.unknown, part.value) == (True, odd)


def test_whole_numbers_keep_their_digits_and_deep_values_end_somewhere() -> None:
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(20_000):
        deep = {"arrayValue": {"values": [deep]}}
    span = [
        {"key": "gen_ai.prompt.0.content", "value": {"stringValue": "q"}},
        {"key": "gen_ai.prompt.0.odd", "value": {"intValue": "9007199254740993"}},
        {"key": "gen_ai.prompt.0.deep", "value": deep},
        {"key": "gen_ai.prompt.0.empty", "value": {}},
    ]
    [turn] = wire_request(span, "/x").messages
    assert [part.text for part in turn.parts if isinstance(part, Text)] == ["q"]
    [odd, _] = [part for part in turn.parts if isinstance(part, Data)]
    assert (odd.value, at({"x": span}, odd.pointer)) == (9007199254740993, 9007199254740993)


# --- Searches, rerankers, embeddings -----------------------------------------------------------


def test_a_real_search_reads_as_documents_with_scores() -> None:
    span = sent_with("openinference-llamaindex/retrieval", "VectorIndexRetriever.retrieve")
    [asked] = wire_request(span, "").parts
    assert (asked.label, asked.text) == ("Query", QUERY)
    first, second = wire_answer(span, "").documents
    assert (first.id, first.score) == ("doc-3", "0.5276448530110863")
    assert (second.id, second.score) == ("doc-1", "0.4642070825485276")
    assert [part.text for part in (*first.parts, *second.parts)] == [EXPIRE, RECEIPT]
    assert [(fact.label, fact.value) for fact in first.facts] == [
        ("Source", "handbook.md"), ("Page", "8"),
    ]  # fmt: skip


def test_a_search_without_scores_has_none() -> None:
    span = sent_with("openinference-langchain/retrieval", "VectorStoreRetriever")
    found = wire_answer(span, "").documents
    assert [(one.score, one.parts[0].text) for one in found] == [("", EXPIRE), ("", RECEIPT)]


@pytest.mark.parametrize(
    ("case", "name", "given"),
    [
        ("openinference-openai/retrieval", "CreateEmbeddings", RECEIPT),
        ("vercel-ai-v6/embed", "ai.embedMany.doEmbed", "vacation days"),
    ],
)
def test_a_real_embedding_reads_as_its_texts_and_the_length_of_its_vectors(
    case: str, name: str, given: str
) -> None:
    span = sent_with(case, name)
    request, found = wire_request(span, ""), wire_answer(span, "").documents
    assert (request.family, request.parts[0].label, request.parts[0].text) == (
        "embed", "Input 1", given,
    )  # fmt: skip
    assert len(found) == len(request.parts)
    assert [part.label or part.text for part in found[0].parts] == [given, "Vector of 64 numbers"]


def reranked() -> dict[str, Any]:
    """In the attributes of OpenInference's convention for rerankers."""
    start = "reranker.{}_documents.{}.document.{}"
    return {
        "openinference.span.kind": "RERANKER",
        "reranker.query": QUERY,
        "reranker.model_name": "rerank-v3",
        "reranker.top_k": 1,
        start.format("input", 0, "content"): RECEIPT,
        start.format("input", 1, "content"): EXPIRE,
        start.format("input", 1, "id"): 7,
        start.format("output", 0, "content"): EXPIRE,
        start.format("output", 0, "id"): 7,
        start.format("output", 0, "score"): 0.98,
    }


def test_a_reranker_shows_what_it_was_given_and_what_it_put_first() -> None:
    request, answer = wire_request(reranked(), ""), wire_answer(reranked(), "")
    assert request.parts[0].text == QUERY
    assert [one.id for one in request.documents] == ["", "7"]
    assert {(f.label, f.value) for f in request.facts} >= {("Model", "rerank-v3"), ("Top k", "1")}
    [best] = answer.documents
    assert (best.id, best.score, best.parts[0].text) == ("7", "0.98", EXPIRE)


def test_opentelemetry_s_own_documents_have_ids_and_scores() -> None:
    found = [{"id": "doc_123", "score": 0.95}, {"id": "doc_456", "score": 0.87}]
    for told in (found, json.dumps(found)):
        span = {"gen_ai.retrieval.query.text": "q", "gen_ai.retrieval.documents": told}
        assert wire_request(span, "").parts == (Text("q", "", "Query"),)
        rows = wire_answer(span, "").documents
        assert [(one.id, one.score) for one in rows] == [("doc_123", "0.95"), ("doc_456", "0.87")]


def test_nothing_of_an_odd_document_is_lost() -> None:
    start = "retrieval.documents."
    span = {
        f"{start}1.document.content": "b", f"{start}1.document.metadata": "{'a': 1}",
        f"{start}1.document.rank": 3, f"{start}x": "odd",
    }  # fmt: skip
    gap, found, left = wire_answer(span, "").documents
    assert gap.parts[0].label.startswith("1 document that stood here")
    text, *odd = found.parts
    assert (text.text, *(part.value for part in odd)) == ("b", "{'a': 1}", 3)
    assert left.parts[0].value == "odd"


def test_a_model_s_turn_keeps_the_documents_beside_it() -> None:
    span = {
        "llm.output_messages.0.message.content": "25 days",
        "retrieval.documents.0.document.content": EXPIRE,
    }
    answer = wire_answer(span, "")
    assert answer.parts[0].text == "25 days"
    assert answer.documents == (Document("", (Text(EXPIRE, ""),), ""),)


# --- Records and pages -------------------------------------------------------------------------


def searched(effect_id: int) -> dict[str, Any]:
    span = sent_with("openinference-llamaindex/retrieval", "VectorIndexRetriever.retrieve")
    kept = {"attributes": span["attributes"]}
    return record(effect_id, "kb/search", {"effect": "retrieve", "query": kept}, {"Ok": kept})


def answered(effect_id: int) -> dict[str, Any]:
    span = sent_with("openinference-llamaindex/retrieval", "OpenAI.chat")
    kept = {"attributes": span["attributes"]}
    return record(effect_id, "kb/model", {"effect": "completion", "request": kept}, {"Ok": kept})


def test_a_search_feeds_what_the_agent_knew() -> None:
    [source] = knew(request_view(answered(2)), [(1, searched(1), True)])
    assert source.what == f"“{QUERY}”"
    assert source.said == "2 documents, all in this request"
    assert [(hit.id, hit.score, hit.given) for hit in source.hits] == [
        ("doc-3", "0.5276448530110863", True), ("doc-1", "0.4642070825485276", True),
    ]  # fmt: skip


def test_a_line_says_what_a_span_did() -> None:
    assert summarise(searched(1)) == f"“{QUERY}” → 2 documents"
    inner = sent_with("openinference-llamaindex/retrieval", "VectorIndexRetriever._retrieve")
    kind = {"effect": "retrieve", "query": inner}
    assert summarise(record(5, "kb", kind, {"Ok": inner})).startswith("query_bundle {query_str,")
    assert summarise(answered(2)).startswith("You get 25 vacation days per year")
    embedded = sent_with("vercel-ai-v6/embed", "ai.embedMany.doEmbed")["attributes"]
    kind = {"effect": "embed", "inputs": embedded}
    assert (
        summarise(record(3, "e", kind, {"Ok": embedded}))
        == "“vacation days heat pumps” → 2 vectors"
    )
    chat = sent_with("pydantic-ai/plain", "chat gpt-4o")
    kind = {"effect": "custom", "kind": "span", "payload": chat}
    line = summarise(record(4, "c", kind, {"Ok": {"outcome": "custom", "payload": chat}}))
    assert line == "Canberra is the capital of Australia — not Sydney. 🇦🇺"


@pytest.mark.parametrize("whole", [True, False])
def test_the_words_of_a_span_are_searched_and_not_its_spelling(whole: bool) -> None:
    said = Conversation()
    texts = [
        said.text_of(json.dumps(record(index, "m", kind, {"Ok": span})).encode())
        for index, sent in enumerate(spans(OTLP / "openinference-openai/parallel_tools"))
        for span in [{"attributes": sent["attributes"]} if whole else sent["attributes"]]
        for kind in [{"effect": "completion", "request": span}]
    ]
    assert "Compare the weather in Zürich and Kyoto" in texts[0]
    assert "stringValue" not in "".join(texts[:2])


def test_the_pages_show_found_documents_and_what_the_agent_knew(api, member_client) -> None:
    api("POST", "/api/v1/runs", run("r1", completion(1), searched(2), answered(3)))
    page = member_client.get("/p/acme/runs/r1?at=2").text
    assert "2 found" in page
    assert page.count("score 0.5276448530110863") == 1
    assert EXPIRE in page
    assert "stringValue" not in re.sub(r"<[^>]*>", "", page)
    page = member_client.get("/p/acme/runs/r1?at=3").text
    assert "2 documents, all in this request" in page


def test_the_whole_of_an_attribute_is_read_where_it_was_shown_short(api, member_client) -> None:
    long = "word " * 20_000
    span = {
        "attributes": [
            {"key": "llm.input_messages.0.message.content", "value": {"stringValue": long}}
        ]
    }
    kind = {"effect": "completion", "request": span}
    api("POST", "/api/v1/runs", run("r1", record(1, "m", kind, {"Ok": span})))
    page = member_client.get("/p/acme/runs/r1?at=1").text
    [address, *_] = re.findall(r'href="([^"]*value[^"]*)"', page)
    assert member_client.get(html.unescape(address)).text == long
