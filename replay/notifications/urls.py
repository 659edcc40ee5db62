"""Addresses of the pages of notifications and of the inbox, within the pages of replays."""

from django.urls import path

from replay.views import inbox, notifications

listed = "p/<slug:slug>/settings/notifications"
one = f"{listed}/webhooks/<slug:webhook_id>"

urlpatterns = [
    path("p/<slug:slug>/inbox", inbox.inbox, name="inbox"),
    path(listed, notifications.overview, name="notifications"),
    path(f"{listed}/bounds", notifications.new_bound, name="bounds"),
    path(
        f"{listed}/bounds/<slug:bound_id>/removal",
        notifications.bound_removal,
        name="bound-removal",
    ),
    path(one, notifications.webhook_page, name="webhook"),
    path(f"{one}/ping", notifications.ping, name="webhook-ping"),
    path(f"{one}/secret", notifications.secret, name="webhook-secret"),
    path(f"{one}/removal", notifications.removal, name="webhook-removal"),
    path(f"{one}/deliveries/<int:delivery_id>/again", notifications.again, name="webhook-again"),
]
