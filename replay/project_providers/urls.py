"""Addresses of the pages of providers, within the pages of replays."""

from django.urls import path

from replay.views import providers

all_of_them = "p/<slug:slug>/settings/providers"
one = f"{all_of_them}/<slug:name>"

urlpatterns = [
    path(all_of_them, providers.provider_list, name="providers"),
    path(one, providers.provider_page, name="provider"),
    path(f"{one}/test", providers.provider_test, name="provider-test"),
    path(f"{one}/removal", providers.provider_removal, name="provider-removal"),
]
