"""The API of replays."""

from django.urls import path

from replay.api import compare, providers, review, views

app_name = "replay-api"
urlpatterns = [
    path("compare", compare.CompareView.as_view(), name="compare"),
    path("providers", providers.ProvidersView.as_view(), name="providers"),
    path("providers/<slug:name>", providers.ProviderView.as_view(), name="provider"),
    path("providers/<slug:name>/test", providers.ProviderTestView.as_view(), name="provider-test"),
    path("replays", views.ReplaysView.as_view(), name="replays"),
    path("replays/<slug:replay_id>", views.ReplayView.as_view(), name="replay"),
    path("replays/<slug:replay_id>/effects", views.ReplayEffectsView.as_view(), name="effects"),
    path("replays/<slug:replay_id>/cancel", views.CancellationView.as_view(), name="cancel"),
    path("replays/<slug:replay_id>/retry", views.RetryView.as_view(), name="retry"),
    path("divergences", review.DivergencesView.as_view(), name="divergences"),
    path(
        "divergences/<slug:divergence_id>/verdict", review.VerdictView.as_view(), name="verdict"
    ),
    path("verdicts/export", review.ExportView.as_view(), name="verdicts-export"),
]
