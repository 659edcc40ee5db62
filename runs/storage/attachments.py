"""Media of the records, each kept once a project under the hash of its bytes.

A copy for pages, never the record: segments keep what came, and until an attachment is written (the
worker does that, with the search text) a page shows the medium out of its segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet

from runs import bulk
from runs.accounts.models import Project
from runs.messages import answer_view, exact, request_view, wire_answer, wire_request
from runs.messages.loose import obj
from runs.messages.media import content, media_in
from runs.messages.parts import Answer, Media, Request
from runs.models import Attachment, AttachmentUse, Effect, Run
from runs.storage import segments

MIN_BYTES = 4096
"""A smaller medium stays in its segment alone."""
_LIKELY = re.compile(rb'"[^"\s]{%d}|\[\s*+(?:\d{1,3}+,\s*+){%d}' % (MIN_BYTES, MIN_BYTES - 1))
"""One long word, or a list of as many small numbers: nearly all records have neither."""
_AT_ONCE = 500
"""Rows a query names one by one."""


def digest(data: bytes) -> str:
    """The name of an attachment: blake2b-256 of its bytes, hexadecimal."""
    return blake2b(data, digest_size=32).hexdigest()


class Attached:
    """Which media of a page have an address of their own: one query, if there is any."""

    def __init__(self, project_id: int, media: Iterable[Media]) -> None:
        # By identity: the same picture stands at many places, and a part of 40 MB is not hashed
        # anew for each look-up.
        self._digests: dict[int, str] = {}
        seen: dict[object, str] = {}
        for part in media:
            key = part.value if isinstance(part.value, str) else id(part.value)
            if key not in seen:
                seen[key] = _digest_of(part)
            self._digests[id(part)] = seen[key]
        wanted = sorted({name for name in seen.values() if name})[:_AT_ONCE]
        held = Attachment.objects.filter(project_id=project_id, digest__in=wanted)
        self._held = set(held.values_list("digest", flat=True)) if wanted else set()

    def digest(self, part: Media) -> str:
        """The name of the attachment that has this medium, empty if there is none (yet)."""
        name = self._digests.get(id(part), "")
        return name if name in self._held else ""


NOTHING_ATTACHED = Attached(0, ())


def _digest_of(part: Media) -> str:
    data = content(part) if (part.size or 0) >= MIN_BYTES else None
    return "" if data is None else digest(data)


# --- From effects to attachments ----------------------------------------------------------------

Found = dict[tuple[int, str], bytes]
"""(run, digest) → the bytes."""


def found_in(effects: Iterable[Effect]) -> Found:
    """The media of these effects that are big enough to be kept apart."""
    found: Found = {}
    held: dict[str, bytes] = {}
    for effect in effects:
        for part in media_in(_said(effect)):
            data = content(part) if (part.size or 0) >= MIN_BYTES else None
            if data is not None:
                name = digest(data)
                found[effect.run_id, name] = held.setdefault(name, data)
    return found


def _said(effect: Effect) -> Iterator[Request | Answer]:
    if effect.length > MIN_BYTES and (record := _read(segments.read(effect))):
        yield request_view(record)
        yield answer_view(record)
    wire = segments.read_wire(effect) if (effect.wire_length or 0) > MIN_BYTES else None
    if wire is not None and (sent := _read(wire)):
        yield wire_request(sent.get("request"), "/request")
        yield wire_answer(sent.get("response"), "/response")


def _read(data: bytes) -> dict[str, object]:
    """The object of the bytes, if there may be a medium in it."""
    if _LIKELY.search(data) is None:
        return {}
    try:
        return obj(exact.loads(data))
    except ValueError:
        return {}


def keep(found: Found) -> None:
    """Write what is not there yet, in the caller's transaction; a run that is gone is left out."""
    runs = Run.everything.filter(pk__in={run for run, _ in found})
    projects = dict(runs.values_list("pk", "project_id")) if found else {}
    wanted = {(projects[run], name): data for (run, name), data in found.items() if run in projects}
    ids = _ids(list(wanted))
    missing = [(*key, len(data), data) for key, data in wanted.items() if key not in ids]
    bulk.insert(Attachment, ("project_id", "digest", "size", "data"), missing, ignore=True)
    ids |= _ids([row[:2] for row in missing])
    places = ((ids.get((projects.get(run, 0), name)), run) for run, name in found)
    uses = [(pk, run) for pk, run in places if pk is not None]
    bulk.insert(AttachmentUse, ("attachment_id", "run_id"), uses, ignore=True)


def _ids(keys: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    found: dict[tuple[int, str], int] = {}
    for some in _parts(keys):
        held = Attachment.objects.filter(
            project_id__in={project for project, _ in some}, digest__in={name for _, name in some}
        )
        rows = held.values_list("project_id", "digest", "pk")
        found |= {(project, name): pk for project, name, pk in rows}
    return found


# --- Read and forgotten -------------------------------------------------------------------------


def of_project(project: Project, name: str) -> QuerySet[Attachment]:
    """The attachment of this digest, if a run that can be seen has it."""
    uses = AttachmentUse.objects.filter(attachment=OuterRef("pk"), run__deleted_at=None)
    return Attachment.objects.filter(Exists(uses), project=project, digest=name)


def used_by(runs: Iterable[int]) -> list[int]:
    """The attachments of some runs, to be looked at once these are gone."""
    uses = AttachmentUse.objects.filter(run_id__in=list(runs))
    return list(uses.values_list("attachment_id", flat=True).distinct())


def forget_unused(among: Iterable[int] | None = None) -> int:
    """Delete attachments (these, or any) that no run has any more; how many."""
    unused = Attachment.objects.filter(
        ~Exists(AttachmentUse.objects.filter(attachment=OuterRef("pk")))
    )
    if among is None:
        among = list(unused.values_list("pk", flat=True))
    return sum(_forget(unused.filter(pk__in=some)) for some in _parts(list(among)))


def _forget(unused: QuerySet[Attachment]) -> int:
    try:
        with transaction.atomic():
            return int(unused._raw_delete("default") or 0)
    except IntegrityError:  # a run that has just come in uses one: it stays, the next sweep sees
        return 0


def _parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))
