"""How a client library hears that nobody needs what it would make of an answer."""

from __future__ import annotations


class Answered(Exception):
    """The response is whole, and the exchange has read it: there is nothing left to do."""
