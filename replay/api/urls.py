"""The API of replays."""

from django.urls import path

from replay.api import (
    baselines,
    compare,
    experiments,
    ignore_rules,
    notifications,
    providers,
    review,
    views,
)
from runs import urls as _runs  # noqa: F401  (registers `seq`)

app_name = "replay-api"
one = "experiments/<slug:experiment_id>"
rules = "ignore-rules"
hook = "webhooks/<slug:webhook_id>"
baseline = "baselines/<slug:baseline_id>"
urlpatterns = [
    path("compare", compare.CompareView.as_view(), name="compare"),
    path("providers", providers.ProvidersView.as_view(), name="providers"),
    path("providers/<slug:name>", providers.ProviderView.as_view(), name="provider"),
    path("providers/<slug:name>/test", providers.ProviderTestView.as_view(), name="provider-test"),
    path("webhooks", notifications.WebhooksView.as_view(), name="webhooks"),
    path(hook, notifications.WebhookView.as_view(), name="webhook"),
    path(f"{hook}/ping", notifications.WebhookPingView.as_view(), name="webhook-ping"),
    path(f"{hook}/secret", notifications.WebhookSecretView.as_view(), name="webhook-secret"),
    path(f"{hook}/deliveries", notifications.DeliveriesView.as_view(), name="deliveries"),
    path(
        f"{hook}/deliveries/<int:delivery_id>/redeliver",
        notifications.RedeliveryView.as_view(),
        name="redeliver",
    ),
    path("bounds", notifications.BoundsView.as_view(), name="bounds"),
    path("bounds/<slug:bound_id>", notifications.BoundView.as_view(), name="bound"),
    path("replays", views.ReplaysView.as_view(), name="replays"),
    path("replays/<slug:replay_id>", views.ReplayView.as_view(), name="replay"),
    path("replays/<slug:replay_id>/effects", views.ReplayEffectsView.as_view(), name="effects"),
    path(
        "replays/<slug:replay_id>/effects/<seq:seq>/samples",
        views.ReplaySamplesView.as_view(),
        name="samples",
    ),
    path("replays/<slug:replay_id>/cancel", views.CancellationView.as_view(), name="cancel"),
    path("replays/<slug:replay_id>/retry", views.RetryView.as_view(), name="retry"),
    path("experiments", experiments.ExperimentsView.as_view(), name="experiments"),
    path(one, experiments.ExperimentView.as_view(), name="experiment"),
    path(f"{one}/matrix", experiments.MatrixView.as_view(), name="experiment-matrix"),
    path(f"{one}/cancel", experiments.ExperimentCancelView.as_view(), name="experiment-cancel"),
    path(f"{one}/retry", experiments.ExperimentRetryView.as_view(), name="experiment-retry"),
    path(f"{one}/candidates", experiments.CandidatesView.as_view(), name="experiment-candidates"),
    path(f"{one}/export", experiments.ExperimentExportView.as_view(), name="experiment-export"),
    path("datasets", experiments.DatasetsView.as_view(), name="datasets"),
    path("datasets/<slug:dataset_id>", experiments.DatasetView.as_view(), name="dataset"),
    path(rules, ignore_rules.IgnoreRulesView.as_view(), name="ignore-rules"),
    path(f"{rules}/preview", ignore_rules.PreviewView.as_view(), name="ignore-rules-preview"),
    path(
        f"{rules}/application",
        ignore_rules.ApplicationView.as_view(),
        name="ignore-rules-application",
    ),
    path("divergences", review.DivergencesView.as_view(), name="divergences"),
    path("divergences/<slug:divergence_id>/verdict", review.VerdictView.as_view(), name="verdict"),
    path("baselines", baselines.BaselinesView.as_view(), name="baselines"),
    path(baseline, baselines.BaselineView.as_view(), name="baseline"),
    path(f"{baseline}/revocation", baselines.RevocationView.as_view(), name="revoke-baseline"),
    path("verdicts/export", review.ExportView.as_view(), name="verdicts-export"),
]
