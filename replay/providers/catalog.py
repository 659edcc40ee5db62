"""Which providers can be asked: read from the environment as their own clients read it.

``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` (with its ``/v1``) make ``openai:<model>`` usable,
``ANTHROPIC_API_KEY`` (or ``ANTHROPIC_AUTH_TOKEN``) and ``ANTHROPIC_BASE_URL`` (without) make
``anthropic:<model>`` usable. ``openai-chat:`` and ``openai-responses:`` fix the API.
``REWYN_FAKE_PROVIDER_URL`` (set by ``make run`` while there is a demo) makes ``fake:<model>``
usable: the fake provider on this machine, which needs no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from replay.dialects import CHAT, MESSAGES, RESPONSES

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_VERSION = "2023-06-01"
PATHS = {CHAT: "/chat/completions", RESPONSES: "/responses", MESSAGES: "/v1/messages"}
_NEEDS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_FIXED = {"openai-chat": CHAT, "openai-responses": RESPONSES}


class BadModel(ValueError):
    """A model that can't be asked: ``code`` is ``bad_form``, ``unknown_provider`` or ``no_key``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Provider:
    """Where to ask and with what key. The key is in no ``repr``; never store a provider.

    ``api`` fixes the API to ask; without it, it follows from the recording.
    """

    name: str
    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    bearer: bool = True
    api: str | None = None

    def url(self, api: str) -> str:
        """The address of an API, as the official client forms it."""
        return self.base_url.rstrip("/") + PATHS[api]

    def shown_url(self, api: str) -> str:
        """The address without a user or a password in it."""
        parts = urlsplit(self.url(api))
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def secrets(self) -> dict[str, str]:
        """The headers that carry the key; only a request that goes out has them."""
        if self.bearer:
            return {"Authorization": f"Bearer {self.api_key}"}
        return {"x-api-key": self.api_key}

    def is_openais_own(self) -> bool:
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    def masked(self, data: bytes) -> bytes:
        """Bytes of an answer without the key, which some servers say back."""
        secret = self.api_key.encode()
        return data.replace(secret, b"[key]") if len(secret) >= 4 else data


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
    return found


def choose(model: str, providers: Mapping[str, Provider]) -> tuple[Provider, str]:
    """The provider and the model's name in ``provider:model``. Raises ``BadModel``."""
    name, colon, rest = model.partition(":")
    if not colon or not name.strip() or not rest.strip():
        said = f"{model!r} is no model; write provider:model, for example openai:gpt-4o"
        raise BadModel("bad_form", said)
    base = "openai" if name in _FIXED else name
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
