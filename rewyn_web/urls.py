"""Where each app hangs: pages under /p/<project>/, the API under /api/v1/."""

from django.urls import include, path, re_path

from rewyn_web import health
from runs.api.schema import NothingView

handler400 = "rewyn_web.broken.bad_request"
handler500 = "rewyn_web.broken.server_error"

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/", include("runs.api.urls")),
    path("api/v1/", include("replay.api.urls")),
    path("", include("runs.accounts.urls")),
    path("", include("runs.urls")),
    path("", include("replay.urls")),
    # Last: what no route above knows.
    re_path("^api/", NothingView.as_view(), name="api-nothing"),
]
