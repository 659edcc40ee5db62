"""What was recorded, as files: bytes as they came, one value in full, media, the whole log.

Everything here came from a model or a tool. It is served as plain text or a download, or as media
of a kind browsers only draw, and under a policy that lets it do nothing.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from runs import logs
from runs.access import get_effect_or_404, get_project_or_404, get_run_or_404
from runs.messages import exact, wire_media
from runs.messages.loose import at as value_at
from runs.messages.media import content, sniff
from runs.messages.parts import Media
from runs.messages.rig_parts import part as part_of
from runs.models import Effect
from runs.storage import attachments, segments
from runs.views.record import members_of

MEMBERS = ("kind", "outcome", "tool_output", "events")
PARTS = (*MEMBERS, "wire")
MOST_INDENTED, ROOM = 1_000_000, 4
"""Characters a value may have indented: so many, and so many for each byte of its record."""
NOTHING_ALLOWED = "default-src 'none'; sandbox"
FOR_EVER = "private, max-age=31536000, immutable"
FOR_AN_HOUR = "private, max-age=3600"
"""By its place in a record, where another rule may show another part tomorrow."""


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
    asked = request.GET.get("part", "")
    part = asked if asked in PARTS else ""  # it becomes a piece of the file's name
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
    text = found if isinstance(found, str) else _readable(found, effect.length)
    return _text(text.encode("utf-8", "replace"))


def _readable(value: Any, size: int) -> str:
    """As indented JSON; on one line what nests so deeply that it would be mostly blanks."""
    shown = exact.pretty(value, MOST_INDENTED + ROOM * size)
    return exact.compact(value) if shown.cut else shown.text


@require_safe
def media(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """Recorded media: drawn if its bytes are of a safe kind, otherwise a download."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    found = _pointed_at(request, effect)
    of_wire = request.GET.get("of") == "wire"
    part = wire_media(found) if of_wire else _recorded(found)
    data = content(part) if isinstance(part, Media) else None
    if data is None:
        raise Http404
    return _drawn(data, f"effect-{seq}-media", FOR_AN_HOUR)


@require_safe
def attachment(request: HttpRequest, slug: str, digest: str) -> HttpResponseBase:
    """A medium by the hash of its bytes, the same address wherever it stands in the project."""
    held = attachments.of_project(get_project_or_404(request, slug), digest)
    etag = quote_etag(digest)
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None and held.exists():
        return _kept_by(unchanged, etag)
    data = held.values_list("data", flat=True).first()
    if data is None:
        raise Http404
    return _kept_by(_drawn(bytes(data), digest[:16], FOR_EVER), etag)


def _drawn(data: bytes, name: str, cache: str) -> HttpResponse:
    kind = sniff(data)
    response = _guarded(HttpResponse(data, content_type=kind or "application/octet-stream"))
    if kind is None:
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = cache
    return response


def _kept_by(response: HttpResponseBase, etag: str) -> HttpResponseBase:
    response["ETag"] = etag
    response["Cache-Control"] = FOR_EVER
    return response


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


def _text(data: bytes) -> HttpResponse:
    return _guarded(HttpResponse(data, content_type="text/plain; charset=utf-8"))


def _guarded(response: HttpResponse) -> HttpResponse:
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = NOTHING_ALLOWED
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = "private, no-store"
    return response
