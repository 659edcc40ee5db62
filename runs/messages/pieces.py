"""A text cut into what is prose and what is code in it, every character kept."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]{0,30})[^\n`]*\n", re.M)
_DIFF = re.compile(r"\A(?:diff --git |Index: |--- [^\n]*\n\+\+\+ |@@ -\d)")
_SHEBANG = re.compile(r"\A#![^\n]*\b(python|bash|sh|node|ruby|perl)\d?\b")
_OTHER_NAMES = {"py": "python", "sh": "bash", "shell": "bash", "node": "javascript",
                "js": "javascript", "ts": "typescript", "yml": "yaml", "patch": "diff",
                "rs": "rust", "golang": "go", "c++": "cpp", "text": "", "txt": ""}  # fmt: skip
_BY_KEY = {"code": "python", "python": "python", "sql": "sql", "patch": "diff", "diff": "diff",
           "command": "bash", "cmd": "bash", "bash": "bash", "script": "bash",
           "html": "html", "yaml": "yaml"}  # fmt: skip
_PYTHON = re.compile(r"^(?:import |from \w+ import |def |class |print\()", re.M)
_SQL = re.compile(r"\A\s*(?:select|with|insert into|update|create|delete from|alter)\s", re.I)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text. `language` names the code that it is; None means prose."""

    text: str
    language: str | None = None


def pieces(text: str) -> list[Piece]:
    """`text` as prose and code, in order; joined they are `text` again."""
    whole = language_of(text)
    return [Piece(text, whole)] if whole else list(_fenced(text))


def language_of(text: str, key: str = "") -> str | None:
    """The language of a text that is code as a whole: told by its first line, or by the name
    (`sql`, `code`) under which it was given and its looks."""
    if _DIFF.match(text):
        return "diff"
    if found := _SHEBANG.match(text):
        return named(found[1])
    told = _BY_KEY.get(key.lower())
    if told == "python":
        return "python" if _PYTHON.search(text) else None
    if told == "sql" or key.lower() in ("query", "statement"):
        return "sql" if _SQL.match(text) else None
    return told


def named(language: str) -> str:
    lowered = language.lower()
    return _OTHER_NAMES.get(lowered, lowered)


def split(found: list[Piece], size: int) -> tuple[list[Piece], list[Piece]]:
    """The pieces up to about `size` characters, cut at the end of a line, and the rest."""
    head: list[Piece] = []
    room = size
    for index, piece in enumerate(found):
        if len(piece.text) > room:
            at = piece.text.rfind("\n", 0, room) + 1 or room
            head.append(Piece(piece.text[:at], piece.language))
            return head, [Piece(piece.text[at:], piece.language), *found[index + 1 :]]
        head.append(piece)
        room -= len(piece.text)
    return head, []


def _fenced(text: str) -> Iterator[Piece]:
    at = 0
    while opening := _FENCE.search(text, at):
        closing = re.compile(rf"^{re.escape(opening['fence'])}[ \t]*$", re.M)
        close = closing.search(text, opening.end())
        end = close.start() if close else len(text)
        language = named(opening["language"])
        yield from _piece(text[at : opening.end()])
        code = text[opening.end() : end]
        yield from _piece(code, language or ("diff" if _DIFF.match(code) else ""))
        if close is None:
            return
        # The closing fence is prose again: the next search must not take it for an opening one.
        yield Piece(close[0])
        at = close.end()
    yield from _piece(text[at:])


def _piece(text: str, language: str | None = None) -> Iterator[Piece]:
    if text:
        yield Piece(text, language)
