"""The API of replays."""

from django.urls import URLPattern

app_name = "replay-api"
urlpatterns: list[URLPattern] = []
