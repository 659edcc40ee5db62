"""Calls made of recorded ones, and what is in requests and notes, for tests of asking again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.dialects import Overrides
from replay.providers import Call, Provider, build_call, choose

KEY = "sk-very-secret-key"
HELLO = [{"role": "user", "content": "Hello there"}]


def record(shared: Path, log: str, number: int) -> dict[str, Any]:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    return next(r for r in json.loads(file.read_text())["records"] if r["id"] == number)


def made(
    providers: dict[str, Provider],
    record: dict[str, Any],
    model: str,
    wire: Any = None,
    **overrides: Any,
) -> Call:
    provider, name = choose(model, providers)
    return build_call(record, wire, provider=provider, model=name, overrides=Overrides(**overrides))


def wired(url: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"method": "POST", "url": url, "request": body, "status": 200, **more}


COMPLETION = {"kind": {"effect": "completion", "request": {}}, "outcome": {"Ok": {}}}
CHAT_BODY = {
    "model": "gpt-4o",
    "messages": HELLO,
    "x_vendor": 18446744073709551615,
    "temperature": 1.0,
}
CLAUDE_BODY = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": HELLO}
CHAT_WIRE = wired("https://api.openai.com/v1/chat/completions", CHAT_BODY)
CLAUDE_WIRE = wired("https://api.anthropic.com/v1/messages", CLAUDE_BODY)
ASK_CHAT = wired("https://api.openai.com/v1/chat/completions", {"model": "m", "messages": HELLO})


def codes(notes: Any) -> set[str]:
    return {note.code for note in notes}


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from strings(inner)
    for inner in value if isinstance(value, list) else ():
        yield from strings(inner)
