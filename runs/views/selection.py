"""What is done with the runs somebody selected in the list: replay, tag, export, delete."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import curate, logs
from runs.access import get_project_or_404
from runs.accounts.forms import visible
from runs.accounts.models import Project, Role
from runs.lists.filters import PAGE_SIZES, RunListForm
from runs.lists.paging import EPOCH
from runs.messages.loose import clean, plural
from runs.models import NAME, Run
from runs.templatetags.list_tags import run_rows

MOST = max(PAGE_SIZES)
CHUNK = 256 * 1024
TITLES_SHOWN = 10


class TagForm(forms.Form):
    tag = forms.CharField(max_length=NAME, validators=[visible])
    off = forms.BooleanField(required=False)


def chosen(project: Project, ids: list[str]) -> list[Run]:
    """Those of the runs named that are there, in the order they were named."""
    found = Run.objects.of(project).for_list().filter(external_id__in=_named(ids))
    by_id = {run.external_id: run for run in found}
    return [by_id[name] for name in dict.fromkeys(ids) if name in by_id]


def _named(ids: list[str]) -> set[str]:
    """Those that may be ids; PostgreSQL refuses to be asked for a text with NUL."""
    return {name for name in ids[:MOST] if clean(name) == name}


@require_safe
def replay(request: HttpRequest, slug: str) -> HttpResponse:
    """The way to the form that replays the selected: one run's, or an experiment's for several."""
    project = get_project_or_404(request, slug, Role.MEMBER)
    ids = [run.external_id for run in chosen(project, request.GET.getlist("run"))]
    try:
        if len(ids) == 1:
            return redirect("replay:new", slug, ids[0])
        if ids:
            query = QueryDict(mutable=True)
            query.setlist("run", ids)
            return redirect(f"{reverse('replay:experiment-new', args=[slug])}?{query.urlencode()}")
    except NoReverseMatch:
        messages.info(request, "Select one run to replay it.")
    return _back(request, slug)


@require_POST
def tags(request: HttpRequest, slug: str) -> HttpResponse:
    """Put a tag on the selected runs, or take it off. Answers with their rows, and a word."""
    project = get_project_or_404(request, slug, Role.MEMBER)
    form, runs = TagForm(request.POST), chosen(project, request.POST.getlist("run"))
    if not form.is_valid() or not runs:
        said = "Select runs first." if not runs else f"Tag: {form.errors['tag'][0]}"
        return _said(request, slug, said, status=422)
    tag, off = form.cleaned_data["tag"], form.cleaned_data["off"]
    (curate.remove_tags if off else curate.add_tags)(runs, [tag])
    verb = "taken off" if off else "put on"
    return _said(request, slug, f"“{tag}” {verb} {plural(len(runs), 'run')}.", runs)


def _said(
    request: HttpRequest, slug: str, text: str, runs: list[Run] | None = None, status: int = 200
) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        messages.info(request, text)
        return _back(request, slug)
    columns = RunListForm(request.POST).columns
    rows = f"<table><tbody>{run_rows(runs, slug, columns)}</tbody></table>" if runs else ""
    answer = HttpResponse(rows, status=status)
    answer["HX-Trigger"] = json.dumps({"toast": text})
    return answer


@require_safe
def export(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The selected runs as a zip of envelopes, made while it is sent."""
    project = get_project_or_404(request, slug)
    runs = Run.objects.of(project).filter(external_id__in=_named(request.GET.getlist("run")))
    keys = list(runs.order_by("pk").values_list("pk", flat=True))
    answer = StreamingHttpResponse(_zipped(keys), content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{slug}-runs.zip"'
    return answer


class _Outbox(io.RawIOBase):
    """A file one can only write to, emptied as it goes."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        before = len(self.held)
        self.held += memoryview(data)  # type: ignore[arg-type]
        return len(self.held) - before

    def take(self) -> bytes:
        data = bytes(self.held)
        self.held.clear()
        return data


def _zipped(keys: list[int]) -> Iterator[bytes]:
    out = _Outbox()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for place, key in enumerate(keys, 1):
            run = Run.objects.filter(pk=key).first()  # whole, one at a time
            if run is None:
                continue
            name = f"{place:03}-{run.external_id.replace(':', '_')}.run.json"
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in logs.as_envelope(run):
                    file.write(piece)
                    if len(out.held) >= CHUNK:
                        yield out.take()
    yield out.take()


@require_http_methods(["GET", "HEAD", "POST"])
def deletion(request: HttpRequest, slug: str) -> HttpResponse:
    """What deleting the selected runs takes along; by POST, the deletion."""
    project = get_project_or_404(request, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else request.GET
    runs = chosen(project, sent.getlist("run"))
    if request.method == "POST" and runs:
        at = curate.mark_deleted(runs)
        deleted = f"{(at - EPOCH) // timedelta(microseconds=1)}.{len(runs)}"
        return _back(request, slug, deleted=deleted)
    context = {
        "runs": runs,
        "titles": runs[:TITLES_SHOWN],
        "untold": max(len(runs) - TITLES_SHOWN, 0),
        "going": curate.what_goes(runs),
        "back": sent.get("back", ""),
        "undo_seconds": curate.UNDO_SECONDS,
    }
    return render(request, "runs/deletion.html", context, status=200 if runs else 404)


@require_POST
def undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring back the runs of one deletion."""
    project = get_project_or_404(request, slug, Role.ADMIN)
    deleted = read_deleted(request.POST.get("deleted", ""))
    if deleted and (count := curate.undelete(project, deleted.at)):
        messages.success(request, f"{plural(count, 'run')} brought back.")
    else:
        messages.error(request, "The minute is over: they are gone for good.")
    return _back(request, slug)


class Deleted:
    """A deletion as the address of the list names it: `<microseconds>.<how many runs>`."""

    def __init__(self, text: str) -> None:
        micros, _, count = text.partition(".")
        self.text = text
        self.at = EPOCH + timedelta(microseconds=int(micros))
        self.count = int(count)

    @property
    def seconds_left(self) -> int:
        left = self.at + timedelta(seconds=curate.UNDO_SECONDS) - timezone.now()
        return max(int(left.total_seconds()), 0)


def read_deleted(text: str) -> Deleted | None:
    """None for what is none of ours, or is not of this time."""
    try:
        deleted = Deleted(text)
    except (ValueError, OverflowError):
        return None
    near = abs(deleted.at - datetime.now(UTC)) < timedelta(days=1)
    return deleted if near and 0 < deleted.count <= MOST else None


def _back(request: HttpRequest, slug: str, **more: str) -> HttpResponse:
    """To the list as it was; `back` is its query string, never an address."""
    sent = request.POST if request.method == "POST" else request.GET
    query = QueryDict(RunListForm(QueryDict(sent.get("back", ""))).query(), mutable=True)
    query.update(more)
    return redirect(f"{reverse('runs:list', args=[slug])}?{query.urlencode() or 'view=all'}")
