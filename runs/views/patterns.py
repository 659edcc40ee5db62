"""Every component in its states on one page, for whoever works on the look of them."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from runs.access import signed_in
from runs.comments.models import Comment
from runs.comments.names import Piece
from runs.comments.threads import Said
from runs.messages.parts import (
    Call,
    Data,
    Document,
    Fact,
    Failure,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
)
from runs.palette import Choice, Group
from runs.steps import timeline

LONG = "unbroken" * 40
PARTS: tuple[Part, ...] = (
    Text("The refund needs an idempotency key.\nI will retry with one.", ""),
    Text("مرحبا بالعالم · こんにちは世界 · 👩🏽‍💻", ""),
    Text(LONG, "", citations=("Refund policy · https://example.com/policy",)),
    Text('{"error": "idempotency_key_required", "amount": 49.90}', ""),
    Text("", ""),
    Text("# Markdown\n\nis **off** until asked for: [a link](https://example.com).", "/pattern"),
    Text("<rules>\n\tKeep <b>tags</b>.\n</rules>\n```python\ndef f():\n    return 'code'\n```", ""),
    Text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-before\n+after\n", ""),
    Text("\n".join(f"line {n} of a long text" for n in range(1, 400)), ""),
    Data([{"id": n, "name": f"row {n}", "ok": None} for n in range(1, 4)], ""),
    Reasoning("The charge is there twice, so one of them goes back.", ""),
    Reasoning("", "", redacted=True),
    Call("toolu_01S8n6", "refund_charge", {"charge": "ch_77A1", "amount": "49.90"}, ""),
    Call("call_9", "refund_charge", None, "", invalid='{"charge": "ch_77'),
    Result(
        "toolu_01S8n6", "refund_charge", (Data({"ok": True, "id": 18446744073709551615}, ""),), ""
    ),
    Result("call_9", "refund_charge", (Text("the bank did not answer", ""),), "", is_error=True),
    Media("image", "url", "https://example.com/p.png", "image/png", "", detail="high"),
    Media("document", "text", "a,b\n1,2", "text/csv", "", name="table.csv"),
    Media("video", "file", "file-8812", "video/mp4", ""),
    Data({"type": "teleport", "to": "Mars"}, "", "teleport", unknown=True),
)


def _shift(before: str, after: str, by: str = "", percent: str = "", tone: str = "") -> object:
    return SimpleNamespace(before=before, after=after, by=by, percent=percent, tone=tone)


FAILURE = Failure(
    "provider_response",
    "Rate limit reached. Please try again in 800 ms.",
    (Fact("HTTP status", "429"), Fact("Code", "rate_limit_exceeded"), Fact("Retryable", "yes")),
    ("connection reset by peer",),
    '{"error": {"type": "tokens"}}',
)
DOCUMENTS = (
    Document("policy-7", (Text("Charged twice: refund one.", ""),), "", "0.8712"),
    Document("policy-9", (), "", "0.3333333333333333", (Fact("lang", "de"),)),
)
DIFFERENCES = (
    ("ok", "same"),
    ("ok", "equivalent"),
    ("muted", "wording"),
    ("warn", "facts"),
    ("warn", "arguments"),
    ("bad", "tool calls"),
    ("bad", "structure"),
    ("bad", "only in B"),
    ("bad", "only in A"),
    ("bad", "error"),
    ("warn", "not classed"),
)
PALETTES: tuple[list[Group], ...] = (
    [
        Group("Runs", [Choice("Refund of a helmet", "#p-palette", "refund · run_8812")]),
        Group("Pages", [Choice("Review", "#p-palette"), Choice("Copy the link of this page", "")]),
    ],
    [],
)
VERDICTS = (
    SimpleNamespace(
        status="succeeded",
        identical=True,
        faithful=True,
        changed=0,
        shifts=[
            ("Cost", _shift("$0.0712", "$0.0604", "−$0.0108", "−15%", "ok")),
            ("Latency", _shift("2.10 s", "2.86 s", "+760 ms", "+36%", "warn")),
        ],
    ),
    SimpleNamespace(
        status="partial",
        identical=False,
        faithful=None,
        changed=4,
        shifts=[("Cost", _shift("$0.0712", "—"))],
    ),
)
_NO_PROJECT = SimpleNamespace(slug="none", pk=0, name="none")
FAMILIES = ("memory", "retrieve", "completion", "tool", "tool", "completion", "custom")


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    membership = signed_in(request).memberships.select_related("project").first()
    starts = (0, 60, 120, 900, 910, 61_000, 62_000)
    moments = [
        timeline.Moment(i + 1, family, i == 4, float(start), 400.0)
        for i, (family, start) in enumerate(zip(FAMILIES, starts, strict=True))
    ]
    context = {
        "parts": PARTS,
        "message": Message("user", PARTS[:1], ""),
        "failure": FAILURE,
        "documents": DOCUMENTS,
        "tapes": [timeline.tape(moments, 7), timeline.tape([], 7)],
        "effect": SimpleNamespace(seq=1, run=None),
        "run": SimpleNamespace(external_id="pattern"),
        "project": membership.project if membership else _NO_PROJECT,
        "costs": (None, 0, "0.00001", "0.0712", "1234.5"),
        "differences": DIFFERENCES,
        "palettes": PALETTES,
        "verdicts": VERDICTS,
        "thread": _thread(),
        "seq": 1,
        "may_write": True,
        "problem": "A comment needs some words.",
        "durations": (None, 0.4, 86, 1420, 134_000),
    }
    return render(request, "patterns.html", context)


def _thread() -> list[Said]:
    """What a person said, a moment ago and changed since, and what a key said, that nobody may
    change here."""
    now = timezone.now()
    first = Comment(
        pk=1, signed="Ada Lovelace", author_id=1, created_at=now - timedelta(hours=2), edited_at=now
    )
    first.text = "@you and @Bob: was this refund right?"
    named = (Piece("@you", "you"), Piece(" and "), Piece("@Bob", "bob"))
    other = Comment(pk=2, signed="nightly", created_at=now, text="مرحبا بالعالم")
    return [
        Said(first, (*named, Piece(": was this refund right?")), True, True, frozenset(["you"])),
        Said(other, (Piece(other.text),), False, False, frozenset()),
    ]
