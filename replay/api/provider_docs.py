"""What the OpenAPI document says of a project's providers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from replay.providers.kinds import KINDS
from runs.api.docs import errors


class Limits(serializers.Serializer[Any]):
    parallel = serializers.IntegerField(allow_null=True, required=False)
    per_minute = serializers.IntegerField(allow_null=True, required=False)
    replay_budget = serializers.FloatField(allow_null=True, required=False, help_text="US dollars.")
    day_budget = serializers.FloatField(
        allow_null=True, required=False, help_text="US dollars, a day of UTC."
    )


class ProviderIn(Limits):
    kind = serializers.ChoiceField(choices=list(KINDS))
    base_url = serializers.CharField(required=False, help_text="Default: where the kind is.")
    key = serializers.CharField(
        required=False, help_text="Sealed, never given out. Not sent: the one there is stays."
    )
    key_variable = serializers.CharField(
        required=False, help_text="Instead of a key: a variable of the server's environment."
    )


class Problem(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class LastTest(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    model = serializers.CharField()
    passed = serializers.BooleanField()
    said = serializers.CharField(help_text="The provider's own words.")


class ProviderOut(Limits):
    name = serializers.CharField()
    kind = serializers.CharField()
    base_url = serializers.CharField(allow_null=True)
    asked_at = serializers.CharField()
    key = serializers.CharField(allow_null=True, help_text="`sealed`, `variable` or null.")
    key_variable = serializers.CharField(allow_null=True)
    sealed_at = serializers.DateTimeField(allow_null=True)
    spent_today = serializers.FloatField(
        allow_null=True, help_text="US dollars since midnight UTC; null: nothing of it is known."
    )
    spent_today_complete = serializers.BooleanField(help_text="Else it is at least that much.")
    problem = Problem(allow_null=True)
    test = LastTest(allow_null=True)


class ProvidersOut(serializers.Serializer[Any]):
    results = ProviderOut(many=True)
    environment = serializers.ListField(child=serializers.CharField())


class TestIn(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="The model's name, without the provider.")


class TestOut(serializers.Serializer[Any]):
    passed = serializers.BooleanField()
    code = serializers.CharField(help_text="Empty, or the kind of error.")
    said = serializers.CharField(help_text="The provider's own words.")
    status = serializers.IntegerField(allow_null=True)
    latency_ms = serializers.FloatField(allow_null=True)
    url = serializers.CharField()


list_providers = extend_schema(
    operation_id="list_providers",
    summary="The project's providers",
    tags=["Providers"],
    responses={200: ProvidersOut, **errors()},
)
get_provider = extend_schema(
    operation_id="get_provider",
    summary="One provider",
    tags=["Providers"],
    responses={200: ProviderOut, **errors(404)},
)
put_provider = extend_schema(
    operation_id="put_provider",
    summary="Make or change a provider",
    tags=["Providers"],
    request=ProviderIn,
    responses={200: ProviderOut, 201: ProviderOut, **errors(400, 413, 422)},
)
delete_provider = extend_schema(
    operation_id="delete_provider",
    summary="Remove a provider and its key",
    tags=["Providers"],
    responses={204: None, **errors(404)},
)
test_provider = extend_schema(
    operation_id="test_provider",
    summary="Ask a provider something small",
    tags=["Providers"],
    request=TestIn,
    responses={200: TestOut, **errors(400, 404, 413, 422)},
)
