"""Who can be asked in a project: its own providers, and those of the environment behind them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.conf import settings

from replay.project_providers.models import ProjectProvider
from replay.project_providers.sealing import SealedOtherwise, unseal
from replay.providers import BadModel, Provider, choose, providers_from_env
from replay.providers.addresses import Policy
from replay.providers.catalog import base_name
from replay.providers.kinds import KINDS
from runs import statements


@dataclass(frozen=True, slots=True)
class Catalog:
    """`ready` can be asked; `broken` says of the others why not (`no_key`, `bad_seal`)."""

    ready: Mapping[str, Provider]
    broken: Mapping[str, BadModel] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    """Names of the project's own; the rest is of the environment."""

    def choose(self, model: str) -> tuple[Provider, str]:
        """The provider and the model's name in `provider:model`. Raises BadModel."""
        name = base_name(model)
        if name in self.broken:
            raise self.broken[name]
        return choose(model, self.ready)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.ready, *self.broken}))


def policy() -> Policy:
    """What the operator allows base URLs of projects to be."""
    return Policy(private=settings.REPLAY_PRIVATE_ADDRESSES)


def catalog_of(project_id: int) -> Catalog:
    """Read anew each time: a key that was taken away is not used again."""
    ready = providers_from_env(os.environ)
    # Also the keys of those that the project's own stand in front of.
    keys = [one.api_key for one in ready.values()]
    broken: dict[str, BadModel] = {}
    rows = statements.objects(ProjectProvider, project_id=project_id)
    for row in rows:
        ready.pop(row.name, None)
        try:
            ready[row.name] = made_of(row)
        except BadModel as bad:
            broken[row.name] = bad
    keys += [ready[row.name].api_key for row in rows if row.name in ready]
    hidden = tuple(dict.fromkeys(filter(None, keys)))
    shown = {name: replace(one, hidden=hidden) for name, one in ready.items()}
    return Catalog(shown, broken, frozenset(row.name for row in rows))


def made_of(row: ProjectProvider) -> Provider:
    """A stored provider with its key, ready to be asked. Raises BadModel."""
    kind = KINDS[row.kind]
    return Provider(
        row.name,
        row.address,
        _key(row),
        bearer=row.kind != "anthropic",
        api=kind.api,
        kind=row.kind,
        policy=policy(),
    )


def _key(row: ProjectProvider) -> str:
    if row.sealed:
        try:
            return unseal(row.sealed, row.project_id)
        except SealedOtherwise as wrong:
            said = f"the key of {row.name} cannot be opened: {wrong} Enter it again."
            raise BadModel("bad_seal", said) from None
    if not row.key_variable:
        if KINDS[row.kind].key_variable:
            raise BadModel("no_key", f"{row.name} has no key")
        return ""
    if not may_use(row.key_variable, row.kind, row.base_url):
        said = f"the operator does not let projects use the variable {row.key_variable}"
        raise BadModel("no_key", f"{row.name} can't be asked: {said}")
    value = os.environ.get(row.key_variable, "").strip()
    if not value:
        said = f"{row.key_variable} is not set where the server runs"
        raise BadModel("no_key", f"{row.name} can't be asked: {said}")
    return value


def may_use(variable: str, kind: str, base_url: str) -> bool:
    """Whether a project may have a variable's value sent to `base_url`.

    A maker's own key goes to the maker alone (or where the environment says the maker is). Any
    other is for the operator to allow (`PROVIDER_KEY_VARIABLES`): who picks both the variable and
    the address could have every secret of the server sent to themselves.
    """
    if variable in settings.PROVIDER_KEY_VARIABLES:
        return True
    known = KINDS[kind]
    if not known.key_variable or variable != known.key_variable:
        return False
    own = os.environ.get(known.base_variable, "").strip() if known.base_variable else ""
    return base_url.rstrip("/") in {"", known.base_url, own.rstrip("/")}
