"""What was recorded, as files: bytes as they came, one value in full, media, the whole log.

Everything here came from a model or a tool. It is served as plain text or a download, or as media
of a kind browsers only draw, and under a policy that lets it do nothing.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from runs import logs, segments
from runs.access import get_effect_or_404, get_run_or_404
from runs.messages import exact, wire_media
from runs.messages.loose import at as value_at
from runs.messages.parts import Media
from runs.messages.rig_parts import part as part_of
from runs.models import Effect
from runs.views.record import members_of

MEMBERS = ("kind", "outcome", "tool_output", "events")
NOTHING_ALLOWED = "default-src 'none'; sandbox"
MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"OggS", 0, "audio/ogg"),
    (b"fLaC", 0, "audio/flac"),
    (b"ftyp", 4, "video/mp4"),
)
"""Signature, offset, type: what may be shown inline is told by its bytes, not by its label."""


@require_safe
def log(request: HttpRequest, slug: str, run_id: str) -> StreamingHttpResponse:
    """The run's effect log, each record as it came, as a file to keep."""
    run = get_run_or_404(request, slug, run_id)
    response = StreamingHttpResponse(logs.as_json(run), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{run.external_id}.effects.json"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def raw(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """The record's bytes, or with `part` those of one member (or the `wire` exchange)."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    part = request.GET.get("part", "")
    response = _text(_bytes(effect, part))
    if request.GET.get("download"):
        name = "-".join(filter(None, [effect.run.external_id, str(seq), part]))
        response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


@require_safe
def value(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """The whole of one recorded value: a text as it is, anything else as JSON."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    found = _pointed_at(request, effect)
    text = found if isinstance(found, str) else exact.pretty(found, effect.length * 20).text
    return _text(text.encode("utf-8", "replace"))


@require_safe
def media(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """Recorded media: drawn if its bytes are of a safe kind, otherwise a download."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    found = _pointed_at(request, effect)
    of_wire = request.GET.get("of") == "wire"
    data = _decoded(wire_media(found) if of_wire else _recorded(found))
    kind = sniff(data)
    response = _guarded(HttpResponse(data, content_type=kind or "application/octet-stream"))
    if kind is None:
        response["Content-Disposition"] = f'attachment; filename="effect-{seq}-media"'
    response["Cache-Control"] = "private, max-age=3600"
    return response


def sniff(data: bytes) -> str | None:
    """The type of media that is safe to show inline, by its first bytes; None for all else."""
    found = (kind for mark, offset, kind in MAGIC if data[offset : offset + len(mark)] == mark)
    return next(found, None)


def _bytes(effect: Effect, part: str) -> bytes:
    if part == "wire":
        wire = segments.read_wire(effect)
        if wire is None:
            raise Http404
        return wire
    data = segments.read(effect)
    return members_of(data).get(part, b"null") if part in MEMBERS else data


def _pointed_at(request: HttpRequest, effect: Effect) -> Any:
    data = _bytes(effect, "wire" if request.GET.get("of") == "wire" else "")
    try:
        return value_at(exact.loads(data), request.GET.get("at", ""))
    except (KeyError, ValueError):
        raise Http404 from None


def _recorded(found: Any) -> object:
    # An image to embed is a bare list of bytes.
    return Media("image", "bytes", found, "", "") if isinstance(found, list) else part_of(found, "")


def _decoded(part: object) -> bytes:
    if not isinstance(part, Media) or not part.inside:
        raise Http404
    try:
        return bytes(part.value) if part.source == "bytes" else _base64(part.value)
    except (ValueError, TypeError, binascii.Error):
        raise Http404 from None


def _base64(text: str) -> bytes:
    standard = text.translate(str.maketrans("-_", "+/"))
    return base64.b64decode(standard + "=" * (-len(standard) % 4))


def _text(data: bytes) -> HttpResponse:
    return _guarded(HttpResponse(data, content_type="text/plain; charset=utf-8"))


def _guarded(response: HttpResponse) -> HttpResponse:
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = NOTHING_ALLOWED
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = "private, no-store"
    return response
