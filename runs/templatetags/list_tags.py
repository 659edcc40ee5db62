"""A row of the run list. Written here and not in a template: a page has fifty of them."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from runs import display
from runs.messages.loose import clean, plural
from runs.models import Run
from runs.templatetags.runs_tags import run_status, when

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
_RUNNING = mark_safe('<span class="muted">running</span>')
_REPLAY = mark_safe(' <span class="tag muted">replay</span>')


@register.simple_tag
def run_row(run: Run, slug: str) -> str:
    """One run as a table row, linked to its page."""
    title = clean(run.heading)
    return format_html(
        _ROW,
        id=run.external_id,
        short=Truncator(title).chars(60),
        status=run_status(run),
        address=reverse("runs:detail", args=[slug, run.external_id]),
        title=title,
        below=_below(run),
        agent=clean(run.agent),
        version=_version(run),
        replay=_REPLAY if run.is_replay else "",
        environment=clean(run.environment),
        models=clean(run.models_used),
        effects=f"{run.effect_count:,}",
        took=_RUNNING if run.status == "running" else display.duration(run.duration_ms),
        tokens=display.tokens(run.total_tokens, run.tokens_complete),
        cost=display.cost(run.cost, run.cost_complete),
        started=when(run.sort_at),
    )


def _below(run: Run) -> SafeString | str:
    """The line under the title: why it failed, or what waits for review."""
    if run.error_text:
        place = f" at #{run.error_seq}" if run.error_seq else ""
        return format_html('<small class="bad">{}{}</small>', clean(run.error_text), place)
    if run.error_count:
        return format_html(
            '<small class="bad">{}</small>', plural(run.error_count, "failed effect")
        )
    if run.to_review:
        said = f"{plural(run.to_review, 'divergence')} to review"
        return format_html('<small class="warn">{}</small>', said)
    return ""


def _version(run: Run) -> SafeString | str:
    version = clean(run.agent_version)
    return format_html(' <span class="muted">v{}</span>', version) if version else ""
