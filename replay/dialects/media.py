"""Names and bytes of media: Rig's short names, MIME types, and what a file says it is."""

from __future__ import annotations

import base64
import binascii

_MIME = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic",
    "heif": "image/heif",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "rtf": "text/rtf",
    "html": "text/html",
    "css": "text/css",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "xml": "text/xml",
    "javascript": "text/javascript",
    "python": "text/x-python",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "aiff": "audio/aiff",
    "aac": "audio/aac",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/m4a",
    "pcm16": "audio/pcm",
    "pcm24": "audio/pcm",
    "avi": "video/avi",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mov": "video/mov",
    "webm": "video/webm",
}
PDF = "application/pdf"

_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", PDF),
)


def mime_of(name: str | None) -> str | None:
    """A MIME type from Rig's short name; a MIME type stays what it is."""
    if not name:
        return None
    return name if "/" in name else _MIME.get(name.lower())


def sniffed(base64_text: str) -> str | None:
    """The MIME type that the first bytes of base64 data name."""
    head = decoded(base64_text[:24])
    if head is None:
        return None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _MAGIC if head.startswith(magic)), None)


def decoded(base64_text: str) -> bytes | None:
    """The bytes of a base64 text, ``None`` where it is none."""
    try:
        return base64.b64decode(base64_text, validate=True)
    except (binascii.Error, ValueError):
        return None


def as_text(base64_text: str) -> str | None:
    """The text in base64 data, ``None`` where it is no UTF-8."""
    data = decoded(base64_text)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def split_data_url(url: str) -> tuple[str | None, str] | None:
    """MIME type and base64 data of a ``data:`` URL, ``None`` for any other URL."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head.removesuffix(";base64") or None, data
