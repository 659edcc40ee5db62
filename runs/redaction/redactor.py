"""Secrets are taken out before anything is stored.

Well-known secrets are found by what they start with: a search for the fixed start of each kind runs
over the bytes as received (memory speed), and only where one is found are the strings decoded and
matched. A record without secrets therefore keeps its very bytes at almost no cost. JSON may spell a
letter as `\\u0073`; a record that does so is always decoded, and a string that is itself JSON with
such escapes is looked at without them too. In a record with a secret only the string that holds it
is written anew.

Every pattern here is linear: either its length is bounded, or no match can begin inside the run of
characters that a failed match has passed over.

A project's own rules (`Project.redaction_rules`, read by `runs.redaction.rules`) are patterns too
(`runs.own_patterns`), or name a place (`runs.redaction.fields`).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick
from django.utils.crypto import salted_hmac

from runs.messages.loose import clean
from runs.redaction.fields import Field, Fields
from runs.redaction.json_places import STRING, Place, decoded, quoted


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: what is matched, and what the bytes of a text that has it must match."""

    name: str
    pattern: re.Pattern[str]
    """What its group `kept` matches is no part of the secret and stays."""
    likely: re.Pattern[bytes] | None = None
    """Begins with fixed letters, so that a search runs at memory speed. It may match more than
    `pattern`, but never across a quotation mark. One with a group counts only where the
    group matches. None for a rule that is always tried."""
    needs: str = ""
    """A text without these letters has no match."""
    starts: tuple[bytes, ...] = ()
    """A text without any of these bytes has no `likely` match; `needs` if none are given."""
    is_secret: Callable[[str], bool] | None = None
    """Has the last word on what `pattern` matched."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where something was taken out: JSON pointer, rule, keyed hash of what stood there."""

    path: str
    rule: str
    hmac: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "rule": self.rule, "hmac": self.hmac}


MAX_PATH = 1000
"""Characters of a mark's path; a longer one is cut."""

_KEY = r"[A-Za-z0-9_\-]"
_BEHIND_ESCAPE = r"(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-fA-F])"
"""In JSON inside a text a line break is spelled with a letter, which is none of the next word."""
_BEFORE = rf"(?:(?<![A-Za-z0-9])|{_BEHIND_ESCAPE})"
_PEM = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?"
_TOKEN68 = r"[A-Za-z0-9_\-.~+/]"
_BLANKS = r"(?>(?:[ \t]++|\\++(?:t|u0009)){1,64})"
"""Blanks as they are, or as JSON spells them."""
_SLASHES = r":\\*+/\\*+/"


def _is_login(secret: str) -> bool:
    """Whether it is base64 of `user:password`, and not just a word behind "basic"."""
    try:
        login = binascii.a2b_base64(secret.rstrip("=") + "==").decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in login and login.isprintable()


def _token(name: str, needs: str, pattern: str, *starts: bytes) -> Rule:
    """A secret that is one word."""
    likely = re.compile(pattern.encode())
    return Rule(name, re.compile(_BEFORE + pattern), likely, needs, starts)


def _context(name: str, needs: str, pattern: str, likely: str, *starts: bytes) -> Rule:
    """A secret that is known by what stands beside it."""
    return Rule(name, re.compile(pattern), re.compile(likely.encode()), needs, starts)


def _bearer(needs: str, word: str) -> Rule:
    return _context(
        "bearer-token",
        needs,
        rf"(?P<kept>{word}{_BLANKS}){_TOKEN68}{{16,}}+={{0,2}}",
        rf"{needs}{_BLANKS}[A-Za-z0-9_\-.~+/\\]{{16}}",
    )


def _basic(needs: str, word: str) -> Rule:
    # So many small letters in a row are a word, not base64 of a login.
    return Rule(
        "basic-login",
        re.compile(rf"(?P<kept>{word}{_BLANKS})[A-Za-z0-9+/]{{8,}}+={{0,2}}"),
        re.compile(rf"{needs}{_BLANKS}(?=[a-z]{{0,15}}[A-Z0-9+/\\])[A-Za-z0-9+/\\]{{8}}".encode()),
        needs,
        is_secret=_is_login,
    )


