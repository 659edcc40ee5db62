"""Refusals in the words and the shape of each API."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from replay.fake_provider.rules import Failure

CHAT, RESPONSES, MESSAGES, MODELS = "chat", "responses", "messages", "models"

_WORDS = {
    400: "Invalid request.",
    401: "Incorrect API key provided.",
    403: "You are not allowed to use this model.",
    404: "The model does not exist or you do not have access to it.",
    408: "The request took too long.",
    413: "Request exceeds the maximum size",
    429: "Rate limit reached for requests",
    500: "The server had an error while processing your request. Sorry about that!",
    502: "Bad gateway.",
    503: "The engine is currently overloaded, please try again later",
    529: "Overloaded",
}
_OPENAI_TYPES = {401: "invalid_request_error", 429: "requests", 404: "invalid_request_error"}
_OPENAI_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Refused(Exception):
    """The request is not one the API takes; ``failure`` is what it says about it."""

    failure: Failure


def refuse(
    message: str, *, param: str | None = None, code: str | None = None, status: int = 400
) -> Refused:
    """A ``Refused`` to raise, by default a 400."""
    return Refused(Failure(status=status, message=message, param=param, code=code))


def error_body(api: str, failure: Failure, request_id: str) -> dict[str, Any]:
    """``failure`` as the body that ``api`` answers with."""
    said = replace(failure, message=failure.message or _WORDS.get(failure.status, "Error"))
    if api == MESSAGES:
        kind = said.type or _ANTHROPIC_TYPES.get(said.status) or _fallback(said.status)
        error = {"type": kind, "message": said.message}
        return {"type": "error", "error": error, "request_id": request_id}
    return {
        "error": {
            "message": said.message,
            "type": said.type or _OPENAI_TYPES.get(said.status) or _openai_fallback(said.status),
            "param": said.param,
            "code": said.code or _OPENAI_CODES.get(said.status),
        }
    }


def _fallback(status: int) -> str:
    return "api_error" if status >= 500 else "invalid_request_error"


def _openai_fallback(status: int) -> str:
    return "server_error" if status >= 500 else "invalid_request_error"
