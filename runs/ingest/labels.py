"""The names a run is found by: its tags, models and tools; and models nobody named.

A failed model call does not say which model it asked. It takes the name from another call under
the same key, the one that stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runs import bulk
from runs.ingest.items import Item
from runs.models import Effect, Family, LabelKind, Run, RunLabel

Label = tuple[str, str]
_COLUMNS = ("run_id", "project_id", "kind", "value", "sort_at")
_MODELLED = (Family.COMPLETION, Family.EMBED, Family.RERANK)
MAX_MODELS_TEXT = 400


class Labels:
    """The labels a request brings to a run."""

    def __init__(self, run: Run, items: Iterable[Item], tags: Iterable[str]) -> None:
        self.run = run
        self.found = {(LabelKind.TAG.value, tag) for tag in tags}
        self.found.update(_of_items(items))

    def absorb(self, held: Iterable[Label] = ()) -> None:
        """Name the run's models in its row. `held` are the labels it has already."""
        every = self.found | set(held)
        models = sorted(value for kind, value in every if kind == LabelKind.MODEL)
        self.run.models_used = _listed(models)
        self.found -= set(held)

    def write(self, *, is_new_run: bool) -> None:
        """Store them. A new run has none yet; a run that is there may be given one meanwhile."""
        run = self.run
        rows = [(run.pk, run.project_id, kind, v, run.sort_at) for kind, v in sorted(self.found)]
        bulk.insert(RunLabel, _COLUMNS, rows, ignore=not is_new_run)


def _listed(models: list[str]) -> str:
    """As many names as the row has room for, whole ones; the labels have them all."""
    text = ", ".join(models)
    if len(text) <= MAX_MODELS_TEXT:
        return text
    return text[: MAX_MODELS_TEXT - 3].rpartition(", ")[0] + ", …"


def held_by(run: Run) -> set[Label]:
    return set(RunLabel.objects.filter(run=run).values_list("kind", "value"))


def _of_items(items: Iterable[Item]) -> Iterator[Label]:
    for item in items:
        if item.facts.family in _MODELLED and item.name:
            yield LabelKind.MODEL.value, item.name
        elif item.facts.family == Family.TOOL and item.name:
            yield LabelKind.TOOL.value, item.name


def name_the_unnamed(run: Run, items: Iterable[Item]) -> list[str]:
    """Give model calls without a model the one of their key.

    `Run.ledger["models"]` remembers, for each key that has such calls, the call they are named by:
    [position, model, provider], or null while nobody said. Returns the keys whose stored calls must
    be named again, because a call that stands before has come.
    """
    calls = [item for item in items if item.facts.family == Family.COMPLETION]
    held: dict[str, Model | None] = run.ledger.get("models", {})
    wanted = held.keys() | {item.facts.key for item in calls if not item.facts.name}
    if not wanted:
        return []
    found = {key: held[key] if key in held else _first_stored(run, key) for key in wanted}
    for item in calls:
        facts = item.facts
        if facts.name and facts.key in wanted:
            found[facts.key] = _earlier(found[facts.key], [item.seq, facts.name, facts.provider])
    for item in calls:
        if not item.facts.name:
            _name(item, found[item.facts.key])
    run.ledger["models"] = found
    return sorted(key for key in held if found[key] != held[key])


Model = list[Any]


def _earlier(one: Model | None, other: Model) -> Model:
    return other if one is None or other[0] < one[0] else one


def _first_stored(run: Run, key: str) -> Model | None:
    """The first stored call of this key that says its model."""
    if run.pk is None:
        return None
    calls = Effect.objects.filter(run=run, key=key, family=Family.COMPLETION, inferred=False)
    first = calls.exclude(name="").order_by("seq").values_list("seq", "name", "provider").first()
    return None if first is None else list(first)


def _name(item: Item, model: Model | None) -> None:
    item.inferred = True
    item.name, item.provider = model[1:] if model else ("", item.facts.provider)


def rename_stored(run: Run, keys: Iterable[str]) -> None:
    """Name the stored calls under these keys whose own record names no model."""
    for key in keys:
        _, name, provider = run.ledger["models"][key]
        calls = Effect.objects.filter(run=run, key=key, family=Family.COMPLETION, inferred=True)
        calls.update(name=name, provider=provider)
