"""What the OpenAPI document says of ignore rules."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from replay.ignore_rules.rule import MAX_NAME
from runs.api.docs import errors

_PATH = "A JSON pointer into the answer; `*` is any one step, `**` any number of them."


class IgnoreRuleIn(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=MAX_NAME, help_text="What rows say that it ignored.")
    path = serializers.CharField(required=False, allow_null=True, help_text=_PATH)
    pattern = serializers.CharField(
        required=False, allow_null=True, help_text="A regular expression in texts and arguments."
    )
    tool = serializers.CharField(
        required=False, allow_null=True, help_text="Only the calls of this tool."
    )
    key = serializers.CharField(
        required=False, allow_null=True, help_text="Only effects of this key."
    )


class IgnoreRulesIn(serializers.Serializer[Any]):
    rules = IgnoreRuleIn(many=True)


class IgnoreRuleOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    path = serializers.CharField(allow_null=True)
    pattern = serializers.CharField(allow_null=True)
    tool = serializers.CharField(allow_null=True)
    key = serializers.CharField(allow_null=True)
    problem = serializers.CharField(allow_null=True, help_text="Why it does not count.")
    added_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class IgnoreRules(serializers.Serializer[Any]):
    rules = IgnoreRuleOut(many=True)


class IgnoreRuleTriedIn(serializers.Serializer[Any]):
    name = serializers.CharField(
        required=False, help_text="Of a rule that is there: it takes that one's place."
    )
    path = serializers.CharField(required=False, allow_null=True)
    pattern = serializers.CharField(required=False, allow_null=True)
    tool = serializers.CharField(required=False, allow_null=True)
    key = serializers.CharField(required=False, allow_null=True)


class IgnoreRuleExample(serializers.Serializer[Any]):
    replay = serializers.CharField()
    run = serializers.CharField()
    seq = serializers.IntegerField()
    becomes = serializers.CharField(help_text="The class it would have.")
    summary = serializers.CharField()

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "class": serializers.CharField(help_text="It has now.")}


class IgnoreRuleTried(serializers.Serializer[Any]):
    replays = serializers.IntegerField()
    compared = serializers.IntegerField(help_text="The newest compared answers, at most 1,000.")
    differ = serializers.IntegerField(help_text="Of these, how many differ.")
    silenced = serializers.IntegerField(help_text="Of these, how many would be equivalent.")
    milder = serializers.IntegerField(help_text="And how many of a milder class that still counts.")
    complete = serializers.BooleanField(help_text="False: looking stopped after two seconds.")
    examples = IgnoreRuleExample(many=True)


class IgnoreRulesApplyIn(serializers.Serializer[Any]):
    after = serializers.CharField(required=False, help_text="`next` of the answer before.")


class IgnoreRulesApplied(serializers.Serializer[Any]):
    compared = serializers.IntegerField(help_text="Stored answers held against their recordings.")
    silenced = serializers.IntegerField()
    milder = serializers.IntegerField()
    restored = serializers.IntegerField(help_text="What only rules covered that are gone.")
    judged = serializers.IntegerField(help_text="Left as they are: somebody gave a verdict.")
    next = serializers.CharField(allow_null=True, help_text="Null: all is done.")


get_rules = extend_schema(
    operation_id="get_ignore_rules",
    summary="The project's ignore rules",
    tags=["replays"],
    responses={200: IgnoreRules, **errors()},
)
put_rules = extend_schema(
    operation_id="replace_ignore_rules",
    summary="Replace the project's ignore rules",
    tags=["replays"],
    request=IgnoreRulesIn,
    responses={200: IgnoreRules, **errors(400, 413, 422)},
)
preview = extend_schema(
    operation_id="preview_ignore_rule",
    summary="What a rule would silence of the answers that were compared last",
    tags=["replays"],
    request=IgnoreRuleTriedIn,
    responses={200: IgnoreRuleTried, **errors(400, 413, 422)},
)
apply = extend_schema(
    operation_id="apply_ignore_rules",
    summary="Apply the rules to replays already there, some at a time",
    tags=["replays"],
    request=IgnoreRulesApplyIn,
    responses={200: IgnoreRulesApplied, **errors(400, 422)},
)
