"""Which providers can be asked: read from the environment as their own clients read it.

``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` (with its ``/v1``) make ``openai:<model>`` usable,
``ANTHROPIC_API_KEY`` (or ``ANTHROPIC_AUTH_TOKEN``) and ``ANTHROPIC_BASE_URL`` (without) make
``anthropic:<model>`` usable. ``openai-chat:`` and ``openai-responses:`` fix the API.
``REWYN_FAKE_PROVIDER_URL`` (set by ``make run`` while there is a demo) makes ``fake:<model>``
usable: the fake provider on this machine, which needs no key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from replay.dialects import CHAT, MESSAGES, RESPONSES
from replay.providers.addresses import Policy
from runs.redaction import Redactor

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_VERSION = "2023-06-01"
LEAST_SECRET = 4
PATHS = {CHAT: "/chat/completions", RESPONSES: "/responses", MESSAGES: "/v1/messages"}
_NEEDS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
COMPATIBLE = "compatible"
"""The kind of a server that speaks OpenAI's Chat Completions and is none of the others."""
FIXED_NAMES = ("openai-chat", "openai-responses")
_BUILT_IN_ALONE = Redactor()
_FIXED = dict(zip(FIXED_NAMES, (CHAT, RESPONSES), strict=True))


class BadModel(ValueError):
    """A model that can't be asked: ``code`` is ``bad_form``, ``unknown_provider`` or ``no_key``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Provider:
    """Where to ask and with what key. The key is in no ``repr``; never store a provider.

    ``api`` fixes the API to ask; without it, it follows from the recording. ``hidden`` are the keys
    of all providers here: a gateway may say back one that was not sent to it now. ``kind`` says
    whose manner of an API it is, where the name does not. ``policy`` bounds which addresses are
    asked; without one it is the operator who named the base URL, and only what is never asked is
    refused. ``redactor`` is the one of the project that asks.
    """

    name: str
    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    bearer: bool = True
    api: str | None = None
    kind: str = ""
    policy: Policy | None = None
    hidden: tuple[str, ...] = field(default=(), repr=False)
    redactor: Redactor = field(default=_BUILT_IN_ALONE, repr=False, compare=False)

    def url(self, api: str) -> str:
        """The address of an API, as the official client forms it."""
        return self.base_url.rstrip("/") + PATHS[api]

    def shown_url(self, api: str) -> str:
        """The address without a user or a password in it."""
        parts = urlsplit(self.url(api))
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def maker(self) -> str:
        """Whose API it is, whatever it is called here."""
        return self.kind or self.name

    @property
    def priced_as(self) -> str:
        """The name that price tables may know it by."""
        return self.name if self.kind == COMPATIBLE else self.maker

    def secrets(self) -> dict[str, str]:
        """The headers that carry the key; only a request that goes out has them."""
        if not self.api_key:
            return {}
        if self.bearer:
            return {"Authorization": f"Bearer {self.api_key}"}
        return {"x-api-key": self.api_key}

    def is_openais_own(self) -> bool:
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    def masked(self, data: bytes) -> bytes:
        """Bytes of an answer without the keys, which some servers say back, plain or escaped."""
        secrets = {key for key in (self.api_key, *self.hidden) if len(key) >= LEAST_SECRET}
        return _spellings(frozenset(secrets)).sub(b"[key]", data) if secrets else data

    def masked_text(self, text: str) -> str:
        """A text, of an error say, without the keys and what redaction takes out."""
        masked = self.masked(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        return self.redactor.text(masked)[0]


@lru_cache(maxsize=8)
def _spellings(secrets: frozenset[str]) -> re.Pattern[bytes]:
    """The secrets as JSON may write them, each character as itself or as ``\\uXXXX``, and as an
    error may show the header that holds one."""
    longest_first = sorted(secrets, key=lambda one: (-len(one), one))
    return re.compile(b"|".join(b"".join(map(_spelling, one)) for one in longest_first))


def _spelling(character: str) -> bytes:
    plain = re.escape(character.encode())
    units = character.encode("utf-16-be").hex()
    # More than one backslash: JSON within JSON, whose own escaping has to stay whole.
    codes = (rf"\\+u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    escaped = "".join(codes).encode()
    short = rb"|\\+" + plain if character in '/"\\' else b""
    if not (character.isascii() and character.isprintable()):  # a key of two lines, say
        shown = repr(character.encode())[2:-1].split("\\")[1:]
        short = b"|" + b"".join(rb"\\+" + one.encode() for one in shown)
    return b"(?:" + plain + b"|" + escaped + short + b")"


def providers_from_env(env: Mapping[str, str]) -> dict[str, Provider]:
    """The providers that have a key in ``env`` (say ``os.environ``), by name."""
    found: dict[str, Provider] = {}
    if key := _value(env, "OPENAI_API_KEY"):
        headers = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
        sent = {name: value for name, var in headers.items() if (value := _value(env, var))}
        url = _value(env, "OPENAI_BASE_URL") or OPENAI_URL
        found["openai"] = Provider("openai", url, key, sent)
    key, token = _value(env, "ANTHROPIC_API_KEY"), _value(env, "ANTHROPIC_AUTH_TOKEN")
    if secret := key or token:
        url = _value(env, "ANTHROPIC_BASE_URL") or ANTHROPIC_URL
        found["anthropic"] = Provider("anthropic", url, secret, bearer=not key)
    if fake := _value(env, "REWYN_FAKE_PROVIDER_URL"):
        found["fake"] = Provider("fake", f"{fake.rstrip('/')}/v1", "fake-provider-key")
    keys = tuple(provider.api_key for provider in found.values())
    return {name: replace(provider, hidden=keys) for name, provider in found.items()}


def base_name(model: str) -> str:
    """The provider that ``provider:model`` names, without the API it may fix."""
    name = model.partition(":")[0]
    return "openai" if name in _FIXED else name


def choose(model: str, providers: Mapping[str, Provider]) -> tuple[Provider, str]:
    """The provider and the model's name in ``provider:model``. Raises ``BadModel``."""
    name, colon, rest = model.partition(":")
    if not colon or not name.strip() or not rest.strip():
        said = f"{model!r} is no model; write provider:model, for example openai:gpt-4o"
        raise BadModel("bad_form", said)
    base = base_name(model)
    if base not in providers:
        if base in _NEEDS:
            said = f"{name} can't be asked: {_NEEDS[base]} is not set where the server runs"
            raise BadModel("no_key", said)
        known = ", ".join(sorted({*_NEEDS, *providers}))
        raise BadModel("unknown_provider", f"there is no provider {name!r}; known are {known}")
    provider = providers[base]
    return (replace(provider, api=_FIXED[name]) if name in _FIXED else provider), rest.strip()


def _value(env: Mapping[str, str], name: str) -> str | None:
    return (env.get(name) or "").strip() or None
