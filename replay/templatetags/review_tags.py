"""How reviews are put on a page: the count in the rail, classes, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from django import template
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from replay.comparison.differences import Difference
from replay.review import reading
from replay.review.deciding import by_rule
from replay.review.models import Baseline, Cluster, Divergence, EventKind, ReviewEvent, State
from replay.templatetags.replay_tags import CLASS_TONES
from runs.addresses import address_of
from runs.comments.names import shown_name
from runs.messages.loose import clean, plural

register = template.Library()

STATE_TONES = {State.ACCEPTED: "ok", State.REGRESSION: "bad", State.OPEN: "warn"}


@register.simple_tag(takes_context=True)
def review_link(context: template.Context) -> str:
    """The review page in the rail, with how many clusters wait."""
    address = address_of("replay:review", context["project"].slug)
    here = context["request"].path.startswith(address)
    mark = mark_safe(' aria-current="page"') if here else ""
    return format_html(
        '<a class="item" href="{}"{}>Review {}</a>', address, mark, review_badge(context)
    )


@register.simple_tag(takes_context=True)
def review_badge(context: template.Context, oob: bool = False) -> str:
    """How many clusters wait; by itself, to take the place of the one on the page."""
    counts = context.get("counts") if oob else None
    found = counts["open"] if counts else _waiting(context)
    swap = mark_safe(' hx-swap-oob="true"') if oob else ""
    told = counted(found) if found else ""
    shown = format_html('<b title="{} to review">{}</b>', told, told) if told else ""
    return format_html('<span class="unread" id="to-review"{}>{}</span>', swap, shown)


def _waiting(context: template.Context) -> int:
    here = context["project"].pk
    memberships = context.get("memberships") or ()
    return next((one.to_review for one in memberships if one.project_id == here), 0) or 0


@register.filter
def counted(count: int) -> str:
    return f"{reading.COUNTED}+" if count > reading.COUNTED else str(count)


@register.simple_tag
@lru_cache
def class_label(name: str) -> str:
    difference = Difference(name)
    tone = CLASS_TONES.get(difference, "bad")
    return format_html('<span class="tag {}">{}</span>', tone, difference.label)


@register.simple_tag
def state_label(divergence: Divergence) -> str:
    tone = STATE_TONES.get(State(divergence.state), "muted")
    gone = "" if divergence.is_current else ", then answered anew"
    return format_html('<span class="tag {}">{}{}</span>', tone, divergence.state, gone)


@register.filter
def model_accepted(baseline: Baseline) -> str:
    return reading.model_accepted(baseline)


@register.simple_tag(takes_context=True)
def cluster_rows(context: template.Context, clusters: Sequence[Cluster]) -> str:
    """The list of clusters, the chosen one marked. Written here: a page has fifty of them."""
    place, chosen = context["place"], context["cluster"]
    before, _, after = place.cluster(0).partition("cluster=0")
    shown = []
    for one in clusters:
        row = _CLUSTER.format(
            address=escape(f"{before}cluster={one.pk}{after}"),
            current=' aria-current="true"' if chosen and one.pk == chosen.pk else "",
            label=class_label(one.difference),
            says=escape(clean(one.says or one.effect_key)),  # type: ignore[attr-defined]
            agent=escape(clean(one.agent or context["no_agent"])),
            count=_count(one, place.filters.state),
            state=place.filters.state,
            whom=escape(_assigned(one, context["user"].pk)),
        )
        shown.append(row)
    return mark_safe("".join(shown))


_CLUSTER = (
    '<a class="cluster" data-row href="?{address}"{current}><span class="t">{label} {says}</span>'
    '<small>{agent} · {count} {state}</small><span class="d">{whom}</span></a>'
)


def _count(cluster: Cluster, state: str) -> str:
    """`13`; `2 of 13` where the list is of an experiment that found only some of them."""
    total = getattr(cluster, f"{state}_count")
    here = getattr(cluster, "here", total)
    return f"{total:,}" if here == total else f"{here:,} of {total:,}"


def _assigned(cluster: Cluster, reader_id: int) -> str:
    whom = cluster.assignee
    if whom is None:
        return "unassigned"
    return "you" if whom.pk == reader_id else shown_name(whom.name, whom.email)


@register.simple_tag
def what_happened(event: ReviewEvent) -> str:
    """An event of the history in words, without who and when."""
    of_what = plural(event.count, "divergence")
    told = {
        EventKind.VERDICT: f"{event.verdict}: {of_what}{_of_experiment(event)}",
        EventKind.UNDO: f"took back “{event.verdict}” of {of_what}",
        EventKind.ASSIGNED: f"assigned it to {event.detail.get('whom') or 'nobody'}",
        EventKind.REPLACED: "a retry gave another answer",
        EventKind.RESOLVED: "a retry gave an answer that does not differ",
        EventKind.BASELINE_REVOKED: "revoked a baseline",
        EventKind.BY_RULE: by_rule(event),
    }
    return told.get(EventKind(event.kind), event.kind)


def _of_experiment(event: ReviewEvent) -> str:
    name = event.detail.get("experiment")
    return f" of the experiment “{name}”" if name else ""


@register.simple_tag(takes_context=True)
def next_query(context: template.Context, pk: int) -> str:
    found: str = context["place"].cluster(pk)
    return found


@register.simple_tag(takes_context=True)
def at_query(context: template.Context, public_id: str) -> str:
    """The address of one member, side by side."""
    found: str = context["place"].query(
        cluster=context["cluster"].pk, at=public_id, tab=None, before=None
    )
    return found
