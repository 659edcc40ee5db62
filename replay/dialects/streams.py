"""Streams folded into the body that the same call would have answered whole."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from replay.dialects.loose import items, mapping, parsed, text
from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES
from replay.dialects.sse import Event

MOST_CALLS = 1024


class Fold:
    """The events of one answer, put together.

    ``ended`` tells whether the stream said that it is complete, ``error`` holds the error it sent
    instead, ``began`` whether anything of the answer itself (text, a call, reasoning) has come.
    """

    def __init__(self) -> None:
        self.ended = False
        self.began = False
        self.error: Mapping[str, Any] | None = None
        self._shape: str | None = None
        self._body: dict[str, Any] = {}
        self._written: dict[int, str] = {}

    def add(self, event: Event) -> None:
        """Take the next event, of whichever API."""
        data = mapping(event.data)
        if event.done:
            self.ended = True
        elif "error" in data and data.get("error") and "response" not in data:
            self.error = data
        elif data.get("type") == "error":
            self.error = {"error": data}
        elif isinstance(data.get("choices"), list):
            self._shape = CHAT
            self._chat(data)
        elif str(data.get("type", "")).startswith("response."):
            self._shape = RESPONSES
            self._responses(data)
        elif isinstance(data.get("type"), str):
            self._shape = MESSAGES
            self._messages(data)

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; a chat server may leave out the mark that ends a stream."""
        choices = items(self._body.get("choices"))
        finished = bool(choices) and bool(mapping(choices[0]).get("finish_reason"))
        return self.ended or (self._shape == CHAT and finished)

    def body(self) -> dict[str, Any] | None:
        """The answer so far, ``None`` when nothing of one came."""
        if self._shape is None or not self._body:
            return None
        body = copy.deepcopy(self._body)
        if self._shape == MESSAGES:
            for index, written in self._written.items():
                is_json, value = parsed(written)
                body["content"][index]["input"] = value if is_json else written
        return body

    # --- Chat Completions ---

    def _chat(self, chunk: Mapping[str, Any]) -> None:
        self._body.update({k: v for k, v in chunk.items() if k not in ("choices", "usage")})
        self._body["object"] = "chat.completion"
        if chunk.get("usage"):
            self._body["usage"] = chunk["usage"]
        choices = self._body.setdefault("choices", [])
        for choice in map(mapping, chunk["choices"]):
            if choice.get("index", 0) == 0:
                if not choices:
                    choices.append({"index": 0, "message": {"role": "assistant"}})
                self._choice(choices[0], choice)

    def _choice(self, whole: dict[str, Any], choice: Mapping[str, Any]) -> None:
        delta = mapping(choice.get("delta"))
        message = whole["message"]
        for key, value in delta.items():
            if key == "tool_calls":
                self._chat_calls(message.setdefault("tool_calls", []), items(value))
            elif isinstance(value, str) and key not in ("role", "refusal_type"):
                message[key] = text(message.get(key)) + value
                self.began = self.began or bool(value)
            elif value is not None:
                message[key] = value
        if choice.get("finish_reason"):
            whole["finish_reason"] = choice["finish_reason"]

    def _chat_calls(self, calls: list[dict[str, Any]], deltas: list[Any]) -> None:
        for delta in map(mapping, deltas):
            self.began = True
            index = delta.get("index")
            at = index if isinstance(index, int) else _place(calls, delta)
            at = min(max(at, 0), MOST_CALLS - 1)
            while len(calls) <= at:
                calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
            call = calls[at]
            function = mapping(delta.get("function"))
            call.update({k: delta[k] for k in ("id", "type") if delta.get(k)})
            for key in ("name", "arguments"):
                call["function"][key] += text(function.get(key))

    # --- Responses ---

    def _responses(self, event: Mapping[str, Any]) -> None:
        kind = text(event.get("type"))
        if kind.endswith(".delta"):
            self.began = True
        if isinstance(event.get("response"), dict):
            self._response(kind, event["response"])
        elif kind == "response.output_item.done":
            self._body["output"] = [*items(self._body.get("output")), event.get("item")]

    def _response(self, kind: str, response: Mapping[str, Any]) -> None:
        output = items(self._body.get("output"))
        self._body = copy.deepcopy(dict(response))
        if kind == "response.failed":
            self.error = {"error": response.get("error") or {"message": "the response failed"}}
        self.ended = kind in ("response.completed", "response.incomplete")
        # Some servers leave the output out of the last event: the items came one by one.
        self._body["output"] = items(self._body.get("output")) or output

    # --- Messages ---

    def _messages(self, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._body = copy.deepcopy(dict(mapping(event.get("message"))))
            self._body["content"] = []
        elif kind == "content_block_start":
            block = copy.deepcopy(dict(mapping(event.get("content_block"))))
            self._body["content"] = [*items(self._body.get("content")), block]
        elif kind == "content_block_delta":
            self._delta(event, mapping(event.get("delta")))
        elif kind == "message_delta":
            ended = mapping(event.get("delta"))
            self._body.update({k: v for k, v in ended.items() if k not in ("content", "usage")})
            # Counts here are of the whole message, those that are left out stand as they began.
            usage = dict(mapping(self._body.get("usage")))
            self._body["usage"] = {**usage, **mapping(event.get("usage"))}
        elif kind == "message_stop":
            self.ended = True

    def _delta(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
        index, content = event.get("index"), self._body.get("content", [])
        if not isinstance(index, int) or not 0 <= index < len(content):
            return
        self.began = True
        if delta.get("type") == "input_json_delta":
            written = self._written.get(index, "") + text(delta.get("partial_json"))
            if written:
                self._written[index] = written
            return
        for key in ("text", "thinking", "signature"):
            if isinstance(delta.get(key), str):
                content[index][key] = text(content[index].get(key)) + delta[key]
        if delta.get("citation"):
            content[index].setdefault("citations", []).append(delta["citation"])


def _place(calls: list[dict[str, Any]], delta: Mapping[str, Any]) -> int:
    """Where a call without an index belongs: a new id starts a new call."""
    if delta.get("id") and all(call.get("id") != delta["id"] for call in calls):
        return len(calls)
    return max(0, len(calls) - 1)
