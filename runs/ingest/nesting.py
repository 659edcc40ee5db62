"""Effects inside effects: how deep each one stands, and which parents only repeat their children.

A parent may come after its children, in another batch. A parent that is not here (yet) leaves its
child at depth 0, counted in the run's ledger; parents in a circle stand at depth 0 and are named in
a warning. Both are looked at again when an effect comes that could be such a parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runs import bulk, usage
from runs.ingest import ledger
from runs.ingest.items import Item
from runs.models import Effect, Run

MAX_DEPTH = 1000
"""Deeper effects are shown at this depth."""


@dataclass(slots=True, eq=False)
class Node:
    """An effect as this module sees it; `pk` is None for one that comes with this request."""

    effect_id: str
    parent_id: str
    family: str
    used: usage.Usage
    cost: Decimal | None
    seq: int
    depth: int = 0
    counted: bool = False
    pk: int | None = None


class Nest:
    """The new effects of a request among those that are stored."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = list(items)
        self.new: dict[str, Node] = {}
        self.stored: dict[str, Node] = {}
        self.warnings: list[dict[str, Any]] = []
        self.orphans = 0
        self._before: dict[str, tuple[int, bool]] = {}
        self._run_pk: int | None = None
        self._is_nested = any(item.facts.parent_id for item in self.items)

    def settle(self, run: Run | None) -> None:
        """Work out depths and what counts; `run` is None for a run that is not stored yet."""
        late: set[str] = set()
        awaited = run is not None and bool(run.ledger.get("orphans"))
        if not self._is_nested and not awaited:
            return
        self.new = {item.facts.effect_id: _of_item(item) for item in self.items}
        if run is not None:
            self._run_pk = run.pk
            late = self._meet_stored(run)
        if self._is_nested or late:
            self._deepen(late)
            self._count(late)
            self._write_items()

    def correct(self, run: Run) -> None:
        """Take out of, or put back into, the run's sums the stored effects whose part changed."""
        ledger.add(run, "orphans", self.orphans)
        for effect_id, (_, counted) in self._before.items():
            node = self.stored[effect_id]
            if node.counted != counted:
                sign = 1 if node.counted else -1
                ledger.add_tokens(run, node.used, node.family, node.cost, sign)

    def write_stored(self) -> None:
        """Store what changed about effects that were there before."""
        changed = [
            (node.depth, node.counted, node.pk)
            for effect_id, before in self._before.items()
            if before != ((node := self.stored[effect_id]).depth, node.counted)
        ]
        bulk.update(Effect, ("depth", "counted"), changed)

    # --- Stored ones

    def _meet_stored(self, run: Run) -> set[str]:
        """Read the stored effects that matter; gives the ids of late parents among the new."""
        effects = Effect.objects.filter(run_id=run.pk)
        late: set[str] = set()
        if run.ledger.get("orphans"):
            children = effects.filter(parent_id__in=list(self.new)).exclude(parent_id="")
            self._take(children)
            late = {node.parent_id for node in self.stored.values()}
            if late:  # depths below them change too
                self.orphans -= len(self.stored)
                self._take(effects.exclude(parent_id=""))
        missing = self._parents() - self.new.keys() - self.stored.keys()
        if missing:
            self._take(effects.filter(effect_id__in=list(missing)))
        return late

    def _take(self, effects: Any) -> None:
        for row in effects.values_list(*_COLUMNS):
            node = _of_row(row)
            self.stored.setdefault(node.effect_id, node)
            self._before.setdefault(node.effect_id, (node.depth, node.counted))

    def _parents(self) -> set[str]:
        nodes = (*self.new.values(), *self.stored.values())
        return {node.parent_id for node in nodes if node.parent_id}

    # --- Depth

    def _deepen(self, late: set[str]) -> None:
        nodes = {**self.stored, **self.new}
        moved = nodes if late else self.new
        held = {} if late else {effect_id: node.depth for effect_id, node in self.stored.items()}
        parents = {e: node.parent_id for e, node in nodes.items() if e not in held}
        found, circle = depths(parents, held)
        for effect_id, node in moved.items():
            node.depth = min(found.get(effect_id, node.depth), MAX_DEPTH)
        for effect_id in circle:
            message = f"effect {effect_id[:80]} is, by its parents, inside itself"
            seq = nodes[effect_id].seq
            self.warnings.append({"code": "parent_cycle", "message": message, "seq": seq})
        self.orphans += sum(
            bool(node.parent_id) and node.parent_id not in nodes for node in self.new.values()
        )

    # --- What counts

    def _count(self, late: set[str]) -> None:
        """A parent counts unless its usage is the sum of its children's."""
        nodes = {**self.stored, **self.new}
        touched = {node.parent_id for node in self.new.values() if _counts(node)} | late
        parents = [nodes[e] for e in touched if e in nodes and _counts(nodes[e])]
        if not parents:
            return
        children = self._children_of({node.effect_id for node in parents}, nodes)
        for node in parents:
            node.counted = not usage.repeats(node.used, children.get(node.effect_id, ()))

    def _children_of(
        self, parents: set[str], nodes: Mapping[str, Node]
    ) -> dict[str, list[usage.Usage]]:
        """The usage of all their counting children, stored ones included."""
        found = {e: node for e, node in nodes.items() if node.parent_id in parents}
        if self._run_pk is not None:
            rows = Effect.objects.filter(run_id=self._run_pk, parent_id__in=list(parents))
            for row in rows.exclude(parent_id="").values_list(*_COLUMNS):
                node = _of_row(row)
                found.setdefault(node.effect_id, node)
        children: dict[str, list[usage.Usage]] = {}
        for node in found.values():
            if _counts(node) and node.effect_id != node.parent_id:
                children.setdefault(node.parent_id, []).append(node.used)
        return children

    def _write_items(self) -> None:
        for item in self.items:
            node = self.new[item.facts.effect_id]
            item.depth, item.counted = node.depth, node.counted


