"""Pages of this app."""

from django.urls import URLPattern

app_name = "replay"
urlpatterns: list[URLPattern] = []