BUILT_IN: tuple[Rule, ...] = (
    _token("anthropic-key", "sk-ant-", rf"sk-ant-{_KEY}{{16,200}}+"),
    # Words with hyphens are no key: the last part is long.
    _token(
        "openai-key",
        "sk-",
        r"sk-(?!ant-)(?:[A-Za-z0-9]{1,20}[\-_]){0,4}[A-Za-z0-9_]{16}[A-Za-z0-9_\-]{0,250}+",
    ),
    _token("aws-key-id", "IA", r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])", b"AKIA", b"ASIA"),
    _token("google-key", "AIza", rf"AIza{_KEY}{{35}}"),
    _token(
        "github-token",
        "gh",
        r"gh(?:[pousr]_[A-Za-z0-9]{36,255}+)",
        *(b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
    ),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}+"),
    _token("gitlab-token", "glpat-", rf"glpat-{_KEY}{{20,64}}+"),
    _token("slack-token", "xox", r"xox[bpars]-[A-Za-z0-9\-]{10,250}+"),
    _context(
        "stripe-key",
        "k_",
        _BEFORE + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+",
        r"k_(?:live|test)_[A-Za-z0-9]{16}",
        *(b"k_live_", b"k_test_"),
    ),
    _token("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,64}+"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{32,128}+"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{32,128}+"),
    _token("rewyn-key", "rw_", rf"rw_{_KEY}{{32}}(?![A-Za-z0-9_\-])"),
    # Begins where a run of its letters begins, so that each run is passed over once.
    _context(
        "jwt",
        "eyJ",
        rf"(?<!{_KEY})(?P<kept>(?>{_KEY}*?{_BEFORE}(?=eyJ)))"
        rf"eyJ{_KEY}{{8,}}+\.{_KEY}{{8,}}+\.{_KEY}{{8,}}+",
        rf"eyJ{_KEY}*+(\.{_KEY}{{8,}}+\.{_KEY}{{8}})?",
    ),
    _bearer("earer", "[Bb]earer"),
    _bearer("EARER", "BEARER"),
    _basic("asic", rf"(?:\b|{_BEHIND_ESCAPE})[Bb]asic"),
    _basic("ASIC", rf"(?:\b|{_BEHIND_ESCAPE})BASIC"),
    # Without an end, everything that follows is taken for the key.
    _context(
        "private-key",
        "PRIVATE KEY",
        rf"-----BEGIN {_PEM}-----[\s\S]*?(?:-----END {_PEM}-----|\Z)",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY",
    ),
    _context(
        "url-password",
        "@",
        rf"(?P<kept>{_SLASHES})[^\s/:@\"']*+:[^\s/@\"']++(?=@)",
        r"://[^\s/:@\"']*+:[^\s/@\"']++@",
        b"://",
    ),
)
"""Checked in this order; the first that matches a text takes it."""

_LIKELY = [rule.likely for rule in BUILT_IN if rule.likely]
_ESCAPED = -1
_ESCAPES = (b"\\/", b"\\u00")
_STARTS = [
    (start, number)
    for number, rule in enumerate(BUILT_IN)
    for start in rule.starts or (rule.needs.encode(),)
]
_OF_RULE = [number for _, number in _STARTS] + [_ESCAPED] * len(_ESCAPES)
_search = BytesAhoCorasick([start for start, _ in _STARTS] + list(_ESCAPES))
_SEARCHED_AT_ONCE = 256 * 1024
"""Bytes; a match is a tuple, and hostile bytes are nothing but matches."""
_LONGEST_START = 16
_ASCII_ESCAPE = re.compile(rb"\\u00[2-7]")
_ESCAPED_SLASHES = re.compile(rb":(?:\\++/\\*+/|/\\++/)")
_INNER_ESCAPE = re.compile(r"(?<!\\)\\++(?:/|u00(?!22|5[cC]|7[fF])([2-7][0-9a-fA-F]))")
"""How JSON inside a text may spell a character that needs no escape: `\\/`, `\\u0073`."""


