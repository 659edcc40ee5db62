"""Rig's effect records, every family and shape, as request and answer to show (spec §2 and §9)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runs.messages import exact
from runs.messages.dialects import foreign_turns, wire_answer, wire_request
from runs.messages.facts import facts_of, name_of, rest, say, usage_facts
from runs.messages.loose import items, obj, pick, text
from runs.messages.parts import (
    Answer,
    Data,
    Document,
    Fact,
    Failure,
    Media,
    Message,
    Part,
    Request,
    Text,
)
from runs.messages.rig_parts import messages, parts, tools, unknown, vector
from runs.messages.spans import span_in

KIND = "/kind"
_ASKED_IN = ("request", "query", "inputs")
"""Members of a request that hold all of what was asked."""
OK = "/outcome/Ok"
_COMPLETION_KNOWN = {
    "model", "chat_history", "messages", "system", "documents", "tools", "temperature",
    "max_tokens", "tool_choice", "options",
}  # fmt: skip


def request(record: dict[str, Any]) -> Request:
    """What the effect asked; an unknown effect is shown as the JSON it is."""
    kind = obj(record.get("kind"))
    effect = text(kind.get("effect"))
    for name in _ASKED_IN:  # a log made of spans
        if span_in(kind.get(name)) is not None:
            return wire_request(kind[name], f"{KIND}/{name}")
    read = _REQUESTS.get(effect)
    if read is None:
        return Request(effect or "unknown", parts=unknown(record.get("kind"), KIND))
    return read(kind)


def is_of_span(record: dict[str, Any]) -> bool:
    """Whether a span's attributes stand where the record's own request or answer would."""
    kind, came = obj(record.get("kind")), pick(record, "outcome", "Ok")
    if isinstance(came, dict) and "outcome" in came:  # Rig's own, which may carry one
        return span_in(came.get("payload")) is not None
    held = (came, *(kind.get(name) for name in (*_ASKED_IN, "payload")))
    return any(span_in(one) is not None for one in held)


def answer(record: dict[str, Any]) -> Answer:
    """What the effect came back with, or why it did not; empty while it is open."""
    outcome = obj(record.get("outcome"))
    if "Err" in outcome:
        return Answer(failure=failure(outcome["Err"], "/outcome/Err"))
    if "Ok" not in outcome:
        return Answer()
    if span_in(outcome["Ok"]) is not None:
        return wire_answer(outcome["Ok"], OK)
    came = obj(outcome["Ok"])
    read = _ANSWERS.get(text(came.get("outcome")))
    return read(came) if read else Answer(parts=unknown(outcome["Ok"], OK))


def failure(value: object, pointer: str) -> Failure:
    """An ErrorReport (§2.4), or whatever stands in its place."""
    report = obj(value)
    if "message" not in report:
        return Failure("error", exact.compact(value), pointer=pointer)
    provider = obj(report.get("provider_response"))
    return Failure(
        text(report.get("kind")) or _tool_kind(report),
        text(report.get("message")),
        _report_facts(report, provider),
        tuple(map(text, items(report.get("source_chain")))),
        text(provider.get("body")),
        pointer,
    )


# --- Requests ----------------------------------------------------------------------------------


def _completion(kind: dict[str, Any]) -> Request:
    asked, base = obj(kind.get("request")), f"{KIND}/request"
    turns = _turns(asked.get("chat_history"), f"{base}/chat_history")
    turns += _turns(asked.get("messages"), f"{base}/messages")
    system = asked.get("system")
    if system not in (None, []):  # a later F1 keeps it apart from the conversation
        turns = (*messages([{"role": "system", "content": system}], f"{base}/system"), *turns)
    scalars = {k: v for k, v in asked.items() if k in ("model", "temperature", "max_tokens")}
    return Request(
        "completion",
        messages=turns,
        tools=tools(asked.get("tools"), f"{base}/tools"),
        documents=_given_documents(asked.get("documents"), f"{base}/documents"),
        facts=(*facts_of(scalars), *_choice_facts(asked), *_stream_fact(kind)),
        parts=(*rest(asked, _COMPLETION_KNOWN, base), *_option_parts(asked, base)),
        defaults=_defaults(asked),
    )


def _defaults(asked: dict[str, Any]) -> tuple[str, ...]:
    """What the record has as null; what it does not name at all, nobody knows of."""
    members = {**asked, **obj(asked.get("options"))}
    return tuple(
        name_of(key) for key, value in members.items() if value is None and key != "options"
    )


def _turns(value: object, pointer: str) -> tuple[Message, ...]:
    """Rig's messages; a log that was made of another client's may hold that one's."""
    return foreign_turns(items(value), pointer) or messages(value, pointer)


def _choice_facts(asked: dict[str, Any]) -> tuple[Fact, ...]:
    choice, options = asked.get("tool_choice"), obj(asked.get("options"))
    named = items(pick(choice, "specific", "function_names"))
    said = ", ".join(map(say, named)) if named else say(choice)
    chosen = (Fact("Tool choice", said),) if choice is not None else ()
    return (*chosen, *(Fact(name_of(k), say(v)) for k, v in options.items() if v is not None))


