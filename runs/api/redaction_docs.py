"""What the OpenAPI document says of redaction rules."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from runs.api.docs import errors


class RuleIn(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Stands in the mark: `[redacted:name]`.")
    pattern = serializers.CharField(required=False, help_text="A regular expression.")
    field = serializers.CharField(
        required=False, help_text="A member's name, or a JSON pointer with `*` for any step."
    )


class RulesIn(serializers.Serializer[Any]):
    rules = RuleIn(many=True)


class RuleOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    pattern = serializers.CharField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    problem = serializers.CharField(allow_null=True, help_text="Why it does not count.")


class Rules(serializers.Serializer[Any]):
    rules = RuleOut(many=True)
    built_in = serializers.ListField(child=serializers.CharField())


class TriedIn(serializers.Serializer[Any]):
    pattern = serializers.CharField(required=False)
    field = serializers.CharField(required=False)


class Example(serializers.Serializer[Any]):
    run = serializers.CharField()
    seq = serializers.IntegerField()
    path = serializers.CharField()
    text = serializers.CharField(help_text="What stands there now, cut.")


class Tried(serializers.Serializer[Any]):
    runs = serializers.IntegerField()
    effects = serializers.IntegerField(help_text="Looked at: the newest of the newest runs.")
    matched = serializers.IntegerField(help_text="Of these, how many the rule would change.")
    complete = serializers.BooleanField(help_text="False: looking stopped early.")
    examples = Example(many=True)


get_rules = extend_schema(
    operation_id="get_redaction",
    summary="The project's own redaction rules",
    tags=["Redaction"],
    responses={200: Rules, **errors()},
)
put_rules = extend_schema(
    operation_id="replace_redaction",
    summary="Replace the project's own redaction rules",
    tags=["Redaction"],
    request=RulesIn,
    responses={200: Rules, **errors(400, 413, 422)},
)
preview = extend_schema(
    operation_id="preview_redaction",
    summary="What a rule would take out of the effects that came in last",
    tags=["Redaction"],
    request=TriedIn,
    responses={200: Tried, **errors(400, 413, 422)},
)
