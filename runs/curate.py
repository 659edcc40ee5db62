"""What people change about runs that are there: tags, prices, deletion. Records are never changed.

Beside `runs.ingest` the only writer of these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet
from django.utils import timezone

from runs import bulk, prices
from runs.accounts.models import Project
from runs.models import (
    Attachment,
    AttachmentUse,
    Effect,
    LabelKind,
    Run,
    RunLabel,
    Segment,
    Tombstone,
)
from runs.storage import attachments, segments

Told = list[Callable[[list[int]], None]]
moved: Told = []
"""Told of runs (their keys) that were hidden or brought back a moment ago, for what others keep."""
ending: Told = []
"""Told of runs that are about to be deleted for good. Both are for the layers above."""
UNDO_SECONDS = 60
"""So long a deletion by a person can be taken back."""
_BATCH = 5000
_RUNS_AT_ONCE = 200


def mark_deleted(runs: Iterable[Run]) -> datetime:
    """Hide runs from everybody at once and refuse their ids; `purge_deleted` makes it final.

    The instant it gives names them together, for `undelete`.
    """
    rows = list(runs)
    now = timezone.now()
    until = now + timedelta(days=settings.TOMBSTONE_DAYS)
    with bulk.turn():
        Run.objects.filter(pk__in=[run.pk for run in rows]).update(deleted_at=now)
        Tombstone.objects.bulk_create(
            [
                Tombstone(project_id=run.project_id, external_id=run.external_id, expires_at=until)
                for run in rows
            ],
            update_conflicts=True,
            unique_fields=["project", "external_id"],
            update_fields=["expires_at"],
        )
    _tell(moved, [run.pk for run in rows])
    return now


def _tell(whom: Told, runs: list[int]) -> None:
    for told in whom:
        told(runs)


def undelete(project: Project, at: datetime) -> int:
    """Bring back what was deleted together at that instant, if its time is not over; how many."""
    if at < timezone.now() - timedelta(seconds=UNDO_SECONDS):
        return 0
    with bulk.turn():
        marked = Run.everything.of(project).filter(deleted_at=at)
        rows = list(marked.values_list("pk", "external_id"))
        found = marked.update(deleted_at=None)
        ids = [external_id for _, external_id in rows]
        Tombstone.objects.filter(project=project, external_id__in=ids).delete()
    _tell(moved, [pk for pk, _ in rows])
    return found


def purge_deleted() -> int:
    """Delete for good what was marked more than `UNDO_SECONDS` ago; how many runs."""
    due = timezone.now() - timedelta(seconds=UNDO_SECONDS)
    marked = Run.everything.filter(deleted_at__lt=due)
    return sum(_delete(run, marked) for run in marked.only("project_id", "external_id"))


@dataclass(frozen=True, slots=True)
class Going:
    """What goes with runs when they are deleted."""

    counts: list[tuple[int, str]]
    """How many of what hangs on them, in the words of its model."""
    size: int
    """Bytes kept of them."""


def what_goes(runs: Iterable[Run]) -> Going:
    """What deleting these runs takes along, beside the rows that only index them."""
    rows = list(runs)
    counts = [(len(rows), "run"), (sum(run.effect_count for run in rows), "effect")]
    for relation in Run._meta.related_objects:
        model = relation.related_model
        if relation.on_delete is not models.CASCADE or model in (Effect, Segment, RunLabel):
            continue
        hanging = model._default_manager.filter(**{f"{relation.field.name}__in": rows}).count()
        if hanging:
            counts.append((hanging, str(model._meta.verbose_name)))
    return Going(counts, sum(run.bytes_stored for run in rows))


def delete_run(run: Run) -> None:
    """Delete a run with all that hangs on it; its id is refused for `TOMBSTONE_DAYS`."""
    _delete(run, Run.everything.all())


def _delete(run: Run, among: QuerySet[Run]) -> bool:
    """Delete a run if it is still one of these: it may have been brought back a moment ago."""
    until = timezone.now() + timedelta(days=settings.TOMBSTONE_DAYS)
    if among.filter(pk=run.pk).exists():  # nobody can bring it back any more
        _tell(ending, [run.pk])
    with transaction.atomic():
        # An UPDATE locks the row: an append that is going on ends first, a later one finds nothing.
        if not among.filter(pk=run.pk).update(updated_at=timezone.now()):
            return False
        Tombstone.objects.update_or_create(
            project_id=run.project_id,
            external_id=run.external_id,
            defaults={"expires_at": until},
        )
        media = attachments.used_by([run.pk])
        _delete_rows_of([run.pk])
        Run.everything.filter(pk=run.pk).delete()
    attachments.forget_unused(media)
    segments.forget_kept()
    return True


def delete_project_runs(project: Project) -> None:
    """Delete every run of a project that is being removed: its ids end with it, no tombstones.

    A batch is a transaction, so that others can write meanwhile; cut short, it can be called again.
    """
    runs = Run.everything.filter(project=project).order_by("pk")
    while batch := list(runs.values_list("pk", flat=True)[:_RUNS_AT_ONCE]):
        _tell(ending, batch)
        with transaction.atomic():
            Run.everything.filter(pk__in=batch).update(updated_at=timezone.now())  # locks the rows
            _delete_rows_of(batch)
            Run.everything.filter(pk__in=batch).delete()
    Attachment.objects.filter(project=project)._raw_delete("default")
    segments.forget_kept()


def _delete_rows_of(runs: list[int]) -> None:
    # In the order of the keys, so that the ORM need not collect 35,000 rows to cascade.
    for model in (Effect, Segment, RunLabel, AttachmentUse):
        rows = model._default_manager.filter(run_id__in=runs)
        rows._raw_delete(rows.db)


def add_tags(runs: Iterable[Run], tags: Iterable[str]) -> None:
    """Tag runs; a tag that is there already stays."""
    wanted = list(dict.fromkeys(filter(None, tags)))
    rows = [
        (run.pk, run.project_id, LabelKind.TAG.value, tag, run.sort_at)
        for run in runs
        for tag in wanted
    ]
    columns = ("run_id", "project_id", "kind", "value", "sort_at")
    bulk.insert(RunLabel, columns, rows, ignore=True)


def remove_tags(runs: Iterable[Run], tags: Iterable[str]) -> None:
    RunLabel.objects.filter(
        run__in=[run.pk for run in runs], kind=LabelKind.TAG, value__in=list(tags)
    ).delete()


def reprice(project: Project) -> int:
    """Price a project's effects anew (its own prices changed); gives the number that changed."""
    changed = 0
    for run in Run.objects.filter(project=project).only("pk", "received_at").iterator():
        changed += _reprice_run(project, run)
    return changed


