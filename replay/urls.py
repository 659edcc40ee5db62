"""Pages of replays."""

from django.urls import path

from replay.views import compare, form, listing, page
from runs import urls as _runs  # noqa: F401  (registers `run_id` and `seq`)

app_name = "replay"

replays = "p/<slug:slug>/replays"
one = f"{replays}/<slug:replay_id>"
of_run = "p/<slug:slug>/runs/<run_id:run_id>"

urlpatterns = [
    path("p/<slug:slug>/compare", compare.compare, name="compare"),
    path(replays, listing.replay_list, name="list"),
    path(one, page.replay_detail, name="detail"),
    path(f"{one}/cancellation", page.cancellation, name="cancel"),
    path(f"{one}/retry", page.another_try, name="retry"),
    path(f"{one}/effects/<seq:seq>/<slug:side>", page.body, name="body"),
    path(f"{of_run}/replay", form.new_replay, name="new"),
    path(f"{of_run}/replays", listing.panel, name="panel"),
]
