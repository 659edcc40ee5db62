"""Where scripts, styles and pictures are."""

from __future__ import annotations

from django.contrib.staticfiles.storage import StaticFilesStorage


class KnownAddresses(StaticFilesStorage):
    """Works out each address once: a page has twenty-five of them."""

    _known: dict[str | None, str] = {}

    def url(self, name: str | None) -> str:
        if name not in self._known:
            self._known[name] = super().url(name)
        return self._known[name]
