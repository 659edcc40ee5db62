"""Pages of replays."""

from django.urls import path

from replay.experiments import urls as experiment_urls
from replay.ignore_rules import urls as ignore_urls
from replay.notifications import urls as notification_urls
from replay.project_providers import urls as provider_urls
from replay.views import baselines, compare, form, listing, page, review, review_writes
from runs import urls as _runs  # noqa: F401  (registers `run_id` and `seq`)

app_name = "replay"

replays = "p/<slug:slug>/replays"
one = f"{replays}/<slug:replay_id>"
reviews = "p/<slug:slug>/review"
cluster = f"{reviews}/clusters/<int:cluster_id>"
difference = f"{reviews}/divergences/<slug:divergence_id>"
of_run = "p/<slug:slug>/runs/<run_id:run_id>"

urlpatterns = [
    path("p/<slug:slug>/compare", compare.compare, name="compare"),
    *provider_urls.urlpatterns,
    *notification_urls.urlpatterns,
    *experiment_urls.urlpatterns,
    *ignore_urls.urlpatterns,
    path(replays, listing.replay_list, name="list"),
    path(one, page.replay_detail, name="detail"),
    path(f"{one}/cancellation", page.cancellation, name="cancel"),
    path(f"{one}/retry", page.another_try, name="retry"),
    path(f"{one}/effects/<seq:seq>/<slug:side>", page.body, name="body"),
    path(reviews, review.review, name="review"),
    path(f"{reviews}/minimum", review_writes.minimum, name="minimum"),
    path(f"{reviews}/events/<int:event_id>/undo", review_writes.undo, name="undo"),
    path(f"{cluster}/verdict", review_writes.verdict, name="verdict"),
    path(f"{cluster}/assignment", review_writes.assignment, name="assign"),
    path(difference, review.divergence, name="divergence"),
    path(f"{difference}/comments", review_writes.comments, name="comments"),
    path("p/<slug:slug>/baselines", baselines.baseline_list, name="baselines"),
    path(
        "p/<slug:slug>/baselines/<slug:baseline_id>/revocation",
        baselines.revocation,
        name="revoke-baseline",
    ),
    path(f"{of_run}/replay", form.new_replay, name="new"),
    path(f"{of_run}/replays", listing.panel, name="panel"),
]
