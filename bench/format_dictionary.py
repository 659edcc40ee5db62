"""Make the dictionary that small segments are compressed with: words of the format, nobody's text.

    python -m bench.format_dictionary FILE

Reads the effect logs in shared/data, recorded by this project itself, and takes out of them what
anybody wrote: of a record are left the names of its members, words of the format (roles,
families, finish reasons, types of JSON schema) and what ids begin with. What is most frequent
comes last, where zstd finds it nearest. A dictionary that was ever used is never made again: what
is compressed with it needs it for ever, so a better one gets a number of its own (ADR 11).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import zstandard

from bench.product import SHARED

SIZE = 8192
"""Bytes. Twice as many find no more: they are copied for each compression."""
RECORDS = 40
"""Of one log, so that a long one does not outweigh the others."""
ITEMS = 3
"""Of a list: what is said four times is found in the first."""
FORMAT = """
assistant system user tool developer text json image audio video document toolcall toolresult
tool_use tool_result tool_calls reasoning thinking function function_call message output_text
completion memory retrieve embed rerank custom tool_call loaded documents scored default error
success load append clear top_n top_n_ids stop length end_turn max_tokens content_filter completed
incomplete succeeded failed cancelled provider_response http auto none required string integer
number boolean object array null base64 url response response.created chat.completion
chat.completion.chunk json_schema text_delta input_json_delta content_block_start
content_block_delta content_block_stop message_start message_delta message_stop openai anthropic
openai.chat openai.responses anthropic.messages application/json
"""
WORDS = frozenset(FORMAT.split())
"""Texts that stay as they are."""
BEGINNINGS = re.compile(r"(?:chatcmpl-|resp_|msg_|req_|call_|toolu_|fc_|rs_)")
HANDLER = re.compile(r"/(?:model:default|tool:|memory|retrieve:context#0|retrieve:|embed|rerank)")
NAMED_BY_THEM = {"properties", "signature", "required", "capabilities"}
"""Members whose own members are named by whoever made the agent, not by the format."""
THEIRS = {"metadata", "arguments", "input", "payload", "tool_output", "document", "vec"}
"""Members in which all is somebody's."""
NEW_BYTES = 60
"""A sample with less that is not in those before it leaves its room to others."""

ENVELOPE = {
    **dict.fromkeys(("id", "agent", "agent_version", "environment", "name", "session_id"), ""),
    **dict.fromkeys(("user_id", "started_at", "ended_at"), ""),
    "status": "succeeded",
    **dict.fromkeys(("input", "output"), ""),
    "tags": [""],
    "metadata": {},
}
"""The `run` beside a log (docs/api.md)."""


def words_of(value: Any, inside: str = "") -> Any:
    """A value of a log without what anybody wrote."""
    if isinstance(value, dict):
        some = list(value.items())[: ITEMS if inside in NAMED_BY_THEM | THEIRS else None]
        is_json = value.get("type") == "json"
        return {
            _name(key, inside): words_of(one, _within(key, inside, is_json)) for key, one in some
        }
    if isinstance(value, list):
        return [words_of(one, inside if inside in THEIRS else "") for one in value[:ITEMS]]
    if isinstance(value, str):
        return value if value in WORDS else _beginning(value)
    return value if value is None or isinstance(value, bool) else 0


def _within(key: str, inside: str, is_json: bool) -> str:
    if inside in THEIRS or (is_json and key == "value"):
        return "payload"
    return key


def _name(key: str, inside: str) -> str:
    return _beginning(key) if inside in NAMED_BY_THEM | THEIRS else key


def _beginning(text: str) -> str:
    found = BEGINNINGS.match(text) or HANDLER.search(text)
    return found[0] if found else ""


def samples(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("**/*.effects.json*")):
        for document in _documents(path.read_text()):
            header = [document["header"]] if "header" in document else []
            for one in (*header, *document.get("records", [document])[:RECORDS]):
                yield _line(words_of(one))


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _documents(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()[:RECORDS]]


def dictionary(found: Iterator[str]) -> bytes:
    """As many different samples as have room, the most frequent last; then what is beside a log."""
    chosen = _line(ENVELOPE).encode()
    for line, _ in Counter(found).most_common():
        words = line.encode()
        if len(words) + len(chosen) < SIZE and _new_bytes(words, chosen) >= NEW_BYTES:
            chosen = words + b"\n" + chosen
    return chosen


def _new_bytes(words: bytes, known: bytes) -> int:
    made = zstandard.ZstdCompressionDict(known, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return len(zstandard.ZstdCompressor(level=9, dict_data=made).compress(words))


def main() -> None:
    made = dictionary(samples(SHARED / "data"))
    Path(sys.argv[1]).write_bytes(made)
    print(f"{len(made)} bytes, blake2b-128 {blake2b(made, digest_size=16).hexdigest()}")


if __name__ == "__main__":
    main()
