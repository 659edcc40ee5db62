"""The WSGI entry point. Without a broker it also carries the embedded worker."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
django_application = get_wsgi_application()

from rewyn_web import serve, settle  # noqa: E402  (needs the app registry)
from rewyn_web.celery import start_embedded_worker  # noqa: E402
from runs import prices  # noqa: E402

application = serve.evenly(django_application)
serve.end_with_parent()
start_embedded_worker()
prices.warm()
settle.leave_out()
settle.settle_soon()
