"""Memory loads and retrieved documents that the next model request must carry as they came."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from replay.proof.ledger import Ledger
from replay.proof.reading import Line, plain
from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.facts import as_list, as_object


@dataclass(slots=True)
class Context:
    """Loads and searches wait for the next completion of the same agent."""

    ledger: Ledger
    _loads: dict[tuple[Any, ...], Line] = field(default_factory=dict)
    _searches: dict[tuple[Any, ...], list[Line]] = field(default_factory=lambda: defaultdict(list))

    def loaded(self, line: Line) -> None:
        if isinstance(line.ok.get("messages"), list):
            self._loads[line.owned] = line

    def searched(self, line: Line) -> None:
        if isinstance(line.ok.get("results"), list):
            self._searches[line.owned].append(line)

    def completion(self, line: Line) -> None:
        load = self._loads.pop(line.owned, None)
        if load is not None:
            self._hold_load(load, line)
        start = 0
        for search in self._searches.pop(line.owned, []):
            if search.ok.get("retrieved") == "ids":
                self._hold_tools(search, line)
            else:
                start = self._hold_documents(search, line, start)

    def _hold_load(self, load: Line, line: Line) -> None:
        loaded, history = as_list(load.ok["messages"]), line.history
        start = _find(loaded, history)
        told = history[start : start + len(loaded)]
        behind = history[start + len(loaded) :]
        if any(as_object(message).get("role") == "assistant" for message in behind):
            told = history[start:-1]  # a turn nobody loaded; the last message is the prompt
        for index in range(max(len(loaded), len(told))):
            expected, found = loaded[index : index + 1], told[index : index + 1]
            if canonical_json(plain(expected)) == canonical_json(plain(found)):
                continue
            self._hold_message(load, line, index, start, expected, found)
            return
        self.ledger.settle(load.seq, "proven")

    def _hold_message(
        self, load: Line, line: Line, index: int, start: int, expected: Any, found: Any
    ) -> None:
        inside = f"/{index}" if expected else ""
        at = line.history_path(start + index) if found else "/kind/request"
        self.ledger.compare(
            "a loaded message",
            load.place(f"/outcome/Ok/messages{inside}"),
            plain(expected[0]) if expected else None,
            line.place(at),
            plain(found[0]) if found else None,
        )

    def _hold_documents(self, search: Line, line: Line, start: int) -> int:
        """Check one search's hits; returns where the next one's documents may begin."""
        hits = [as_list(hit) for hit in as_list(search.ok["results"])]
        documents = as_list(as_object(line.kind.get("request")).get("documents"))
        first = _first_place(hits, documents, start)
        if first is None:
            if not _is_for(search, "context") or not hits:
                return start
            first = min(start, len(documents))
        for index, hit in enumerate(hits):
            document = as_object((documents[first + index :] or [None])[0])
            if not self._hold_document(search, line, index, first + index, hit, document):
                return start
        return first + len(hits)

    def _hold_document(
        self, search: Line, line: Line, index: int, place: int, hit: list[Any], found: Any
    ) -> bool:
        recorded, at = f"/outcome/Ok/results/{index}", f"/kind/request/documents/{place}"
        name, value = (*hit, None, None, None)[1:3]
        same = self.ledger.compare(
            "a document's id",
            search.place(f"{recorded}/1"),
            name,
            line.place(f"{at}/id"),
            found.get("id"),
        )
        return same and self.ledger.compare(
            "a document",
            search.place(f"{recorded}/2"),
            value,
            line.place(f"{at}/text"),
            _said(found.get("text"), value),
        )

    def _hold_tools(self, search: Line, line: Line) -> None:
        names = [(*as_list(hit), None, None)[1] for hit in as_list(search.ok["results"])]
        tools = as_list(as_object(line.kind.get("request")).get("tools"))
        offered = [as_object(tool).get("name") for tool in tools]
        if not _is_for(search, "tools") and not set(map(str, names)) & set(map(str, offered)):
            return
        for index, name in enumerate(names):
            found = (offered[index:] or [None])[0]
            recorded = search.place(f"/outcome/Ok/results/{index}/1")
            at = line.place(f"/kind/request/tools/{index}/name")
            if not self.ledger.compare("a found tool", recorded, name, at, found):
                return


def _find(loaded: list[Any], history: list[Any]) -> int:
    """Where the loaded messages stand in a request: as they are, else behind the system text."""
    wanted = [canonical_json(plain(message)) for message in loaded]
    there = [canonical_json(plain(message)) for message in history]
    for start in range(len(there) - len(wanted) + 1):
        if wanted and there[start : start + len(wanted)] == wanted:
            return start
    roles = [as_object(message).get("role") for message in history]
    return next((i for i, role in enumerate(roles) if role != "system"), len(roles))


def _first_place(hits: list[list[Any]], documents: list[Any], start: int) -> int | None:
    """Where the documents of a search begin: at the first of its ids, whatever their order."""
    ids = [as_object(document).get("id") for document in documents]
    names = [(*hit, None, None)[1] for hit in hits]
    there = [(ids.index(n, start), i) for i, n in enumerate(names) if n in ids[start:]]
    if len(there) == len(names):
        return min((place for place, _ in there), default=None)
    return max(there[0][0] - there[0][1], start) if there else None


def _is_for(search: Line, purpose: str) -> bool:
    """Whether the key says, by Rig's convention, what the hits are for."""
    return f"retrieve:{purpose}" in search.key


def _said(text: Any, value: Any) -> Any:
    """A document's text as the value it spells; a plain text stays one."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
