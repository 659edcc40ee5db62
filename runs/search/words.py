"""Text as a row of words, the same for what is indexed and for what is asked. Pure.

Both databases index these words as they are, so both find the same. A word is

- letters, digits and their marks in a row, without case, accents and width (`Café` is `cafe`,
  `ｶﾞ` is `ガ`, `٣` is `3`); punctuation only separates, so `order_8812` is `order` and `8812`;
- in scripts written without spaces, each character with the next one (`東京都` is `東京 京都 都`):
  any piece of such a text is then a row of whole words, and one character the start of one;
- a symbol by itself, such as an emoji.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

BREAK = "¶"
"""A word no text has: what stands on its two sides is not side by side."""
BETWEEN = "\u2029"
"""Separates texts that are indexed as one."""
LONGEST = 64
"""A longer word is cut into words of this length, asked and indexed alike."""
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{1000,}={0,2}")
"""What has no end of a word in a thousand characters is base64 or the like, and is left out."""

_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x109F),  # Tibetan, Myanmar
    (0x1100, 0x11FF),  # Hangul, in parts
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x318F),  # Kana, Bopomofo, Hangul, in parts
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA000, 0xA48C),  # Yi
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)
"""Scripts of which a reader looks for pieces, not for words between spaces."""
_ACCENTS = (
    "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
"""Marks that are left out. Those of scripts that cannot be read without them stay."""
_JOINING = "\u1160-\u11ff\u3099\u309a\uff9e\uff9f"
"""What becomes one character with the one before it."""
_CLUSTER = re.compile(rf"[^\x00-\x7f]?[{_ACCENTS}{_JOINING}]+|[^\x00-\x7f][{_JOINING}]*")
_DROPPED = re.compile(rf"[{_ACCENTS}]")


class Placed(NamedTuple):
    """Words with the places in their text where each starts and ends."""

    words: list[str]
    starts: list[int]
    ends: list[int]


def fold(text: str) -> str:
    """Without case, accents and width."""
    return text.lower() if text.isascii() else _CLUSTER.sub(_folded, text).lower()


def one_text(text: str) -> str:
    """A text that is no two: it may have `BETWEEN` in it, which separates as any blank."""
    return text.replace(BETWEEN, " ")


def words(text: str) -> list[str]:
    """The words of `text` in order."""
    found: list[str] = []
    for part in text.split(BETWEEN):
        if found:
            found.append(BREAK)
        found += _ascii_words(part) if part.isascii() else _words(fold(part))
    return found


def placed(text: str) -> Placed:
    """The words of `text`, each with where it stands."""
    if text.isascii():
        found = list(_ASCII_WORD.finditer(text.lower()))
        spans = [match.span() for match in found]
        return Placed([m[0] for m in found], [s[0] for s in spans], [s[1] for s in spans])
    folded, starts, ends = _with_origin(text)
    made: list[tuple[str, int, int]] = []
    for match in _token().finditer(folded):
        run, (first, last) = match[0], match.span()
        if _is_spaceless(run):
            pairs = ((at, min(at + 2, last)) for at in range(first, last))
            made += [(folded[a:b], starts[a], ends[b - 1]) for a, b in pairs]
        else:
            made.append((BREAK if run == BETWEEN else run, starts[first], ends[last - 1]))
    words_, starts_, ends_ = zip(*made, strict=True) if made else ((), (), ())
    return Placed(list(words_), list(starts_), list(ends_))


def asked(text: str) -> tuple[list[str], bool]:
    """The words to look for in a row, and whether the last is the start of one.

    It is where the text ends within a script written without spaces: anything may follow.
    """
    runs = _token().findall(fold(one_text(text)))
    found = [word for run in runs for word in _cut(run)]
    if not found or not _is_spaceless(runs[-1]):
        return found, False
    return (found, True) if len(runs[-1]) == 1 else (found[:-1], False)


def without_blobs(text: str) -> str:
    """`text` without base64 and the like, which is not searched."""
    return _BLOB.sub(BETWEEN, text) if len(text) >= 1000 else text


def _words(folded: str) -> list[str]:
    found: list[str] = []
    for run in _token().findall(folded):
        found += (run,) if run.isascii() else _cut(run)
    return found


def _cut(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run))] if _is_spaceless(run) else [run]


def _is_spaceless(run: str) -> bool:
    return not run.isascii() and _spaceless().match(run) is not None


def _folded(match: re.Match[str]) -> str:
    return _fold_cluster(match[0])


@lru_cache(20_000)
def _fold_cluster(cluster: str) -> str:
    if cluster == BETWEEN:
        return BETWEEN
    plain = _DROPPED.sub("", unicodedata.normalize("NFKD", cluster))
    made = unicodedata.normalize("NFKC", plain.casefold())
    return "".join(map(_fold_char, made))


def _fold_char(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    return "" if category == "Cf" else char  # joiners, direction marks, soft hyphens


_ASCII_WORD = re.compile(rf"[a-z0-9]{{1,{LONGEST}}}")
_ASCII = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256)).lower()


def _ascii_words(text: str) -> list[str]:
    found = text.encode().translate(_ASCII).decode().split()
    if max(map(len, found), default=0) <= LONGEST:
        return found
    return [word[at : at + LONGEST] for word in found for at in range(0, len(word), LONGEST)]


@lru_cache(1)
def _token() -> re.Pattern[str]:
    """A run of letters, of a script without spaces, a symbol, or what separates texts."""
    spaceless, marks = _spaceless_class(), _class_of(range(0x300, 0x10000), ("Mn", "Mc", "Me"))
    symbols = (
        _class_of(range(0x80, 0x10000), ("So",)) + "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
    )
    letters = rf"(?:[^\W_{spaceless}]|[{marks}]){{1,{LONGEST}}}"
    return re.compile(rf"[{spaceless}]+|{letters}|[{symbols}]|{BETWEEN}")


@lru_cache(1)
def _spaceless() -> re.Pattern[str]:
    return re.compile(f"[{_spaceless_class()}]")


@lru_cache(1)
def _spaceless_class() -> str:
    bmp = (_class_of(range(first, last + 1), ("L", "M", "N")) for first, last in _SPACELESS[:-2])
    return "".join(bmp) + "".join(f"{chr(first)}-{chr(last)}" for first, last in _SPACELESS[-2:])


def _class_of(codes: range, categories: tuple[str, ...]) -> str:
    """The characters of these categories, as the inside of a regular expression's class."""
    found: list[list[int]] = []
    for code in codes:
        if not unicodedata.category(chr(code)).startswith(categories):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


def _with_origin(text: str) -> tuple[str, list[int], list[int]]:
    """The folded text, and where what became each of its characters starts and ends in `text`."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in _CLUSTER.finditer(text):
        plain, made = text[at : match.start()].lower(), _fold_cluster(match[0]).lower()
        parts += (plain, made)
        starts += (*range(at, match.start()), *[match.start()] * len(made))
        ends += (*range(at + 1, match.start() + 1), *[match.end()] * len(made))
        at = match.end()
    parts.append(text[at:].lower())
    starts += range(at, len(text))
    ends += range(at + 1, len(text) + 1)
    return "".join(parts), starts, ends
