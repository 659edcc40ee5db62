"""Rows of the run list. Written here and not in a template: a page has fifty of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from runs import display
from runs.messages.loose import clean, plural
from runs.models import Run
from runs.templatetags.runs_tags import status_tag, time_tag

register = template.Library()

_ROW = (
    '<tr data-row><td class="pick"><input type="checkbox" data-pick name="run" value="{id}"'
    ' aria-label="Select {short}"></td><td class="state">{status}</td>'
    '<td class="title"><a href="{address}">{title}</a>{below}</td>'
    '<td class="clip">{agent}{version}{replay}</td>'
    '<td class="muted clip roomier">{environment}</td>'
    '<td class="muted clip roomy" title="{models}">{models}</td>'
    '<td class="num" data-of="effects">{effects}</td><td class="num" data-of="duration">{took}</td>'
    '<td class="num" data-of="tokens">{tokens}</td><td class="num" data-of="cost">{cost}</td>'
    '<td class="muted started">{started}</td></tr>'
)
_RUNNING = '<span class="muted">running</span>'
_REPLAY = ' <span class="tag muted">replay</span>'


@register.simple_tag
def run_rows(runs: Iterable[Run], slug: str) -> SafeString:
    """Runs as table rows, each linked to its page."""
    home, now = reverse("runs:list", args=[slug]), timezone.now()
    return mark_safe("".join(_row(run, home, now) for run in runs))


def _row(run: Run, home: str, now: datetime) -> str:
    title = clean(run.heading)
    return _ROW.format(
        id=escape(run.external_id),
        short=escape(title if len(title) <= 60 else Truncator(title).chars(60)),
        status=status_tag(run, now),
        address=f"{home}/{escape(run.external_id)}",
        title=escape(title),
        below=_below(run),
        agent=escape(clean(run.agent)),
        version=_version(run),
        replay=_REPLAY if run.is_replay else "",
        environment=escape(clean(run.environment)),
        models=escape(clean(run.models_used)),
        effects=f"{run.effect_count:,}",
        took=_RUNNING if run.status == "running" else escape(display.duration(run.duration_ms)),
        tokens=escape(display.tokens(run.total_tokens, run.tokens_complete)),
        cost=escape(display.cost(run.cost, run.cost_complete)),
        started=time_tag(run.sort_at, now),
    )


def _below(run: Run) -> str:
    """The line under the title: why it failed, or what waits for review."""
    if run.error_text:
        place = f" at #{run.error_seq}" if run.error_seq else ""
        return f'<small class="bad">{escape(clean(run.error_text))}{place}</small>'
    if run.error_count:
        return f'<small class="bad">{plural(run.error_count, "failed effect")}</small>'
    if run.to_review:
        said = f"{plural(run.to_review, 'divergence')} to review"
        return f'<small class="warn">{said}</small>'
    return ""


def _version(run: Run) -> str:
    version = escape(clean(run.agent_version))
    return f' <span class="muted">v{version}</span>' if version else ""
