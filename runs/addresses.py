"""Addresses of pages, worked out once: a page names the same thirty or forty again and again."""

from __future__ import annotations

from functools import lru_cache

from django.urls import get_script_prefix, reverse


def address_of(name: str, *args: object) -> str:
    """What `reverse` says. Raises NoReverseMatch."""
    return _known(get_script_prefix(), name, *args)


@lru_cache(8192)
def _known(prefix: str, name: str, *args: object) -> str:
    return reverse(name, args=args)
