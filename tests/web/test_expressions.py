"""Regular expressions, as the oldest Python that is promised reads them."""

from __future__ import annotations

import re

from started import ROOT

GROUP = re.compile(r"\((?:\?:|\?>)?[^()\n]*\)(?:[*+?]|\{[\d,]*\})\+")
"""A group repeated possessively, as in `(?:ab?)++`."""
SAFE = {
    r"""(?:[^"\\]++|\\.)*+""",
    r"""(?:[.,'’\u00a0\u202f]\d\d*+)*+""",
    r"""(?:\.[\w-][\w-]*+)++""",
    r"""(?:[-_/.#:]\w\w*+)*+""",
    r"""(?:_\w\w*+)++""",
    r"""(?:\.\d\d*+)++""",
    r"""(?:[A-Z][a-z][a-z]*+)++""",
}
"""Behind its first character each can fail at a single character only."""


def test_no_group_is_repeated_possessively_but_these() -> None:
    """Before Python 3.11.5 such a repeat ends behind what its last round only began with
    (python/cpython#106052): on Debian 12 tokens stayed in, and `3, 4` was the number `3,`."""
    sources = [
        p for top in ("runs", "replay", "rewyn_web", "sdk") for p in (ROOT / top).rglob("*.py")
    ]
    found = {text for path in sources for text in GROUP.findall(path.read_text())}
    assert found == SAFE


def test_what_a_name_stands_for_in_a_pattern_is_repeated_so_only_if_it_is_one_character() -> None:
    sources = [p for top in ("runs", "replay") for p in (ROOT / top).rglob("*.py")]
    named = re.compile(r"(?<!\{)\{(\w+)\}[*+?]\+")
    assert {text for p in sources for text in named.findall(p.read_text())} == {"_KEY"}
