"""The form of a rule; what is right is decided in `rule`, for pages and programs alike."""

from __future__ import annotations

from typing import Any

from django import forms

from replay.ignore_rules.applying import COUNTS
from replay.ignore_rules.rule import MAX_NAME, MAX_PATH, MAX_PLACE, MEMBERS
from runs.accounts.forms import PageForm, PlainField
from runs.own_patterns import MAX_PATTERN

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


def _field(label: str, most: int, hint: str, **more: Any) -> PlainField:
    widget = forms.TextInput(attrs=_PLAIN)
    return PlainField(label=label, max_length=most, help_text=hint, widget=widget, **more)


class IgnoreRuleForm(PageForm):
    name = _field("Name", MAX_NAME, "What rows say that it ignored: “order ids”.")
    path = _field(
        "Path",
        MAX_PATH,
        "A JSON pointer into the answer, such as /calls/*/arguments/trace_id: * is any one step,"
        " ** any number of them. All of it goes, or with a pattern what matches there.",
        required=False,
    )
    pattern = _field(
        "Pattern",
        MAX_PATTERN,
        "A regular expression in texts and arguments, such as ord_[0-9A-Z]{6}. No look-around,"
        " no flags.",
        required=False,
        strip=False,
    )
    tool = _field("Only of the tool", MAX_PLACE, "Its calls, and no text.", required=False)
    key = _field(
        "Only of the effect key", MAX_PLACE, "Such as agent/model:default.", required=False
    )

    def given(self) -> dict[str, str]:
        return {member: self.cleaned_data.get(member, "") for member in MEMBERS}


class SoFarForm(forms.Form):
    """What earlier requests applied, and where this one goes on; what cannot be is left out."""

    after = PlainField(max_length=40, required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in COUNTS:
            self.fields[name] = forms.IntegerField(min_value=0, max_value=10**9, required=False)

    def counts(self) -> dict[str, int]:
        self.full_clean()
        return {name: self.cleaned_data.get(name) or 0 for name in COUNTS}


class SuggestedForm(forms.Form):
    """What an address fills the form with; what cannot be is left out."""

    path = PlainField(max_length=MAX_PATH, required=False)
    tool = PlainField(max_length=MAX_PLACE, required=False)

    def suggested(self) -> dict[str, str]:
        self.full_clean()
        return {name: value for name, value in self.cleaned_data.items() if value}
