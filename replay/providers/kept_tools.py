"""The library's models, each of which works out once what tools become at it.

The calls of a run mostly offer the same tools, and the library walks through their schemas for
every call. It imports the library: see `library`.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from pydantic_ai.models import Model, ModelRequestParameters

from replay.dialects import Prompt
from replay.providers.library import parameters_of

KEPT = 8
K = TypeVar("K")
M = TypeVar("M", bound=Model)
V = TypeVar("V")


def _kept(known: OrderedDict[K, V], key: K, make: Callable[[], V]) -> V:
    """What is known by this key, made if need be; the longest unused goes first."""
    if key not in known:
        known[key] = make()
    known.move_to_end(key)
    while len(known) > KEPT:
        known.popitem(last=False)
    return known[key]


class Offers:
    """What prompts offer and want, as the library's own object: the same for the same offer."""

    def __init__(self, api: str) -> None:
        self._api = api
        self._known: OrderedDict[str, ModelRequestParameters] = OrderedDict()

    def of(self, prompt: Prompt) -> ModelRequestParameters:
        return _kept(self._known, _spelled(prompt), lambda: parameters_of(prompt, self._api))


def _spelled(prompt: Prompt) -> str:
    """All that `parameters_of` looks at, as text: values would take 1, 1.0 and true for one."""
    tools = [[tool.name, tool.description, tool.schema, tool.strict] for tool in prompt.tools]
    shape = prompt.schema
    wanted = None if shape is None else [shape.name, shape.schema, shape.strict]
    return json.dumps([tools, wanted])


class _Remembers(Model):
    """By the object itself, which is kept with what became of it."""

    def customize_request_parameters(self, asked: ModelRequestParameters) -> ModelRequestParameters:
        known: OrderedDict[int, tuple[ModelRequestParameters, ModelRequestParameters]]
        known = self.__dict__.setdefault("_became", OrderedDict())
        make = super().customize_request_parameters
        _, became = _kept(known, id(asked), lambda: (asked, make(asked)))
        return became


@cache
def remembering(kind: type[M]) -> type[M]:
    """A model of the library that does so. Which ones there are is not said here: to import the
    client of each takes seconds."""
    return type(kind.__name__, (_Remembers, kind), {})
