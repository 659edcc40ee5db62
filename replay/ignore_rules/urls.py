"""Pages of ignore rules; `replay.urls` takes them in."""

from django.urls import path

from replay.views import ignore_rules

rules = "p/<slug:slug>/ignore-rules"
urlpatterns = [
    path(rules, ignore_rules.rules, name="ignore-rules"),
    path(f"{rules}/removal", ignore_rules.removal, name="remove-ignore-rule"),
    path(f"{rules}/application", ignore_rules.application, name="apply-ignore-rules"),
]
