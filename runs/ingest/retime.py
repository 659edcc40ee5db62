"""Times that come after their effects: the row, the price of its date, the span of the run."""

from __future__ import annotations

from runs import bulk, prices, usage
from runs.formats.times import Times
from runs.ingest import ledger
from runs.ingest.items import Intake
from runs.ingest.plan import Known
from runs.models import Effect, Run


def known_effects(run: Run, timed: list[Known], intake: Intake) -> None:
    """Store the times of effects that were there before, and what follows from them."""
    if not timed:
        return
    sent = {known.pk: intake.times[known.effect_id] for known in timed}
    rows = [(t.started_at, t.duration_ms, t.first_token_ms, pk) for pk, t in sent.items()]
    bulk.update(Effect, ("started_at", "duration_ms", "first_token_ms"), rows)
    _price_again(run, sent)
    if any(known.started_at is not None for known in timed):
        _span_again(run)
    ledger.take_times(run, sent.values())


def _price_again(run: Run, sent: dict[int, Times]) -> None:
    """A price is dated by its effect's time; before, it was dated by its receipt."""
    effects = Effect.objects.filter(pk__in=list(sent), family__in=list(usage.COUNTING_FAMILIES))
    changed = []
    for effect in effects.only(*prices.ROW_FIELDS, "counted"):
        when = sent[effect.pk].started_at or run.received_at
        cost = prices.cost_of_row(effect, when, run.project.price_overrides)
        if cost != effect.cost:
            changed.append((cost, effect.pk))
            if effect.counted:
                ledger.change_cost(run, effect.cost, cost)
    bulk.update(Effect, ("cost",), changed)


def _span_again(run: Run) -> None:
    """A time was changed, so the span of all the others is taken again."""
    run.ledger.pop("span", None)
    run.ledger.pop("suspect", None)
    held = Effect.objects.filter(run=run).exclude(started_at=None)
    rows = held.values_list("started_at", "duration_ms", "first_token_ms")
    ledger.take_times(run, [Times(*row) for row in rows.iterator()])