def _option_parts(asked: dict[str, Any], base: str) -> tuple[Data, ...]:
    options = asked.get("options")
    odd = options is not None and not isinstance(options, dict)
    return (Data(options, f"{base}/options", "Options", unknown=True),) if odd else ()


def _stream_fact(kind: dict[str, Any]) -> tuple[Fact, ...]:
    stream = kind.get("stream")
    return (Fact("Stream", "yes" if stream else "no"),) if isinstance(stream, bool) else ()


def _given_documents(value: object, pointer: str) -> tuple[Document, ...]:
    return tuple(_given(one, f"{pointer}/{index}") for index, one in enumerate(items(value)))


def _given(value: object, pointer: str) -> Document:
    document = obj(value)
    body = document.get("text")
    shown = (Text(body, f"{pointer}/text"),) if isinstance(body, str) else unknown(value, pointer)
    facts = facts_of(document, {"id", "text"}) if isinstance(body, str) else ()
    return Document(text(document.get("id")), shown, pointer, facts=facts)


def _tool_call(kind: dict[str, Any]) -> Request:
    args, pointer = kind.get("args"), f"{KIND}/args"
    facts = (Fact("Tool", text(kind.get("name"))),)
    if not isinstance(args, str):
        return Request("tool_call", facts=facts, parts=(Data(args, pointer, "Arguments"),))
    try:
        body: Part = Data(exact.loads(args), pointer, "Arguments")
    except ValueError:
        body = Text(args, pointer, "Arguments (not JSON)")
    return Request("tool_call", facts=facts, parts=(body,))


def _memory(kind: dict[str, Any]) -> Request:
    op = obj(kind.get("op"))
    turns = messages(op.get("messages"), f"{KIND}/op/messages")
    extra = rest(op, {"op", "conversation", "messages"}, f"{KIND}/op")
    facts = (
        Fact("Operation", text(op.get("op"))),
        Fact("Conversation", say(op.get("conversation"))),
    )
    return Request("memory", messages=turns, facts=facts, parts=extra)


def _retrieve(kind: dict[str, Any]) -> Request:
    query, base = obj(kind.get("query")), f"{KIND}/query/req"
    search = obj(query.get("req"))
    asked = Text(text(search.get("query")), f"{base}/query", "Query")
    wants = Fact("Wants", "ids only" if query.get("query") == "top_n_ids" else "documents")
    extra = rest(search, {"query", "samples", "threshold"}, base)
    facts = (*facts_of(search, {"query"}), wants)
    return Request("retrieve", facts=facts, parts=(asked, *extra))


def _embed(kind: dict[str, Any]) -> Request:
    inputs, base = obj(kind.get("inputs")), f"{KIND}/inputs/inputs"
    listed = items(inputs.get("inputs"))
    modality = text(inputs.get("modality"))
    shown = tuple(_input(one, f"{base}/{i}", f"Input {i + 1}") for i, one in enumerate(listed))
    facts = (Fact("Modality", modality), Fact("Inputs", f"{len(listed):,}"))
    return Request("embed", facts=facts, parts=shown)


def _input(value: object, pointer: str, label: str) -> Part:
    if isinstance(value, str):
        return Text(value, pointer, label)
    if isinstance(value, list):
        return Media("image", "bytes", value, "", pointer, name=label)
    return Data(value, pointer, label)


def _rerank(kind: dict[str, Any]) -> Request:
    asked, base = obj(kind.get("request")), f"{KIND}/request"
    documents = tuple(
        Document(str(index), parts(one, f"{base}/documents/{index}"), f"{base}/documents/{index}")
        for index, one in enumerate(items(asked.get("documents")))
    )
    query = Text(text(asked.get("query")), f"{base}/query", "Query")
    extra = rest(asked, {"query", "documents"}, base)
    facts = (Fact("Documents", f"{len(documents):,}"),)
    return Request("rerank", documents=documents, facts=facts, parts=(query, *extra))


def _custom(kind: dict[str, Any]) -> Request:
    facts = (Fact("Kind", say(kind.get("kind"))),)
    payload = kind.get("payload")
    if span_in(payload) is not None:
        told = wire_request(payload, f"{KIND}/payload")
        return replace(told, facts=(*facts, *told.facts))
    shown: Part = Data(payload, f"{KIND}/payload", "Payload")
    if isinstance(payload, str):
        shown = Text(payload, f"{KIND}/payload", "Payload")
    return Request("custom", facts=facts, parts=(shown,))


# --- Answers -----------------------------------------------------------------------------------


def _completed(ok: dict[str, Any]) -> Answer:
    origin = obj(ok.get("origin")) or obj(pick(ok, "end", "meta"))
    flat = {k: ok.get(k) for k in ("provider", "model", "response_id", "message_id")}
    facts = facts_of(origin, {"usage", "raw"}) or facts_of(flat)
    ids = facts_of({k: ok.get(k) for k in ("provider_request_id", "error", "aborted")})
    usage = obj(ok.get("usage")) or obj(origin.get("usage"))
    return Answer(
        parts=parts(ok.get("choice"), f"{OK}/choice"),
        facts=(*facts, *ids),
        usage=usage_facts(usage),
        finish=_finish(ok.get("finish_reason")),
        raw=ok.get("choice"),
    )


