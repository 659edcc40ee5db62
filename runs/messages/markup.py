"""Recorded text as HTML that can do nothing: escaped, its code coloured by classes, or, when a
reader asks for it, as sanitised Markdown.

The text is a model's or a tool's and may be anything. Every character of it goes through `escape`
or through nh3's list of what is allowed; no image, no style, no address a browser would load.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import TYPE_CHECKING

import nh3
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType
from pygments.util import ClassNotFound

from runs.messages.loose import clean
from runs.messages.pieces import Piece, named

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments.lexer import Lexer

LANGUAGES = {
    "bash", "c", "cpp", "css", "go", "html", "java", "javascript", "json", "kotlin", "lua", "php",
    "python", "ruby", "rust", "sql", "swift", "toml", "tsx", "typescript", "xml", "yaml",
    "dockerfile", "graphql", "csharp", "jsx",
}  # fmt: skip
"""What is coloured. Lexers that took seconds for a hostile text (hcl, scala, ini, pygments' own
for diffs) are not among them."""
LINE = 400
"""Code with longer lines is not coloured: nearly all that makes a lexer slow is one long line."""
DEADLINE = 0.1
"""Seconds after which the rest of a piece stays plain."""
_DIFF_LINES = (("+++", "head"), ("---", "head"), ("@@", "head"), ("diff ", "head"),
               ("index ", "head"), ("+", "add"), ("-", "del"))  # fmt: skip
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "com"),
    (Keyword, "key"),
    (String, "str"),
    (Number, "num"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Tag, "key"),
    (Name.Attribute, "name"),
    (Name.Builtin, "name"),
)
# The tags that prompts are built of; a line of "<" must not cost more than its length.
_TAG = re.compile(r"</?[A-Za-z][\w:.-]{0,60}(?:\s[^<>\n]{0,200})?/?>")
_MARKDOWN = re.compile(
    r"^(?:#{1,6} |[-*+] |\d{1,3}[.)] |> |\|.*\|\s*$|(?:`{3}|~{3}))|\*\*\S|`[^`\n]+`|\]\(\S", re.M
)
_TARGETS = ("http://", "https://", "mailto:")


def prose(text: str) -> str:
    """Plain text, the tags in it marked so that they are seen and not lost among the words."""
    made, at = [], 0
    for match in _TAG.finditer(text):
        made.append(escape(text[at : match.start()]))
        made.append(f'<span class="k-tag">{escape(match[0])}</span>')
        at = match.end()
    made.append(escape(text[at:]))
    return "".join(made)


def code(text: str, language: str) -> str:
    """Code of a language known here in classes, any other escaped."""
    known = named(language)
    if known == "diff":
        return "".join(map(_diff_line, text.splitlines(keepends=True)))
    lexer = _lexer(known)
    if lexer is None or max(map(len, text.splitlines()), default=0) > LINE:
        return escape(text)
    until, made, at = time.monotonic() + DEADLINE, [], 0
    for kind, said in _merged(lexer.get_tokens_unprocessed(text)):
        made.append(_span(kind, said))
        at += len(said)
        if time.monotonic() > until:
            return "".join([*made, escape(text[at:])])
    return "".join(made)


def _span(kind: str, said: str) -> str:
    return f'<span class="k-{kind}">{escape(said)}</span>' if kind else escape(said)


def _diff_line(line: str) -> str:
    kind = next((kind for mark, kind in _DIFF_LINES if line.startswith(mark)), "")
    return _span(kind, line)


def pieces_html(found: Iterable[Piece], colour: bool) -> str:
    made = []
    for piece in found:
        text = clean(piece.text)
        if piece.language is None:
            made.append(prose(text))
        else:
            inner = code(text, piece.language) if colour else escape(text)
            made.append(f'<code class="code" dir="ltr">{inner}</code>')
    return "".join(made)


def looks_like_markdown(text: str) -> bool:
    return bool(_MARKDOWN.search(text[:4_000]))


def markdown(text: str) -> str:
    """Markdown as HTML of a short list of tags; a link shows where it leads."""
    return nh3.clean(
        _parser().render(clean(text)),
        tags=TAGS,
        attributes={"a": {"href"}, "span": {"class"}, "ol": {"start"}},
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank", "hx-boost": "false"}},
    )


TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def _attribute(tag: str, name: str, value: str) -> str | None:
    if tag == "a" and name == "href":  # a relative address would be one of this console
        return value if value.lower().startswith(_TARGETS) else None
    if tag == "span" and name == "class":
        return value if value.startswith("k-") and value[2:].isalpha() else None
    return value


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second that a start need not take

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20, "highlight": _highlighted})
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])
    parser.add_render_rule("link_close", _link_close)
    return parser


def _highlighted(text: str, language: str, _attributes: str) -> str:
    return code(text, language.split(" ")[0])


def _link_close(
    _renderer: object, tokens: list[Token], index: int, _options: object, _env: object
) -> str:
    depth = 0
    for token in reversed(tokens[: index + 1]):
        depth += token.type == "link_close"
        depth -= token.type == "link_open"
        if depth == 0:
            target = str(token.attrGet("href") or "")
            return f'</a> <span class="k-target">{escape(target)}</span>'
    return "</a>"


@cache
def _lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    from pygments.lexers import get_lexer_by_name

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def _merged(tokens: Iterable[tuple[int, _TokenType, str]]) -> Iterable[tuple[str, str]]:
    """Neighbours of one class as one span: half the nodes."""
    last, said = "", ""
    for _, kind, text in tokens:
        name = _class(kind)
        if name != last and said and text.strip():
            yield last, said
            said = ""
        last = name if text.strip() or not said else last
        said += text
    if said:
        yield last, said


@cache
def _class(kind: _TokenType) -> str:
    return next((name for family, name in _CLASSES if kind in family), "")
