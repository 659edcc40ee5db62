"""How recorded bytes are compressed: zstd, with a dictionary of the format for what is small.

Most runs are smaller than zstd needs to learn the names of a record's members. A dictionary has
them from the start. It holds the format and nobody's text (`bench.format_dictionary`), so that a
run that is deleted leaves nothing in it (ADR 11).
"""

from __future__ import annotations

import threading
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import zstandard

DICTIONARIES = {1: "4c7a7dbbfcdc95171fe4511a2ff0f65e"}
"""Number → blake2b-128 of `dictionaries/<number>.txt`. What is compressed begins with the number
of its dictionary, so one that was ever used stays for ever, as it is."""
NEWEST = 1
SMALL_BYTES = 256 * 1024
"""More than that learns the names by itself, and needs a wider window."""
LEVEL = 3
_SMALL = zstandard.ZstdCompressionParameters(
    strategy=zstandard.STRATEGY_LAZY,
    window_log=18,
    hash_log=14,
    chain_log=14,
    search_log=4,
    min_match=4,
)
"""With a dictionary a quarter fewer bytes of real logs than level 3 without, a sixth of a run of
70 KB, for 0.24 ms."""
_FRAME = 0x28
"""The first byte of zstd's own magic number: compressed without a dictionary."""
assert _FRAME not in DICTIONARIES
_mine = threading.local()


def compress(data: bytes) -> bytes:
    if len(data) > SMALL_BYTES:
        return zstandard.ZstdCompressor(level=LEVEL).compress(data)
    return bytes([NEWEST]) + _compressor().compress(data)


def decompress(data: bytes | memoryview) -> bytes:
    """What `compress` was given, now or in an earlier version. Raises zstandard.ZstdError."""
    if data[0] == _FRAME:
        return zstandard.ZstdDecompressor().decompress(data)
    words = dictionary(data[0])
    return zstandard.ZstdDecompressor(dict_data=words).decompress(data[1:])


def _compressor() -> zstandard.ZstdCompressor:
    """One a thread: it may not be used by two at once, and making it costs as much as its work."""
    kept: zstandard.ZstdCompressor | None = getattr(_mine, "compressor", None)
    if kept is None:
        words = dictionary(NEWEST)
        kept = zstandard.ZstdCompressor(dict_data=words, compression_params=_SMALL)
        _mine.compressor = kept
    return kept


@lru_cache
def dictionary(number: int) -> zstandard.ZstdCompressionDict:
    if number not in DICTIONARIES:
        raise zstandard.ZstdError(f"compressed with dictionary {number}, of a later version")
    words = (Path(__file__).parent / "dictionaries" / f"{number}.txt").read_bytes()
    if blake2b(words, digest_size=16).hexdigest() != DICTIONARIES[number]:
        raise zstandard.ZstdError(f"dictionary {number} is not what it was")
    made = zstandard.ZstdCompressionDict(words, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    if number == NEWEST:
        made.precompute_compress(compression_params=_SMALL)
    return made
