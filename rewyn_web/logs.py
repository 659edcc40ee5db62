"""What the log says of requests that were refused."""

from __future__ import annotations

import logging


class RefusedInOneLine(logging.Filter):
    """A request that Django's own checks refused (another host, too many fields) is answered: a
    line says so. A traceback is for what broke."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security"):
            record.exc_info = record.exc_text = None
        return True