def _reprice_run(project: Project, run: Run) -> int:
    effects = Effect.objects.filter(run=run, family__in=["completion", "embed", "rerank"])
    rows = []
    for effect in effects.only("started_at", *prices.ROW_FIELDS).iterator(chunk_size=_BATCH):
        when = effect.started_at or run.received_at
        cost = prices.cost_of_row(effect, when, project.price_overrides)
        if cost != effect.cost:
            rows.append((cost, effect.pk))
    if rows:
        with transaction.atomic():
            Run.objects.filter(pk=run.pk).update(updated_at=timezone.now())  # locks the row
            bulk.update(Effect, ("cost",), rows)
            _sum_again(run)
    return len(rows)


def _sum_again(run: Run) -> None:
    """Set the run's cost to the sum of its effects'."""
    # Added up here: SQLite would add decimals as floats.
    counted = Effect.objects.filter(run=run, counted=True).values_list("cost", flat=True)
    known = [cost for cost in counted if cost is not None]
    held = Run.objects.only("ledger").get(pk=run.pk)
    ledger = {k: v for k, v in held.ledger.items() if k != "unknown_cost"}
    if unknown := len(counted) - len(known):
        ledger["unknown_cost"] = unknown
    Run.objects.filter(pk=run.pk).update(
        cost=sum(known, Decimal(0)) if known else None, cost_complete=not unknown, ledger=ledger
    )
