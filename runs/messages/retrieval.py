"""Searches, rerankers and embeddings as spans tell them: `retrieval.documents.0.document.content`
and its like (OpenInference), `gen_ai.retrieval.documents` (OpenTelemetry), `ai.values` (AI SDK)."""

from collections.abc import Iterator
from typing import Any

from runs.messages import exact
from runs.messages.facts import facts_of, say, structured
from runs.messages.loose import items, obj, text
from runs.messages.numbered import Branch, branch, has, missing, used
from runs.messages.parts import Answer, Data, Document, Fact, Part, Request, Text
from runs.messages.rig_parts import vector
from runs.messages.turns import opened

_FOUND, _EMBEDDED = "retrieval.documents.", "embedding.embeddings."
_POOL, _RANKED = "reranker.input_documents.", "reranker.output_documents."
_QUERY, _DOCUMENTS = "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"
_VALUES, _VECTORS = "ai.values", "ai.embeddings"
_STARTS = {
    "retrieve": (_FOUND, _QUERY, _DOCUMENTS),
    "rerank": ("reranker.",),
    "embed": (_EMBEDDED, _VALUES, _VECTORS),
}
STARTS = tuple(start for starts in _STARTS.values() for start in starts)
_KINDS = {"RETRIEVER": "retrieve", "RERANKER": "rerank", "EMBEDDING": "embed"}
_USED = ("llm.token_count.", "gen_ai.usage.", "ai.usage.")


def request(attributes: dict[str, Any], pointer: str) -> Request | None:
    """What was looked for, put in order or embedded; None if the span did none of that."""
    family = _family_of(attributes)
    if not family:
        return None
    if family == "embed":
        parts = _inputs(attributes, pointer)
        return Request(family, facts=(*_model(attributes), _count("Inputs", parts)), parts=parts)
    pool = _documents(attributes, _POOL, pointer)
    wanted = {"top_k": attributes.get("reranker.top_k")}
    counted = (_count("Documents", pool),) if pool else ()
    return Request(
        family,
        documents=pool,
        facts=(*_model(attributes), *facts_of(wanted), *counted),
        parts=_query(attributes, pointer),
    )


def answer(attributes: dict[str, Any], pointer: str) -> Answer | None:
    """The documents or vectors that it came back with; None if there are none in the span."""
    listed = opened(attributes.get(_DOCUMENTS)) or attributes.get(_DOCUMENTS)
    told = enumerate(items(listed))
    found = (
        *_documents(attributes, _FOUND, pointer),
        *_documents(attributes, _RANKED, pointer),
        *(_of_members(one, f"{pointer}/{_DOCUMENTS}/{index}") for index, one in told),
        *_vectors(attributes, pointer),
    )
    usage = tuple(fact for start in _USED for fact in used(attributes, start))
    return Answer(documents=found, usage=usage) if found else None


def _family_of(attributes: dict[str, Any]) -> str:
    named = _KINDS.get(text(attributes.get("openinference.span.kind")))
    if named:
        return named
    families = _STARTS.items()
    return next((family for family, starts in families if has(attributes, starts)), "")


def _count(label: str, counted: tuple[Any, ...]) -> Fact:
    return Fact(label, f"{len(counted):,}")


def _model(attributes: dict[str, Any]) -> tuple[Fact, ...]:
    names = ("embedding.model_name", "reranker.model_name", "gen_ai.request.model", "ai.model.id")
    return facts_of({"model": next(filter(None, map(attributes.get, names)), None)})


def _query(attributes: dict[str, Any], pointer: str) -> tuple[Part, ...]:
    for key in ("reranker.query", _QUERY, "input.value"):
        said, at = attributes.get(key), f"{pointer}/{key}"
        if isinstance(said, str):
            inner = opened(said)
            return (Text(said, at, "Query") if inner is None else Data(inner, at, "Query"),)
    return ()


# --- Documents ---------------------------------------------------------------------------------


