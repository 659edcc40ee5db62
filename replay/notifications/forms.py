"""Forms of webhooks and bounds; what is right is decided in `keeping` and `bounds`."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms

from replay.notifications.bounds import MOST_RUNS
from replay.notifications.kinds import TOLD
from replay.notifications.models import URL, Measure, Webhook, Window
from runs.accounts.forms import PageForm, PlainField
from runs.models import NAME

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


def _field(label: str, most: int, hint: str = "", **more: Any) -> PlainField:
    widget = forms.TextInput(attrs={**_PLAIN, **more})
    return PlainField(label=label, max_length=most, required=False, help_text=hint, widget=widget)


class WebhookForm(PageForm):
    """Drawn by hand: checkboxes want a legend."""

    url = _field("URL", URL, inputmode="url", placeholder="https://")
    events = forms.MultipleChoiceField(
        choices=[(kind.value, said) for kind, said in TOLD.items()], required=False
    )
    active = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, row: Webhook | None = None, **options: Any) -> None:
        initial = {"events": list(TOLD), "active": True}
        if row is not None:
            initial = {"url": row.url, "events": row.events, "active": row.is_active}
        super().__init__(*args, initial=initial, **options)

    @property
    def choices(self) -> list[tuple[str, str, bool]]:
        """Each event, what it means, and whether it is chosen."""
        chosen = self["events"].value() or []
        return [(kind.value, said, kind in chosen) for kind, said in TOLD.items()]

    @property
    def is_active(self) -> bool:
        return bool(self["active"].value())


WATCHED = {
    f"{Measure.ERROR_RATE}.{Window.HOUR}": "share of failed runs, of the last hour",
    f"{Measure.ERROR_RATE}.{Window.DAY}": "share of failed runs, of the last 24 hours",
    f"{Measure.COST}.{Window.DAY}": "cost of a day, of UTC",
}


class BoundForm(PageForm):
    watched = forms.ChoiceField(label="Watch", choices=WATCHED.items())
    agent = _field("Agent", NAME, "Left empty: all runs.")
    most = _field("Over", 30, "Percent for a share, US dollars for a cost.", inputmode="decimal")
    least_runs = _field(
        "Of at least", 9, f"Runs that have ended (for a share; 1 to {MOST_RUNS:,}, else 20).",
        inputmode="numeric",
    )  # fmt: skip

    def blame(self, member: str | None, message: str) -> None:
        """Say what is wrong with a member at its field, a share in the form's own words."""
        said = "A share is from 0 to 100 percent." if member == "share" else message
        self.add_error(BOUND_FIELDS.get(str(member), member), said)

    def sent(self) -> dict[str, Any]:
        """What was entered, as `bounds.add` takes it."""
        given = self.cleaned_data
        measure, _, window = given["watched"].partition(".")
        shared = {"measure": measure, "agent": given["agent"], "window": window}
        if measure == Measure.COST:
            return {**shared, "dollars": given["most"]}
        return {**shared, "share": _percent(given["most"]), "least_runs": given["least_runs"]}


def _percent(text: str) -> str:
    """A share of what was written in percent; what is no number stays for others to refuse."""
    try:
        return str(Decimal(text.strip().removesuffix("%")) / 100)
    except InvalidOperation:
        return text


BOUND_FIELDS = {"share": "most", "dollars": "most", "measure": "watched", "window": "watched"}
"""Where the form shows what is wrong with a member."""
