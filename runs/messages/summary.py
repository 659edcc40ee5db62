"""One line that says what an effect did, for the step list and the tape."""

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from runs.messages import rig
from runs.messages.loose import items, obj, one_line, pick, plural, text
from runs.messages.parts import Data, Part, Text

LIMIT = 200
_QUERY_LIMIT = 80
_read_arguments = json.JSONDecoder(parse_float=str, parse_int=str).decode
_LITERALS = {None: "null", True: "true", False: "false"}


def summarise(record: dict[str, Any]) -> str:
    """What the effect in `record` (decoded, any shape of the effect log) did, in ≤ 200 characters.

    Safe to store in a text column; never raises: an unknown shape gives its tag, or nothing.
    """
    kind = obj(record.get("kind"))
    outcome = obj(record.get("outcome"))
    ok, error = obj(outcome.get("Ok")), obj(outcome.get("Err"))
    tell = _TELLERS.get(text(kind.get("effect")), _unknown)
    line = _span(record) if rig.is_of_span(record) else tell(kind, ok)
    if error:
        line = _arrow(_request_only(kind) if not ok else line, _error_line(error))
    return one_line(line, LIMIT)


def brief(value: object, limit: int = LIMIT) -> str:
    """A JSON value as a person would say it: `order 8812, reason damaged`."""
    if isinstance(value, dict):
        pairs = (f"{key} {_inner(member)}" for key, member in islice(value.items(), 12))
        return one_line(", ".join(pairs), limit)
    if isinstance(value, list):
        return one_line(", ".join(_inner(member) for member in value[:12]), limit)
    return one_line(_inner(value), limit)


def _inner(value: object) -> str:
    if isinstance(value, str):
        return value[:LIMIT]
    if isinstance(value, list):
        return f"[{len(value):,}]" if len(value) > 3 else f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(islice(map(str, value), 4))}}}"
    return _LITERALS[value] if value is None or isinstance(value, bool) else str(value)


def _completion(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    if not ok:
        return _request_only(kind)
    choice = [obj(part) for part in items(ok.get("choice"))]
    calls = [text(pick(part, "function", "name")) for part in choice if "function" in part]
    said = [text(part.get("text")) for part in choice if part.get("type") == "text"]
    if calls:
        return _calling(calls)
    if any(said):
        return " ".join(said)
    return _wordless(choice) or text(pick(ok, "error")) or text(pick(ok, "aborted")) or "no content"


def _calling(names: list[str]) -> str:
    return f"calls {plural(len(names), 'tool')}: {', '.join(names)}"


def _wordless(choice: list[dict[str, Any]]) -> str:
    kinds = [text(part.get("type")) for part in choice]
    return f"answers with {', '.join(kinds)}" if any(kinds) else ""


def _tool(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    args = _arguments(kind)
    status = text(pick(ok, "result", "status"))
    if status in ("", "success"):
        return args
    said = pick(ok, "result", "value")
    return _arrow(args, f"{status}: {text(pick(said, 'message')) or brief(said)}")


def _arguments(kind: dict[str, Any]) -> str:
    args = kind.get("args", kind.get("arguments"))
    if not isinstance(args, str):
        return brief(args) if args is not None else ""
    if len(args) > 20_000:
        return args
    try:
        return brief(_read_arguments(args))
    except (ValueError, RecursionError):
        return args


def _memory(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    op = obj(kind.get("op"))
    verb, where = text(op.get("op")), f"conversation {_inner(op.get('conversation'))}"
    if verb == "append":
        return f"append {plural(len(items(op.get('messages'))), 'message')} to {where}"
    messages = pick(ok, "messages")
    found = plural(len(messages), "message") if isinstance(messages, list) else ""
    return _arrow(f"{verb} {where}", found)


def _retrieve(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    asked = _quoted(text(pick(kind, "query", "req", "query")))
    if not ok:
        return asked
    noun = "id" if ok.get("retrieved") == "ids" else "document"
    return _arrow(asked, plural(len(items(ok.get("results"))), noun))


def _embed(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    inputs = obj(kind.get("inputs"))
    noun = text(inputs.get("modality")).removesuffix("s") or "input"
    asked = plural(len(items(inputs.get("inputs"))), noun)
    vectors = items(pick(ok, "response", "embeddings"))
    size = len(items(pick(vectors[0], "vec"))) if vectors else 0
    answer = f"{plural(len(vectors), 'vector')} of {plural(size, 'number')}"
    return _arrow(asked, answer if vectors else "")


def _rerank(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    request = obj(kind.get("request"))
    pool = plural(len(items(request.get("documents"))), "document")
    asked = f"{_quoted(text(request.get('query')))} over {pool}"
    results = items(ok.get("results")) or items(ok.get("output"))
    best = pick(results[0], "index") if results else None
    return _arrow(asked, f"best is {best}" if isinstance(best, int) else "")


def _custom(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    return " ".join(filter(None, [text(kind.get("kind")), brief(kind.get("payload"))]))


def _unknown(kind: dict[str, Any], ok: dict[str, Any]) -> str:
    return text(kind.get("effect")) or text(ok.get("outcome"))


def _span(record: dict[str, Any]) -> str:
    """Of a record made of a span, whose conventions only the views know."""
    request, answer = rig.request(record), rig.answer(record)
    if request.family in ("retrieve", "rerank", "embed"):
        noun = "vector" if request.family == "embed" else "document"
        found = plural(len(answer.documents), noun) if answer.documents else ""
        return _arrow(_sought(request.parts), found)
    if answer.calls:
        return _calling([call.name for call in answer.calls])
    asked = request.messages[-1].parts if request.messages else request.parts
    return _said(answer.parts) or _said(asked)


def _sought(parts: tuple[Part, ...]) -> str:
    """What was looked for, which a client may have as an object of its own."""
    said = _said(parts)
    return _quoted(said) if said else " ".join(brief(p.value) for p in parts if isinstance(p, Data))


def _said(parts: Iterable[Part]) -> str:
    return " ".join(part.text[: LIMIT * 8] for part in parts if isinstance(part, Text))


def _request_only(kind: dict[str, Any]) -> str:
    """What was asked, for an effect that has no answer (yet)."""
    effect = text(kind.get("effect"))
    return _last_asked(kind) if effect == "completion" else _TELLERS.get(effect, _unknown)(kind, {})


def _last_asked(kind: dict[str, Any]) -> str:
    request = obj(kind.get("request"))
    history = items(request.get("chat_history")) or items(request.get("messages"))
    content = pick(history[-1], "content") if history else None
    parts = [content] if isinstance(content, str) else items(content)
    return " ".join(part if isinstance(part, str) else text(pick(part, "text")) for part in parts)


def _error_line(error: dict[str, Any]) -> str:
    kind = error.get("kind")
    name = text(kind) or text(pick(kind, "tool")) or "error"
    status = error.get("http_status")
    return f"{name}{f' {status}' if isinstance(status, int) else ''}: {text(error.get('message'))}"


def _arrow(left: str, right: str) -> str:
    # The outcome must stay visible behind a long request.
    return f"{one_line(left, 90)} → {right}" if left and right else left or right


def _quoted(query: str) -> str:
    return f"“{one_line(query, _QUERY_LIMIT)}”"


_TELLERS: dict[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "completion": _completion,
    "tool_call": _tool,
    "memory": _memory,
    "retrieve": _retrieve,
    "embed": _embed,
    "rerank": _rerank,
    "custom": _custom,
}
