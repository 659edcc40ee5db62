"""The OpenAPI document and its page. Nothing is fetched from elsewhere."""

from __future__ import annotations

from typing import Any

from csp.decorators import csp_update
from django.http import Http404
from django.utils.decorators import method_decorator
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView


class SchemaView(SpectacularAPIView):
    renderer_classes = [OpenApiJsonRenderer]
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "head"]


# Swagger UI writes style attributes; no script of its own is inline in the split view.
@method_decorator(
    csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]}), name="dispatch"
)
class DocsView(SpectacularSwaggerSplitView):
    url_name = "api:schema"
    template_name = "api/docs.html"
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "head"]


class NothingView(APIView):
    """Any other address of the API: 404 in the one error shape, whatever the method."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "runs.api.auth.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: `rw_…`."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "runs.api.auth.SessionProjectAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        text = "A signed-in person names the project: `X-Project: <slug>`."
        return {"type": "apiKey", "in": "header", "name": "X-Project", "description": text}
