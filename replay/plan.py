"""What a replay will do, said before it does anything. Sends nothing, stores nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, Min
from django.utils import timezone

from replay import askable, recording
from replay.changed import changes, without_effect
from replay.overriding import overrides_of
from replay.project_providers.catalog import catalog_of
from replay.project_providers.foreseen import foreseen
from replay.providers import (
    BadModel,
    CannotAsk,
    Overrides,
    Provider,
    build_call,
)
from replay.questions import Candidate, Question
from replay.recorded_model import the_recorded
from replay.tried import Tried
from replay.windows import open_calls, window_notes
from replay.wire import wire_of
from rewyn_sdk.facts import as_list, as_object
from runs.models import Effect, Family, Run
from runs.prices import cost_of
from runs.refusals import Refused, SeveralRefused
from runs.usage import Usage

SAYS = {
    "reconstruct": "reconstruct: answered from the log, and proved",
    "prompt": "prompt replay: every recorded prompt is sent again",
}
CHECKED_CALLS = 100
CHECKED_BYTES = 8 * 1024 * 1024
"""How much of a run a plan tries out; what is behind is converted when it is asked."""
WARNS = frozenset(
    {"dangling_call", "orphan_result", "model_may_refuse", "param_unknown", "schema_not_supported"}
    | {"no_vision", "context_too_long", "context_elsewhere", "tool_not_there", "redacted"}
)


def make_plan(
    run: Run, question: Question, candidate: Candidate | None
) -> tuple[Candidate | None, dict[str, Any]]:
    """The plan for one candidate, and who will be asked (None: nobody)."""
    if question.mode == "reconstruct":
        return None, _reconstruct(run)
    return _Prompt(run, question, candidate).plan()


def refuse(errors: Sequence[dict[str, Any]]) -> None:
    """Raises SeveralRefused if plans have any `errors`."""
    if errors:
        told = (Refused(one["code"], one["message"], one.get("field")) for one in errors)
        raise SeveralRefused(told)


def _reconstruct(run: Run) -> dict[str, Any]:
    return {
        "mode": "reconstruct",
        "says": SAYS["reconstruct"],
        "total": run.effect_count,
        "components": components(run, live=frozenset()),
        "calls": {"total": 0, "attempts_per_call": 0, "at_most": 0},
        "tokens": {"input": 0, "output": 0, "complete": True},
        "cost": {"estimate": 0.0, "complete": True},
        "notes": [],
        "warnings": _running(run),
        "errors": [],
    }


def components(
    run: Run, live: Collection[str], asked: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """Per key of the run: how it will behave, and how often the recording asked it.

    `live` are families, or keys of single tools; `asked` says how many effects of a live key are
    asked, where it is not all.
    """
    rows = (
        Effect.objects.filter(run=run)
        .values("family", "key")
        .annotate(
            effects=Count("pk"),
            first=Min("seq"),
            names=Count("name", distinct=True),
            a_name=Min("name"),
        )
        .order_by("first")
    )
    return [
        {
            "family": row["family"],
            "label": str(Family(row["family"]).label),
            "key": row["key"],
            "name": _together(row["a_name"], row["names"], row["key"]),
            "runs": "live" if row["family"] in live or row["key"] in live else "recorded",
            "effects": row["effects"],
            "asked": _asked(row, live, asked),
        }
        for row in rows
    ]


def _asked(row: Mapping[str, Any], live: Collection[str], asked: Mapping[str, int] | None) -> int:
    if row["family"] not in live and row["key"] not in live:
        return 0
    return int(row["effects"] if asked is None else asked.get(row["key"], 0))


def _together(name: str, names: int, key: str) -> str:
    """What to call the effects of a key: one memory is loaded and appended to, say."""
    return name if names == 1 and name else key or name


def _running(run: Run) -> list[dict[str, Any]]:
    if run.status != "running":
        return []
    text = "This run has not ended; what comes later is not in the replay."
    return [{"code": "still_running", "message": text}]


def tokens_of(usage: Sequence[tuple[int | None, int | None]], calls: int) -> dict[str, Any]:
    """Tokens in and out of so many calls, as far as they are known; what nobody told is no zero."""
    asked = [tokens for tokens, _ in usage if tokens is not None]
    said = [tokens for _, tokens in usage if tokens is not None]
    return {
        "input": sum(asked) if asked else None,
        "output": sum(said) if said else None,
        "complete": len(asked) == len(said) == calls,
    }


def times(told: dict[str, Any], samples: int) -> dict[str, Any]:
    """Figures of calls that are asked so often; unknown stays unknown."""
    return {
        name: value if value is None or isinstance(value, bool) else value * samples
        for name, value in told.items()
    }


def _is_redacted(effect: Effect) -> bool:
    """Whether something of what was asked was taken out."""
    paths = (str(as_object(mark).get("path")) for mark in as_list(effect.redactions))
    return any(path.startswith("/kind/request") for path in paths)


class _Prompt:
    """The plan of a prompt replay, put together step by step."""

    def __init__(self, run: Run, question: Question, candidate: Candidate | None) -> None:
        self.run, self.question, self.candidate = run, question, candidate
        self.controls = question.controls
        self.errors: list[dict[str, Any]] = []
        self.warnings = _running(run)
        self.unasked: dict[int, str] = {}
        """Position → why, of the chosen calls that cannot be asked: they are not in `effects`."""
        self.effects = self._askable(list(self._chosen()))
        self.candidate = candidate or self._recorded_model()
        self.catalog = catalog_of(run.project_id)
        self.overrides = self._overrides()
        self.provider = self._provider()
        self.tried = self._try_out()
        self._leave_out()

    def plan(self) -> tuple[Candidate | None, dict[str, Any]]:
        changed = list(changes(self.controls, self.candidate, self.effects, self.tried))
        for wrong in without_effect(self.controls, self.tried, len(self.effects)):
            self._error(wrong.code, wrong.message, wrong.field or "")
        told, cost = self.tried.told(), self._cost()
        return self.candidate, {
            "mode": "prompt",
            "says": SAYS["prompt"],
            "candidate": str(self.candidate) if self.candidate else None,
            "total": len(self.effects),
            "effects": [effect.seq for effect in self.effects],
            "cannot_ask": askable.told(self.unasked),
            "components": components(
                self.run, {Family.COMPLETION}, Counter(effect.key for effect in self.effects)
            ),
            "calls": self._calls(),
            "limits": self._limits(cost),
            "tokens": self._tokens(),
            "cost": cost,
            "kept": self.tried.kept(),
            "changes": changed,
            "notes": [note for note in told if note["code"] not in WARNS],
            "warnings": [*self.warnings, *(note for note in told if note["code"] in WARNS)],
            "errors": self.errors,
        }

    # --- What is asked -----------------------------------------------------------------------

    def _chosen(self) -> Iterator[Effect]:
        """The recorded model calls to ask; positions that are none are an error."""
        calls = Effect.objects.filter(run=self.run, family=Family.COMPLETION).order_by("seq")
        wanted = None if self.controls.effects is None else set(self.controls.effects)
        chosen = [effect for effect in calls if wanted is None or effect.seq in wanted]
        missing = sorted((wanted or set()) - {effect.seq for effect in chosen})
        if missing:
            listed = ", ".join(f"#{seq}" for seq in missing[:10])
            self._error("not_a_model_call", f"No model call of this run: {listed}.", "effects")
        if not chosen and not missing:
            self._error("no_model_calls", "This run has no model calls to replay.", "run")
        return iter(chosen)

    def _askable(self, chosen: list[Effect]) -> list[Effect]:
        """The calls that can be asked, as far as that is known without trying them out."""
        why = askable.reasons(chosen)
        self.unasked = {one.seq: why[one.pk] for one in chosen if one.pk in why}
        return [one for one in chosen if one.pk not in why]

    def _leave_out(self) -> None:
        """Plan no call of what could not be made when it was tried out."""
        self.effects = [one for one in self.effects if one.seq not in self.unasked]
        if self.unasked and not self.effects:
            text = f"No chosen call can be asked again: {next(iter(self.unasked.values()))}."
            self._error("cannot_ask", text, "run" if self.controls.effects is None else "effects")

    def _recorded_model(self) -> Candidate | None:
        """The one model that was recorded, where no other is asked for."""
        models = {(effect.provider, effect.name) for effect in self.effects}
        if not models:
            return None
        try:
            return the_recorded(models)
        except Refused as refusal:
            self._error(refusal.code, refusal.message, "models")
            return None

    def _provider(self) -> Provider | None:
        if self.candidate is None:
            return None
        try:
            return self.catalog.choose(str(self.candidate))[0]
        except BadModel as error:
            self._error(error.code, str(error), "models")
            return None

    def _overrides(self) -> Overrides:
        try:
            return overrides_of(self.controls, self.run)
        except Refused as refusal:
            self._error(refusal.code, refusal.message, refusal.field or "message")
            return Overrides()

    def _error(self, code: str, message: str, name: str) -> None:
        self.errors.append({"code": code, "message": message, "field": name})

    # --- What it takes -----------------------------------------------------------------------

    def _calls(self) -> dict[str, Any]:
        per_call, total = settings.REPLAY_CALL_ATTEMPTS, len(self.effects) * self.controls.samples
        return {
            "total": total,
            "samples": self.controls.samples,
            "attempts_per_call": per_call,
            "at_most": total * per_call,
            "parallel": settings.REPLAY_PARALLEL_CALLS,
            "timeout_seconds": settings.REPLAY_CALL_TIMEOUT_SECONDS,
            "provider": self.candidate.provider if self.candidate else None,
            "model": self.candidate.model if self.candidate else None,
            "apis": sorted(self.tried.apis),
            "lanes": sorted(self.tried.lanes),
            "interrupted": "a call in flight when its worker dies is asked again, within these",
        }

    def _limits(self, cost: dict[str, Any]) -> dict[str, Any]:
        """The provider's limits; what they will do to this replay goes to warnings and errors."""
        name = self.provider.name if self.provider else ""
        found = foreseen(
            self.run.project_id, name, cost["estimate"], len(self.effects) * self.controls.samples
        )
        self.warnings += found.warnings
        self.errors += found.errors
        return found.limits

    def _tokens(self) -> dict[str, Any]:
        usage = [(effect.input_tokens, effect.output_tokens) for effect in self.effects]
        return times(tokens_of(usage, len(usage)), self.controls.samples)

    def _cost(self) -> dict[str, Any]:
        """By the recording's tokens at today's price; unknown is null and never zero."""
        costs = [self._cost_of(effect) for effect in self.effects]
        known = [cost for cost in costs if cost is not None]
        recorded = [effect.cost for effect in self.effects if effect.cost is not None]
        asked = self.controls.samples
        return {
            "estimate": float(sum(known, Decimal(0)) * asked) if known else None,
            "complete": len(known) == len(costs),
            "recorded": float(sum(recorded, Decimal(0))) if recorded else None,
            "recorded_complete": len(recorded) == len(costs),
        }

    def _cost_of(self, effect: Effect) -> Decimal | None:
        if self.candidate is None:
            return None
        return cost_of(
            Usage(input=effect.input_tokens, output=effect.output_tokens),
            family=Family.COMPLETION,
            models=(self.candidate.model,),
            provider=self.provider.priced_as if self.provider else self.candidate.provider,
            when=timezone.now(),
            overrides=self.run.project.price_overrides,
        )

    # --- What cannot be carried ----------------------------------------------------------------

    def _try_out(self) -> Tried:
        tried, size, looked_at = Tried(self.overrides), 0, 0
        for effect in filter(_is_redacted, self.effects):
            text = "something was redacted in what was recorded; its mark goes out in its place"
            tried.add("redacted", text, effect.seq)
        for effect in self.effects[:CHECKED_CALLS]:
            size += effect.length
            if size > CHECKED_BYTES and looked_at:
                break
            looked_at += 1
            record = recording.record(effect).value or {}
            if self.provider and self.candidate:
                self._convert(tried, effect, record, self.provider, self.candidate.model)
            if effect.seq not in self.unasked:
                tried.take(as_object(as_object(record.get("kind")).get("request")))
        if looked_at < len(self.effects):
            text = f"Tried out on the first {looked_at} of {len(self.effects)} calls."
            self.warnings.append({"code": "partly_checked", "message": text})
        return tried

    def _convert(
        self, tried: Tried, effect: Effect, record: dict[str, Any], provider: Provider, model: str
    ) -> None:
        try:
            call = build_call(
                record, wire_of(effect), provider=provider, model=model, overrides=self.overrides
            )
        except CannotAsk as error:
            self.unasked[effect.seq] = str(error)
            return
        tried.make(call)
        tried.note(effect.seq, call.notes)
        tried.note(effect.seq, (*window_notes(call, effect), *open_calls(call)))