def depths(parents: Mapping[str, str], held: Mapping[str, int]) -> tuple[dict[str, int], set[str]]:
    """How deep each effect stands, and those that are their own ancestor (at depth 0).

    `parents` says each effect's parent ("" for none); `held` the depths that stand already.
    """
    found = dict(held)
    circle: set[str] = set()
    for start in parents:
        path: dict[str, int] = {}  # in order, each with its place
        place = start
        while place not in found and place in parents and place not in path:
            path[place] = len(path)
            place = parents[place]
        way = list(path)
        if place in path:
            way, ring = way[: path[place]], way[path[place] :]
            circle.update(ring)
            found.update(dict.fromkeys(ring, 0))
        for effect_id in reversed(way):
            above = found.get(parents[effect_id])
            found[effect_id] = 0 if above is None else above + 1
    return found, circle


def _counts(node: Node) -> bool:
    """Whether it may be part of the sums. A span around calls has no tokens of its own."""
    wraps = not node.counted and node.used == usage.UNKNOWN
    return node.family in usage.COUNTING_FAMILIES and not wraps


def _of_item(item: Item) -> Node:
    facts = item.facts
    return Node(
        facts.effect_id,
        facts.parent_id,
        facts.family,
        facts.usage,
        item.cost,
        item.seq,
        counted=facts.counts,
    )


_COLUMNS = (
    "effect_id",
    "parent_id",
    "family",
    "cost",
    "seq",
    "depth",
    "counted",
    "pk",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_tokens",
)


def _of_row(row: tuple[Any, ...]) -> Node:
    effect_id, parent_id, family, cost, seq, depth, counted, pk, *tokens = row
    used = usage.Usage(*tokens)
    return Node(effect_id, parent_id, family, used, cost, seq, depth, counted, pk)
