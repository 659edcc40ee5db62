"""The body of a request, decompressed and bounded: a body over the limit never fills memory."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import zstandard
from django.conf import settings
from django.http import HttpRequest

from runs.refusals import Refused

_CHUNK = 256 * 1024
_PIECE = 256
_GZIP = 16 + zlib.MAX_WBITS
_ZSTD_WINDOW = 128 * 1024 * 1024
DRAINED = 256 * 1024 * 1024
"""Bytes of a refused body that are read and forgotten."""


SMALL = 8 * 1024 * 1024
"""Bytes of a body that is no log: a question with a whole conversation in it is far below."""


def read_small(request: HttpRequest, most: int = SMALL) -> bytes:
    """A body that is no log: nothing that it could be read to fills memory. Else as `read_body`."""
    return read_body(request, most, most)


def read_body(
    request: HttpRequest, most_sent: int | None = None, most_decoded: int | None = None
) -> bytes:
    """The whole body as the client meant it, within the limits of ingest where no others are given.

    Refused: `unsupported_encoding`, `too_large` (as sent or decompressed, naming the limit),
    `incomplete` (fewer bytes than announced), `malformed` (broken compression).
    """
    most_sent = most_sent or settings.INGEST_MAX_BODY_BYTES
    most_decoded = most_decoded or settings.INGEST_MAX_DECODED_BYTES
    try:
        return _whole(_DECODERS[_encoding(request)](_sent(request, most_sent)), most_decoded)
    except Refused:
        drain(request)
        raise


def _encoding(request: HttpRequest) -> str:
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower() or "identity"
    if encoding not in _DECODERS:
        raise Refused(
            "unsupported_encoding",
            f"Content-Encoding {encoding[:40]!r} is not taken; send {', '.join(_DECODERS)}.",
            accepted=list(_DECODERS),
        )
    return encoding


def _whole(chunks: Iterator[bytes], limit: int) -> bytes:
    whole = io.BytesIO()
    for chunk in chunks:
        if whole.tell() + len(chunk) > limit:
            raise _too_large("The decompressed body", limit)
        whole.write(chunk)
    return whole.getvalue()  # shares its memory, where joining a list of chunks would double it


def drain(request: HttpRequest) -> None:
    """Read the rest, so that a client that sends first and listens then gets its answer.

    Not for one that waits to be asked, nor where the rest would take long.
    """
    waits = "HTTP_EXPECT" in request.META
    announced = _announced(request)
    if waits or (announced or 0) > DRAINED:
        return
    stream, left = _stream(request, announced), DRAINED
    try:
        while left > 0 and (chunk := stream.read(_CHUNK)):
            left -= len(chunk)
    except OSError:
        return


def _too_large(what: str, limit: int) -> Refused:
    return Refused("too_large", f"{what} has more than {limit:,} bytes.", limit=limit)


def _sent(request: HttpRequest, limit: int) -> Iterator[bytes]:
    """The bytes on the wire, up to the limit."""
    announced = _announced(request)
    if announced is not None and announced > limit:
        raise _too_large("The body", limit)
    stream = _stream(request, announced)
    size = 0
    while chunk := _read(stream, min(_CHUNK, limit + 1 - size)):
        size += len(chunk)
        if size > limit:
            raise _too_large("The body", limit)
        yield chunk
    if announced is not None and size < announced:
        raise Refused("incomplete", f"Only {size:,} of {announced:,} bytes arrived.")


def _read(stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except OSError:  # the client went away
        raise Refused("incomplete", "The body ended too early.") from None


def _announced(request: HttpRequest) -> int | None:
    try:
        return max(0, int(request.META.get("CONTENT_LENGTH") or ""))
    except ValueError:
        return None


def _stream(request: HttpRequest, announced: int | None) -> BinaryIO:
    """Django reads nothing where no length is announced (a chunked body): ask the server."""
    if announced is None and "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        stream: BinaryIO = request.META["wsgi.input"]
        return stream
    return request  # type: ignore[return-value]


def _identity(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return chunks


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpack, is_open = zlib.decompressobj(_GZIP), False
    for chunk in chunks:
        while chunk:
            is_open = True
            yield from _inflated(unpack, chunk)
            chunk = b""
            if unpack.eof:  # gzip files may follow one another
                chunk = unpack.unused_data.lstrip(b"\0")
                unpack, is_open = zlib.decompressobj(_GZIP), False
    if is_open:
        raise Refused("incomplete", "The gzip body ends too early.")


def _inflated(unpack: Any, chunk: bytes) -> Iterator[bytes]:
    try:
        while True:
            out = unpack.decompress(chunk, _CHUNK)
            yield out
            chunk = unpack.unconsumed_tail
            if not chunk and len(out) < _CHUNK:
                return
    except zlib.error as error:
        raise Refused("malformed", f"The body is not gzip: {error}.") from None


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpack, is_open = _zstd_frame(), False
    try:
        for piece in _small(chunks):
            while piece:
                is_open = True
                yield unpack.decompress(piece)
                piece = b""
                if unpack.eof:  # frames may follow one another
                    piece = unpack.unused_data
                    unpack, is_open = _zstd_frame(), False
    except zstandard.ZstdError as error:
        raise Refused("malformed", f"The body is not zstd: {error}.") from None
    if is_open:
        raise Refused("incomplete", "The zstd body ends too early.")


def _zstd_frame() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


def _small(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of which each unpacks to a few blocks at most: four bytes may tell 128 KiB."""
    for chunk in chunks:
        yield from (chunk[at : at + _PIECE] for at in range(0, len(chunk), _PIECE))


_DECODERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "identity": _identity,
    "gzip": _gunzip,
    "zstd": _unzstd,
}