def _documents(attributes: dict[str, Any], start: str, pointer: str) -> tuple[Document, ...]:
    """The numbered documents that begin with `start`; what is missing before one, or is none, is
    said in its place."""
    listed = branch(attributes, start, pointer)
    made: list[Document] = []
    for gap, one in listed.in_order():
        if gap:
            made.append(Document("", (missing(gap, "document"),), f"{one.start}before"))
        made.append(_document(one))
    if left := listed.unread():
        made.append(Document("", left, start))
    return tuple(made)


def _document(one: Branch) -> Document:
    said = _text(one.text("document.content"), one.at("document.content"))
    facts, more = _metadata(one)
    identity, score = one.scalar("document.id"), one.scalar("document.score")
    return Document(identity, (*said, *more, *one.unread()), one.start, score, facts)


def _metadata(one: Branch) -> tuple[tuple[Fact, ...], tuple[Part, ...]]:
    """What is small beside the document's name, the rest below its text."""
    key = "document.metadata"
    given = one.members.get(key)
    members = obj(opened(given)) or obj(given)
    if members:
        del one.members[key]
    return facts_of(members), structured(members, set(), one.at(key))


def _of_members(value: object, pointer: str) -> Document:
    members = obj(value)
    if not members:
        return Document("", (Data(value, pointer, unknown=True),), pointer)
    content = members.get("content")
    said = (Text(content, f"{pointer}/content"),) if isinstance(content, str) else ()
    known = {"id", "score"} | ({"content"} if said else set())
    identity, score = (say(v) if (v := members.get(k)) is not None else "" for k in ("id", "score"))
    parts = (*said, *structured(members, known, pointer))
    return Document(identity, parts, pointer, score, facts_of(members, known))


# --- Embeddings --------------------------------------------------------------------------------


def _inputs(attributes: dict[str, Any], pointer: str) -> tuple[Part, ...]:
    numbered = branch(attributes, _EMBEDDED, pointer).listed().values()
    told = [(text(one.members.get("embedding.text")), one.at("embedding.text")) for one in numbered]
    told += [(say(one), at) for one, at in _each(attributes, _VALUES, pointer)]
    named = enumerate(told, start=1)
    said = tuple(Text(one, at, f"Input {number}") for number, (one, at) in named if one)
    return said or _query(attributes, pointer)


def _vectors(attributes: dict[str, Any], pointer: str) -> tuple[Document, ...]:
    texts = [_text(say(one), at) for one, at in _each(attributes, _VALUES, pointer)]
    vectors = [(vector(items(one), at), at) for one, at in _each(attributes, _VECTORS, pointer)]
    said = texts if len(texts) == len(vectors) else [()] * len(vectors)
    embedded = (
        Document("", (*given, line), at) for given, (line, at) in zip(said, vectors, strict=True)
    )
    numbered = branch(attributes, _EMBEDDED, pointer).listed().values()
    return (*filter(None, map(_embedding, numbered)), *embedded)


def _each(attributes: dict[str, Any], key: str, pointer: str) -> Iterator[tuple[Any, str]]:
    """The values of a list of JSON texts."""
    for index, one in enumerate(items(attributes.get(key))):
        try:
            yield exact.loads(text(one)), f"{pointer}/{key}/{index}"
        except ValueError:
            yield one, f"{pointer}/{key}/{index}"


def _text(said: str | None, pointer: str) -> tuple[Text, ...]:
    return (Text(said, pointer),) if said else ()


def _embedding(one: Branch) -> Document | None:
    """A text with its vector; None where the vector is not there, which may be kept back."""
    key = "embedding.vector"
    given = one.members.pop(key, None)
    numbers = items(opened(given)) or items(given)
    if not numbers:
        return None
    said = _text(one.text("embedding.text"), one.at("embedding.text"))
    return Document("", (*said, vector(numbers, one.at(key)), *one.unread()), one.start)
