"""A result that is rows, as a table: a list of flat objects, or of flat lists of one length as
databases give them; bounded, its true size known."""

from dataclasses import dataclass
from typing import Any

from runs.messages import exact
from runs.messages.facts import facts_of
from runs.messages.parts import Fact

ROWS, COLUMNS, CELL = 100, 12, 300
_LOOKED_AT = 2_000
"""Rows looked at for what columns there are and whether all of them are flat."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`kind` is text, number, literal, or nothing where the row has no such member."""

    text: str
    kind: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int
    column_count: int
    label: str = ""
    """The member of the result that holds the rows, if it holds more."""
    facts: tuple[Fact, ...] = ()
    """The scalars beside it."""

    @property
    def cut(self) -> bool:
        return self.row_count > len(self.rows) or self.column_count > len(self.columns)


def table(value: object) -> Table | None:
    """`value` as a table if it is rows, or one list of rows and scalars beside it; else None."""
    if isinstance(value, list):
        return _table(value)
    if not isinstance(value, dict):
        return None
    inner = [key for key, member in value.items() if isinstance(member, list | dict)]
    if len(inner) != 1 or not isinstance(value[inner[0]], list):
        return None
    return _table(value[inner[0]], inner[0], facts_of(value))


def _table(rows: list[Any], label: str = "", facts: tuple[Fact, ...] = ()) -> Table | None:
    looked = _named(rows[:_LOOKED_AT])
    if len(looked) < 2 or not all(map(_is_flat, looked)):
        return None
    columns = tuple(dict.fromkeys(key for row in looked for key in row))
    filled = sum(map(len, looked))
    if not columns or filled * 2 < len(columns) * len(looked):  # as a table mostly holes
        return None
    shown = columns[:COLUMNS]
    body = tuple(tuple(_cell(row, key) for key in shown) for row in looked[:ROWS])
    return Table(shown, body, len(rows), len(columns), label, facts)


def _named(rows: list[Any]) -> list[Any]:
    """Rows that are lists of one length, their columns named by number."""
    sizes = {len(row) if isinstance(row, list) else 0 for row in rows}
    if len(sizes) != 1 or min(sizes) < 2:
        return rows
    return [{str(place): value for place, value in enumerate(row, 1)} for row in rows]


def _is_flat(row: object) -> bool:
    return (
        isinstance(row, dict)
        and 0 < len(row) <= 200
        and not any(isinstance(member, dict | list) for member in row.values())
    )


def _cell(row: dict[str, Any], key: str) -> Cell:
    if key not in row:
        return Cell("", "nothing")
    value = row[key]
    if isinstance(value, str):
        return Cell(value[:CELL], "text", len(value) > CELL)
    written = exact.number(value)
    return Cell(written[:CELL], "number") if written else Cell(exact.compact(value), "literal")
