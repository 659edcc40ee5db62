"""Names in an address that nobody knows: said, never passed over as if they were heeded. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import Field
from django.http import QueryDict

from runs.messages.loose import cut_name
from runs.refusals import Refused

MOST, LONGEST = 10, 60


@dataclass(frozen=True, slots=True)
class Stranger:
    """A name that is not known here; `meant` is the known one nearest to it, if any is near."""

    name: str
    meant: str

    @property
    def said(self) -> str:
        return f"{self.name} (did you mean {self.meant}?)" if self.meant else self.name


def strangers(asked: Iterable[str], known: Collection[str]) -> list[Stranger]:
    """The names of a query string that are not among `known`, the first `MOST` of them."""
    unknown = [name for name in asked if name not in known][:MOST]
    return [Stranger(cut_name(name, LONGEST), _nearest(name, known)) for name in unknown]


def told(asked: QueryDict, known: Collection[str]) -> dict[str, Any]:
    """What `runs/_strangers.html` shows on a page that heeds the names `known`; where no other
    is asked for, nothing. Of fields by name also the values that they cannot read are strangers."""
    unread = _unread(asked, known) if isinstance(known, Mapping) else {}
    found = [*strangers(asked, known), *unread.values()]
    left = set(known) - set(unread)
    return {"strangers": found, "known_query": _only(asked, left)} if found else {}


def _unread(asked: QueryDict, fields: Mapping[str, Field]) -> dict[str, Stranger]:
    """The values that a field of their name does not take, by name."""
    found = {}
    for name, field in fields.items():
        if name not in asked:
            continue
        try:
            field.clean(field.widget.value_from_datadict(asked, {}, name))
        except ValidationError:
            choices = [str(value) for value, _ in getattr(field, "choices", ())]
            value = str(asked[name])
            said = f"{name}={cut_name(value, LONGEST)}"
            found[name] = Stranger(said, _nearest(value, choices))
    return found


def _only(asked: QueryDict, known: Collection[str]) -> str:
    """The query string that is left."""
    left = asked.copy()
    for name in [name for name in left if name not in known]:
        del left[name]
    return left.urlencode()


def only(asked: Iterable[str], *known: str) -> None:
    """Raises Refused for the first name of a query string that is not among `known`."""
    for one in strangers(asked, known):
        hint = f" Did you mean `{one.meant}`?" if one.meant else ""
        raise Refused("unknown_field", f"There is no parameter of this name.{hint}", one.name)


def _nearest(name: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(name[:LONGEST].lower(), known, 1)), "")
