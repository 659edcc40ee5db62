"""The OpenAPI document and its page. Nothing is fetched from elsewhere."""

from __future__ import annotations

from typing import Any

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny


class SchemaView(SpectacularAPIView):
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]


# Swagger UI writes style attributes; no script of its own is inline in the split view.
@method_decorator(
    csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]}), name="dispatch"
)
class DocsView(SpectacularSwaggerSplitView):
    url_name = "api:schema"
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
