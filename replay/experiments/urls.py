"""Pages of experiments and datasets; `replay.urls` takes them in."""

from django.urls import path

from replay.views import datasets, experiment_new, experiments

listed = "p/<slug:slug>/experiments"
one = f"{listed}/<slug:experiment_id>"
sets = "p/<slug:slug>/datasets"

urlpatterns = [
    path(listed, experiments.experiment_list, name="experiments"),
    path(f"{listed}/new", experiment_new.new_experiment, name="experiment-new"),
    path(one, experiments.experiment_detail, name="experiment"),
    path(f"{one}/cancellation", experiments.cancellation, name="experiment-cancel"),
    path(f"{one}/retry", experiments.another_try, name="experiment-retry"),
    path(f"{one}/candidates", experiment_new.more_candidates, name="experiment-candidates"),
    path(f"{one}/export", experiments.export, name="experiment-export"),
    path(sets, datasets.dataset_list, name="datasets"),
    path(f"{sets}/<slug:dataset_id>", datasets.dataset_detail, name="dataset"),
    path(f"{sets}/<slug:dataset_id>/removal", datasets.removal, name="dataset-removal"),
]
