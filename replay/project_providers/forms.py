"""The form of a provider; what is right is decided in `keeping`, for pages and programs alike."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from replay.project_providers.keeping import MEMBERS, MOST_KEY
from replay.project_providers.models import PROVIDER_NAME, VARIABLE, ProjectProvider
from replay.providers.addresses import MOST_URL
from replay.providers.kinds import KINDS
from runs.accounts.forms import PageForm, PlainField

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


def _field(label: str, most: int, hint: str = "", **more: Any) -> PlainField:
    widget = forms.TextInput(attrs={**_PLAIN, **more})
    return PlainField(label=label, max_length=most, required=False, help_text=hint, widget=widget)


def _number(label: str, hint: str) -> PlainField:
    return _field(label, 30, hint, inputmode="decimal", placeholder="no limit")


class ProviderForm(PageForm):
    kind = forms.ChoiceField(
        label="Kind", choices=[(kind.name, kind.label) for kind in KINDS.values()]
    )
    name = _field("Name", PROVIDER_NAME, "Models are written as name:model: acme:gpt-5.")
    base_url = _field("Base URL", MOST_URL, "Left empty: where the kind is.", inputmode="url")
    key = PlainField(
        label="Key",
        max_length=MOST_KEY,
        required=False,
        help_text="Sealed before it is stored, and never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "spellcheck": "false"}),
    )
    key_variable = _field("or from the variable", VARIABLE)
    parallel = _number("Calls at once", "Of all replays of this project together.")
    per_minute = _number("Calls a minute", "")
    replay_budget = _number("Budget of one replay", "US dollars. Reached, the replay ends partial.")
    day_budget = _number("Budget of a day", "US dollars, a day of UTC.")

    def __init__(self, *args: Any, row: ProjectProvider | None = None, **options: Any) -> None:
        if row is not None:
            options["initial"] = _initial(row)
        super().__init__(*args, **options)
        self.fields["key_variable"].help_text = _variables()
        if row is not None:
            del self.fields["name"]
            if row.sealed:
                self.fields["key"].help_text = "Left empty, the sealed one stays."
        if self.is_bound and self.data.get("key"):  # shown again only where something is wrong
            self.fields["key"].help_text = "Type it again: a form that is refused keeps no key."

    def sent(self, name: str = "") -> dict[str, Any]:
        """What was entered, as `keeping.read` takes it."""
        given = {member: self.cleaned_data.get(member, "") for member in MEMBERS}
        return {**given, "name": name} if name else given


def _variables() -> str:
    known = [kind.key_variable for kind in KINDS.values() if kind.key_variable]
    named = ", ".join((*known, *settings.PROVIDER_KEY_VARIABLES))
    return f"Where the server runs: {named}."


def _initial(row: ProjectProvider) -> dict[str, Any]:
    given = {member: getattr(row, member) for member in MEMBERS if member != "key"}
    for budget in ("replay_budget", "day_budget"):
        amount = given[budget]
        given[budget] = "" if amount is None else f"{amount.normalize():f}"
    return given


class TestForm(PageForm):
    """The model that the test button asks."""

    __test__ = False
    model = _field("Model", 200, "One tiny request; it may cost a fraction of a cent.")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["model"].required = True