def _finish(value: object) -> str:
    return text(value) or (say(pick(value, "other")) if isinstance(value, dict) else "")


def _tool_result(ok: dict[str, Any]) -> Answer:
    result, base = obj(ok.get("result")), f"{OK}/result/value"
    status, value = text(result.get("status")), result.get("value")
    if not isinstance(value, dict):
        return Answer(parts=parts(value, base), status=status)
    told = parts(value.get("model_output"), f"{base}/model_output")
    return Answer(parts=told, status=status, failure=_tool_failure(value, base))


def _tool_failure(value: dict[str, Any], pointer: str) -> Failure:
    kind = text(value.get("kind"))
    skip = {"kind", "message", "model_output"}
    facts = tuple(fact for fact in facts_of(value, skip) if fact.value != "false")
    named = f"tool error: {kind}" if kind else "tool error"
    return Failure(named, text(value.get("message")), facts, pointer=pointer)


def _embedded(ok: dict[str, Any]) -> Answer:
    response, base = obj(ok.get("response")), f"{OK}/response/embeddings"
    vectors = items(response.get("embeddings"))
    shown = tuple(_vector(one, f"{base}/{index}") for index, one in enumerate(vectors))
    facts = facts_of(response, {"raw"})
    return Answer(documents=shown, facts=facts, usage=usage_facts(obj(response.get("usage"))))


def _vector(value: object, pointer: str) -> Document:
    members = obj(value)
    line = vector(items(members.get("vec")), f"{pointer}/vec")
    return Document("", (*parts(members.get("document"), f"{pointer}/document"), line), pointer)


def _reranked(ok: dict[str, Any]) -> Answer:
    key = "results" if "results" in ok else "output"
    ranked = tuple(_rank(one, f"{OK}/{key}/{i}") for i, one in enumerate(items(ok.get(key))))
    meta = obj(ok.get("meta")) or ok
    facts = facts_of(meta, {"outcome", "raw"})
    return Answer(documents=ranked, facts=facts, usage=usage_facts(obj(meta.get("usage"))))


def _rank(value: object, pointer: str) -> Document:
    members = obj(value)
    shown = parts(members.get("document"), f"{pointer}/document")
    return Document(say(members.get("index")), shown, pointer, say(members.get("relevance_score")))


def _remembered(ok: dict[str, Any]) -> Answer:
    turns = messages(ok.get("messages"), f"{OK}/messages")
    return Answer(messages=turns, status=text(ok.get("memory")))


def _documents(ok: dict[str, Any]) -> Answer:
    found = items(ok.get("results"))
    shown = tuple(_hit(one, f"{OK}/results/{index}") for index, one in enumerate(found))
    return Answer(documents=shown, status=text(ok.get("retrieved")))


def _hit(value: object, pointer: str) -> Document:
    hit = items(value)
    if len(hit) < 2:
        return Document("", unknown(value, pointer), pointer)
    shown: tuple[Part, ...] = ()
    if len(hit) > 2:
        body, at = hit[2], f"{pointer}/2"
        shown = (Text(body, at) if isinstance(body, str) else Data(body, at),)
    return Document(say(hit[1]), shown, pointer, say(hit[0]))


def _answered(ok: dict[str, Any]) -> Answer:
    payload, pointer = ok.get("payload"), f"{OK}/payload"
    if span_in(payload) is not None:
        return wire_answer(payload, pointer)
    return Answer(
        parts=(Text(payload, pointer) if isinstance(payload, str) else Data(payload, pointer),)
    )


# --- Errors ------------------------------------------------------------------------------------


def _tool_kind(report: dict[str, Any]) -> str:
    inner = text(pick(report.get("kind"), "tool"))
    return f"tool: {inner}" if inner else "error"


def _report_facts(report: dict[str, Any], provider: dict[str, Any]) -> tuple[Fact, ...]:
    status = report.get("http_status")
    shown = {
        "HTTP status": status if status is not None else provider.get("status"),
        "Code": report.get("code") or provider.get("code"),
        "Retryable": {True: "yes", False: "no"}.get(bool(report.get("retryable"))),
        "Refusal": "yes" if report.get("refusal") else None,
        "Request id": report.get("request_id") or provider.get("provider_request_id"),
    }
    return tuple(Fact(label, say(value)) for label, value in shown.items() if value is not None)


_REQUESTS: dict[str, Callable[[dict[str, Any]], Request]] = {
    "completion": _completion,
    "tool_call": _tool_call,
    "memory": _memory,
    "retrieve": _retrieve,
    "embed": _embed,
    "rerank": _rerank,
    "custom": _custom,
}
_ANSWERS: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "completion": _completed,
    "tool_result": _tool_result,
    "embeddings": _embedded,
    "reranked": _reranked,
    "memory": _remembered,
    "documents": _documents,
    "custom": _answered,
}
