"""Comments on an effect, for programs: those there are, and one more."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from runs import bulk
from runs.accounts.keys import KeyPrincipal
from runs.accounts.models import ApiKey, Membership, Scope
from runs.api import docs
from runs.api.auth import project_id_of
from runs.api.incoming import read_small
from runs.api.read import ReadView, number
from runs.comments import threads, writing
from runs.comments.models import Comment
from runs.models import Effect, Run
from runs.refusals import Refused
from runs.strangers import only

MOST = 200


class ShownComment(serializers.Serializer[Any]):
    id = serializers.CharField()
    seq = serializers.IntegerField()
    author = serializers.CharField(help_text="The name people see; of a program, its key's.")
    by_person = serializers.BooleanField()
    text = serializers.CharField()
    mentions = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)


class CommentPage(serializers.Serializer[Any]):
    results = ShownComment(many=True)
    next = serializers.CharField(allow_null=True, help_text="`after` of the next page.")


class NewComment(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="Plain text; @name tells that person.")


class CommentsView(ReadView):
    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.REPLAY if self.request.method == "POST" else Scope.READ

    @extend_schema(
        operation_id="list_comments",
        tags=["comments"],
        responses={200: CommentPage, 404: docs.Error},
        description="Comments on an effect, oldest first.",
    )
    def get(self, request: Request, run_id: str, seq: str) -> Response:
        only(request.query_params, "after", "limit")
        run = self._run(request, run_id, seq)
        after = number(request, "after", 0, 0, 2**62)
        limit = number(request, "limit", 50, 1, MOST)
        found = threads.comments_on(run, int(seq)).filter(pk__gt=after)
        rows = list(found.prefetch_related("mentions")[: limit + 1])
        following = str(rows[limit - 1].pk) if len(rows) > limit else None
        return Response({"results": [_shape(row) for row in rows[:limit]], "next": following})

    @extend_schema(
        operation_id="write_comment",
        tags=["comments"],
        request=NewComment,
        responses={201: ShownComment, 404: docs.Error, 422: docs.Error},
        description="Say something about an effect. A key signs with its own name.",
    )
    def post(self, request: Request, run_id: str, seq: str) -> Response:
        run = self._run(request, run_id, seq)
        auth, text = request.auth, _text(request)
        author = auth.user if isinstance(auth, Membership) else None
        comment = writing.write(run, int(seq), text, author=author, signed=_key_name(auth))
        return Response(_shape(comment), status=201)

    def _run(self, request: Request, run_id: str, seq: str) -> Run:
        run = self.run(request, run_id)
        if bulk.find(Effect, ("id",), run_id=run.pk, seq=int(seq)) is None:
            raise Refused("not_found", "There is no effect at this position.")
        run.project_id = project_id_of(request)
        return run


def _text(request: Request) -> str:
    try:
        sent = parse(read_small(request._request))
    except DecodeError as error:
        raise Refused("malformed", f"The body is no JSON: {error}") from None
    text = sent.get("text") if isinstance(sent, dict) else None
    if not isinstance(text, str):
        raise Refused("invalid", "Expected a text.", "text")
    return text


def _key_name(auth: object) -> str:
    if not isinstance(auth, KeyPrincipal):
        return ""
    return ApiKey.objects.values_list("name", flat=True).get(pk=auth.key_id)


def _shape(comment: Comment) -> dict[str, Any]:
    return {
        "id": str(comment.pk),
        "seq": comment.seq,
        "author": comment.signed,
        "by_person": comment.author_id is not None,
        "text": comment.text,
        "mentions": sorted({mention.name for mention in comment.mentions.all()}),
        "created_at": comment.created_at,
        "edited_at": comment.edited_at,
    }
