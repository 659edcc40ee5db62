from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "runs.accounts"
    label = "accounts"