class Redactor:
    """What to take out for one project: the built-in kinds and the project's own."""

    def __init__(self, own: Sequence[Rule] = (), fields: Sequence[Field] = ()) -> None:
        self.own = tuple(own)
        self.fields = Fields(fields)

    def may_hold_secrets(self, data: bytes) -> bool:
        """A quick look at the bytes of a whole request; False means nothing is in there."""
        if self.own or self.fields.may_be_in(data):
            return True
        found = _rules_begun(data)
        if _ESCAPED in found and _is_escaped(data):
            return True
        return any(_is_likely(_LIKELY[n], data) for n in sorted(found) if n != _ESCAPED)

    def json(self, data: bytes) -> tuple[bytes, list[Mark]]:
        """A JSON text without its secrets, and where they were. Without any, the same bytes."""
        if not self.may_hold_secrets(data):
            return data, []
        names = _Names(self)
        out: list[bytes] = []
        marks: list[Mark] = []
        if self.fields.may_be_in(data):
            data, taken = self.fields.take(data)
            marks = [Mark(names.pointer(steps), rule, _hashed(was)) for steps, rule, was in taken]
        done, place = 0, Place(data)
        for token in STRING.finditer(data):
            text = decoded(token[0])
            without, found = self.text(text)
            if not found:
                continue
            path = names.pointer(place.steps(token))
            marks += [Mark(path, rule, hmac) for rule, hmac in found]
            out += [data[done : token.start()], quoted(without)]
            done = token.end()
        return b"".join([*out, data[done:]]), marks

    def text(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """A text without its secrets, and (rule, keyed hash) of each one taken out."""
        found: list[tuple[str, str]] = []
        if "\\" in text:
            plain = self._without(_INNER_ESCAPE.sub(_letter, text), found)
            text = plain if found else text
        return self._without(text, found), found

    def _without(self, text: str, found: list[tuple[str, str]]) -> str:
        for rule in (*BUILT_IN, *self.own):
            if rule.needs in text:
                text = rule.pattern.sub(_taken(rule, found), text)
        return text


def _rules_begun(data: bytes) -> set[int]:
    """Numbers of the built-in rules whose start is somewhere in the bytes, in one pass over them.

    `_ESCAPED` is among them if there may be an escaped letter.
    """
    begun: set[int] = set()
    for at in range(0, len(data), _SEARCHED_AT_ONCE):
        piece = data[at : at + _SEARCHED_AT_ONCE + _LONGEST_START]
        matches = _search.find_matches_as_indexes(piece, overlapping=True)
        begun.update(_OF_RULE[match[0]] for match in matches)
    return begun


def _is_likely(likely: re.Pattern[bytes], data: bytes) -> bool:
    if not likely.groups:
        return likely.search(data) is not None
    return any(found[likely.groups] for found in likely.finditer(data))


def _letter(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else "/"


def _taken(rule: Rule, found: list[tuple[str, str]]) -> Callable[[re.Match[str]], str]:
    has_kept = "kept" in rule.pattern.groupindex

    def take(match: re.Match[str]) -> str:
        kept = match["kept"] if has_kept else ""
        secret = match[0][len(kept) :]
        if not secret or secret.startswith("[redacted:"):
            return match[0]
        if rule.is_secret is not None and not rule.is_secret(secret):
            return match[0]
        found.append((rule.name, _hashed(secret)))
        return f"{kept}[redacted:{rule.name}]"

    return take


def _hashed(secret: str) -> str:
    return keyed_hash(secret.encode("utf-8", "surrogatepass"))


def keyed_hash(data: bytes) -> str:
    """Tells equal secrets from different ones without telling them: HMAC under SECRET_KEY."""
    return salted_hmac("runs.redaction", data, algorithm="sha256").hexdigest()[:32]


def _is_escaped(data: bytes) -> bool:
    """Whether some plain letter is spelled as an escape, so that the bytes do not show it."""
    if b"\\/" in data and _ESCAPED_SLASHES.search(data):
        return True
    return b"\\u00" in data and _ASCII_ESCAPE.search(data) is not None


class _Names(dict[int | str, str]):
    """Steps of a path as they may be shown: a key may be a secret itself."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __missing__(self, step: int | str) -> str:
        text = str(step) if isinstance(step, int) else self._redactor.text(step)[0]
        self[step] = "/" + text[:MAX_PATH].replace("~", "~0").replace("/", "~1")
        return self[step]

    def pointer(self, steps: Iterable[int | str]) -> str:
        """The JSON pointer (RFC 6901)."""
        path = ""
        for step in steps:
            path += self[step]
            if len(path) > MAX_PATH:
                break
        return clean(path[:MAX_PATH])
