"""A hash as a column: its bytes, which are half of what its hexadecimal digits are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    Bytes = models.BinaryField[str, str]
else:
    Bytes = models.BinaryField


class HashField(Bytes):
    """Hexadecimal text wherever it is used. SQLite's rows of before hold that text, and may."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str | None:
        return value if value is None or isinstance(value, str) else bytes(value).hex()

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        given = bytes.fromhex(value) if isinstance(value, str) else value
        return super().get_db_prep_value(given, connection, prepared)
