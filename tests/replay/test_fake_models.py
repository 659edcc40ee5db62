"""The demo's models: `fake:…` while a fake provider is named, and never otherwise."""

from __future__ import annotations

import pytest

from replay.fake_provider import FakeProvider
from replay.providers import BadModel, choose, providers_from_env
from replay.providers.catalog import CHAT


def test_a_named_fake_provider_can_be_asked() -> None:
    with FakeProvider() as fake:
        providers = providers_from_env({"REWYN_FAKE_PROVIDER_URL": fake.base_url})
        provider, model = choose("fake:steady", providers)
        assert provider.url(CHAT) == f"{fake.base_url}/v1/chat/completions"
        assert model == "steady"


def test_without_it_there_is_no_such_provider() -> None:
    with pytest.raises(BadModel) as refused:
        choose("fake:steady", providers_from_env({}))
    assert refused.value.code == "unknown_provider"
