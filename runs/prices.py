"""The one rule for cost: a project's own price, else the dated table, else what the log says.

The table is `genai_prices` (offline, dated, with tiers). A model it does not know costs an unknown
amount (None), never zero; a free model costs 0. Rig logs state a cost too, computed by Rig from a
table of its own; it is used only where ours does not know the model, so that one rule prices all
runs alike and re-pricing is possible.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from runs.usage import Usage

MILLION = Decimal(1_000_000)
MAX_COST = Decimal(10_000_000)
"""A larger cost of one effect is no cost: unknown."""


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens; None where nothing is known."""

    input: Decimal | None
    output: Decimal | None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


def cost_of(
    usage: Usage,
    *,
    family: str,
    models: tuple[str, ...],
    provider: str,
    when: datetime,
    overrides: Mapping[str, Any] | None = None,
) -> Decimal | None:
    """What one effect cost in US dollars, None where that is unknown.

    `models` are names to look up in order: the one that answered, then the one asked. `overrides`
    is a project's `price_overrides`; the longest matching pattern wins. `when` dates the price.
    """
    usage = _as_priced(usage, family)
    if usage.input is None or usage.output is None:
        return usage.recorded_cost
    rates = _own_rates(overrides, models, provider) if overrides else None
    if rates is not None:
        return _kept(_by_rates(usage, rates))
    cost = _by_table(usage, provider, models, when)
    return usage.recorded_cost if cost is None else _kept(cost)


ROW_FIELDS = (
    "family",
    "name",
    "response_model",
    "provider",
    "cost",
    "recorded_cost",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_tokens",
)


def cost_of_row(row: Any, when: datetime, overrides: Mapping[str, Any]) -> Decimal | None:
    """The cost of a stored effect (`ROW_FIELDS` of it), as of `when`."""
    tokens = (row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
    return cost_of(
        Usage(*tokens, row.reasoning_tokens, row.total_tokens, row.recorded_cost),
        family=row.family,
        models=(row.response_model, row.name),
        provider=row.provider,
        when=when,
        overrides=overrides,
    )


def warm(delay: float = 2.0) -> None:
    """Load the table in the background, after a start's other work (about a second, once)."""
    timer = threading.Timer(delay, _table)
    timer.daemon = True
    timer.start()


def _as_priced(usage: Usage, family: str) -> Usage:
    """Embeddings and reranks have no output; some report only a total."""
    if family == "completion":
        return usage
    inp = usage.input if usage.input is not None else usage.total
    return replace(usage, input=inp, output=usage.output or 0)


def _kept(cost: Decimal | None) -> Decimal | None:
    return None if cost is None or cost > MAX_COST else round(cost, 12)


# --- A project's own prices ------------------------------------------------------------------


def _own_rates(
    overrides: Mapping[str, Any], models: tuple[str, ...], provider: str
) -> Rates | None:
    for model in filter(None, models):
        for glob in sorted(overrides, key=len, reverse=True):
            if fnmatchcase(model, glob) or fnmatchcase(f"{provider}:{model}", glob):
                return _rates(overrides[glob])
    return None


def _rates(given: Any) -> Rates | None:
    if not isinstance(given, Mapping):
        return None
    rate = {name: _decimal(given.get(name)) for name in Rates.__slots__}
    return Rates(**rate)


def _decimal(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        return None
    return number if number.is_finite() and number >= 0 else None


def _by_rates(usage: Usage, rates: Rates) -> Decimal | None:
    assert usage.input is not None and usage.output is not None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    parts = (
        (max(usage.input - read - write, 0), rates.input),
        (read, rates.input if rates.cache_read is None else rates.cache_read),
        (write, rates.input if rates.cache_write is None else rates.cache_write),
        (usage.output, rates.output),
    )
    if any(tokens and rate is None for tokens, rate in parts):
        return None
    return sum((tokens * rate for tokens, rate in parts if rate), Decimal(0)) / MILLION


# --- The table -------------------------------------------------------------------------------

_ASK_THE_LIBRARY = ("requests_kcount", "output_reasoning_mtok")
_load = threading.Lock()


@lru_cache(1)
def _snapshot() -> Any:
    from genai_prices import data_snapshot

    return data_snapshot.get_snapshot()


def _table() -> Any:
    with _load:
        return _snapshot()


@lru_cache(4096)
def _model(provider: str, model: str) -> tuple[Any, Any] | None:
    """The table's provider and model, None if it does not know them."""
    try:
        found: tuple[Any, Any] = _table().find_provider_model(model, None, provider or None, None)
    except LookupError:
        return None
    return found


def window_of(provider: str, model: str) -> int | None:
    """How many tokens a model takes in and gives out together, None where nobody knows."""
    found = _model(provider, model)
    return found[1].context_window if found is not None else None


def _by_table(
    usage: Usage, provider: str, models: tuple[str, ...], when: datetime
) -> Decimal | None:
    for name in filter(None, models):
        found = _model(provider, name)
        if found is not None:
            return _at_price(usage, found[1].get_prices(when))
    return None


def _at_price(usage: Usage, price: Any) -> Decimal | None:
    # Four rates are all our usage can tell; asking the library costs fifty times as much.
    given = price.__dict__
    if any(given.get(name) is not None for name in _ASK_THE_LIBRARY):
        return _by_library(usage, price)
    rates = (_rate(given.get(f"{name}_mtok"), usage.input or 0) for name in Rates.__slots__)
    return _by_rates(usage, Rates(*rates))


def _rate(price: Any, input_tokens: int) -> Decimal | None:
    """A rate of the table, by its tier for this size of input."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    rate: Decimal = reached[-1] if reached else price.base
    return rate


def _by_library(usage: Usage, price: Any) -> Decimal | None:
    from genai_prices import Usage as Tokens

    tokens = Tokens(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_reasoning_tokens=usage.reasoning,
    )
    try:
        total: Decimal = price.calc_price(tokens)["total_price"]
    except (ValueError, LookupError):
        return None
    return total
