"""What people change about runs: tags, and whether they are there at all."""

from factories import run, tool
from workers import until

from replay import sweeper
from runs import curate
from runs.models import Effect, Run, RunLabel, Segment


def tags(api) -> list[str]:
    return api("GET", "/api/v1/runs/r1").json()["tags"]


def test_tags_are_added_and_taken_off(api):
    api("POST", "/api/v1/runs", run("r1", tool(1), tags=["a"]))
    curate.add_tags([Run.objects.get()], ["b", "a", "b", ""])
    assert tags(api) == ["a", "b"]
    curate.remove_tags([Run.objects.get()], ["a"])
    assert tags(api) == ["b"]


def test_a_tagged_run_is_found_by_its_tag(api):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    curate.add_tags([Run.objects.get()], ["vip"])
    assert len(api("GET", "/api/v1/runs?tag=vip").json()["results"]) == 1


def test_a_deleted_run_leaves_its_neighbours(api):
    for name in ("r1", "r2"):
        api("POST", "/api/v1/runs", run(name, tool(1), tags=["t"]))
    curate.delete_run(Run.objects.get(external_id="r1"))
    left = [model.objects.count() for model in (Run, Effect, Segment, RunLabel)]
    assert left == [1, 1, 1, 2]
    assert api("GET", "/api/v1/runs/r2/effects/1").json()["record"] == tool(1)


def test_a_run_brought_back_while_others_go_stays(api, monkeypatch):
    for name in ("r1", "r2"):
        api("POST", "/api/v1/runs", run(name, tool(1)))
    curate.mark_deleted(Run.objects.all())
    monkeypatch.setattr(curate, "UNDO_SECONDS", 0)
    deleted = Run.everything.all()
    monkeypatch.setattr(curate.segments, "forget_kept", lambda: deleted.update(deleted_at=None))
    assert curate.purge_deleted() == 1
    assert (Run.objects.count(), Effect.objects.count()) == (1, 1)


def test_the_sweeper_of_a_worker_ends_what_was_deleted(api, transactional_db, monkeypatch):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    monkeypatch.setattr(curate, "UNDO_SECONDS", 0)
    curate.mark_deleted([Run.objects.get()])
    sweeper.start()
    try:
        until(lambda: not Run.everything.exists())
    finally:
        sweeper.stop()
    assert not Effect.objects.exists()
    assert api("POST", "/api/v1/runs", run("r1", tool(1))).status_code == 410
