"""Logs brought in by hand: dropped or chosen files, an outcome for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs import ingest
from runs.access import get_project_or_404
from runs.accounts.models import Project, Role
from runs.display import size
from runs.ingest.outcome import Outcome
from runs.messages.loose import plural
from runs.models import NAME
from runs.refusals import Refused, Rejected
from runs.unable import why_not_taken

REJECTED_SHOWN = 20


def _text(label: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"class": "field"})
    return forms.CharField(label=label, required=False, max_length=NAME, widget=widget)


class ImportForm(forms.Form):
    """What the files do not say themselves."""

    agent = _text("Agent")
    agent_version = _text("Agent version")
    environment = _text("Environment")


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One line of the answer. `tone` is ok, warn or bad."""

    name: str
    tone: str
    text: str
    run_id: str = ""
    address: str = ""
    rejected: tuple[Rejected, ...] = ()


@require_http_methods(["GET", "HEAD", "POST"])
def import_logs(request: HttpRequest, slug: str) -> HttpResponse:
    """The form, and for each file sent with it what came of it."""
    project = get_project_or_404(request, slug, Role.MEMBER)
    form = ImportForm(request.POST if request.method == "POST" else None)
    files = request.FILES.getlist("files")
    outcomes: list[FileOutcome] = []
    if request.method == "POST" and form.is_valid():
        outcomes = list(_take(project, files, form.cleaned_data))
    elif form.errors:
        outcomes = [FileOutcome(_name(file), "bad", _unread(form)) for file in files]
    context = {
        "form": form,
        "outcomes": outcomes,
        "limit": settings.INGEST_MAX_BODY_BYTES,
        "nothing_sent": request.method == "POST" and not files,
    }
    part = "#rows" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"runs/import.html{part}", context)


def _name(file: UploadedFile[Any]) -> str:
    return file.name or "a file without a name"


def _unread(form: ImportForm) -> str:
    """For who dropped files on the page, which shows what came of them and not the form again."""
    field, [problem, *_] = next(iter(form.errors.items()))
    return f"not taken: {form[field].label}: {problem}"


def _take(
    project: Project, files: list[UploadedFile[Any]], names: dict[str, str]
) -> Iterator[FileOutcome]:
    for file in files:
        name = _name(file)
        limit = settings.INGEST_MAX_BODY_BYTES
        if (file.size or 0) > limit:
            said = f"{size(file.size)} is more than the limit of {size(limit)}"
            yield FileOutcome(name, "bad", f"not taken: {said}")
            continue
        try:
            yield _told(project, name, ingest.accept_log(project, file.read(), **names))
        except Refused as refused:
            yield FileOutcome(name, "bad", f"not taken: {refused.message}")
        except Exception as error:
            why = why_not_taken(error)
            if why is None:
                raise
            yield FileOutcome(name, "bad", f"not taken: {why[0].lower()}{why[1:]}; send it again")


def _told(project: Project, name: str, outcome: Outcome) -> FileOutcome:
    shown = tuple(outcome.rejected[:REJECTED_SHOWN])
    address = reverse("runs:detail", args=[project.slug, outcome.run_id])
    if outcome.took_nothing:
        said = f"nothing taken, {plural(len(outcome.rejected), 'effect')} refused"
        return FileOutcome(name, "bad", said, rejected=shown)
    pieces = [
        f"{plural(outcome.stored, 'effect')} taken" if outcome.stored else "",
        f"{outcome.duplicate:,} known already" if outcome.duplicate else "",
        f"{len(outcome.rejected):,} refused" if outcome.rejected else "",
    ]
    said = ", ".join(filter(None, pieces)) or (
        "taken, without effects" if outcome.created else "known"
    )
    tone = "warn" if outcome.rejected else "ok"
    return FileOutcome(name, tone, said, outcome.run_id, address, shown)
