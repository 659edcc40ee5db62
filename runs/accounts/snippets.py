"""Commands to copy that send a run to this server. Pure text; tested by running them."""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_RUN = """\
{"run": {"id": "hello-$(date +%s)", "agent": "hello", "environment": "test"},
 "log": {
  "header": {
   "handlers": [{"key": "hello/model:default", "family": {"family": "completion",
     "model": "default", "capabilities": {"composes_native_output_with_tools": true}}}],
   "signature": {"hello/model:default": "completion"},
   "hooks": [], "required": {"hello/model:default": "completion"}},
  "records": [{
   "tool_output": null, "id": 1, "key": "hello/model:default",
   "kind": {"effect": "completion", "stream": false, "request": {
     "model": null,
     "chat_history": [{"role": "user", "content": [
       {"type": "text", "text": "What does a lighthouse do?"}]}],
     "documents": [], "tools": [], "temperature": null, "max_tokens": null,
     "tool_choice": null, "additional_params": null, "output_schema": null}},
   "outcome": {"Ok": {"outcome": "completion",
     "choice": [{"type": "text", "text": "It warns ships away from dangerous coasts."}],
     "usage": {"input_tokens": 14, "output_tokens": 9, "total_tokens": 23,
       "cached_input_tokens": 0, "cache_creation_input_tokens": 0, "reasoning_tokens": 0},
     "origin": {"api": "openai.responses", "provider": "openai", "model": "gpt-4o",
       "response_model": "gpt-4o-2024-08-06", "response_id": "resp_hello"},
     "provider_request_id": null, "finish_reason": "stop", "raw": null}}}]}}
"""


@dataclass(frozen=True, slots=True)
class Snippet:
    id: str
    title: str
    text: str


def snippets(base_url: str, token: str) -> list[Snippet]:
    """Snippets for the server at `base_url`; without `token` they expect it in REWYN_KEY."""
    return [
        Snippet("env", "In the shell: where, and with which key", _environment(base_url, token)),
        Snippet("curl", "A first run, with nothing but curl", _CURL),
        Snippet("log", "An effect log you have", _LOG),
        Snippet("push", "The same with the SDK's command", _PUSH),
        Snippet("python", "From Python", _PYTHON),
    ]


def _environment(base_url: str, token: str) -> str:
    return f"export REWYN_URL={base_url}\nexport REWYN_KEY={token or 'rw_…'}\n"


_CURL = f"""\
curl -sS "$REWYN_URL/api/v1/runs" \\
  -H "Authorization: Bearer $REWYN_KEY" -H "Content-Type: application/json" \\
  --data-binary @- <<EOF
{SAMPLE_RUN}EOF
"""

_LOG = """\
curl -sS "$REWYN_URL/api/v1/effect-logs?agent=my-agent" \\
  -H "Authorization: Bearer $REWYN_KEY" -H "Content-Type: application/json" \\
  --data-binary @my.effects.json
"""

_PUSH = """\
pip install ./sdk
rewyn-sdk push --agent my-agent my.effects.json
"""

_PYTHON = """\
import os
from pathlib import Path
from rewyn_sdk import Client

client = Client(os.environ["REWYN_URL"], os.environ["REWYN_KEY"])
print(client.push(Path("my.effects.json"), agent="my-agent").url)
"""
