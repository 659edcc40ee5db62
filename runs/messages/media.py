"""Recorded media as bytes, and where it is among what was said."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from runs.messages.parts import Answer, Document, Media, Message, Part, Request, Result

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
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


def sniff(data: bytes) -> str | None:
    """The type of media that is safe to show inline, by its first bytes; None for all else."""
    found = (kind for mark, offset, kind in _MAGIC if data[offset : offset + len(mark)] == mark)
    return next(found, None)


def content(part: Media) -> bytes | None:
    """The bytes of media, None if they are not in the recording or are not what they say."""
    if not part.inside:
        return None
    try:
        return bytes(part.value) if part.source == "bytes" else _base64(part.value)
    except (ValueError, TypeError, binascii.Error):
        return None


def media_in(said: Iterable[Request | Answer | Message | Document | Part]) -> Iterator[Media]:
    """Every medium of requests, answers, turns and parts, those inside of results too."""
    for one in said:
        if isinstance(one, Media):
            yield one
        elif isinstance(one, Request | Answer):
            yield from media_in((*one.messages, *one.parts, *one.documents))
        elif isinstance(one, Message | Document | Result):
            yield from media_in(one.parts)


def _base64(text: str) -> bytes:
    standard = text.translate(_STANDARD) if "-" in text or "_" in text else text
    return base64.b64decode(standard + "=" * (-len(standard) % 4))


_STANDARD = str.maketrans("-_", "+/")
