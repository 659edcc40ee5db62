"""Ctrl K: runs, agents, views, pages and actions by how their words begin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from runs import palette
from runs.models import Run, SavedView

PALETTE = "/p/acme/palette"
HX = {"HX-Request": "true"}


@pytest.fixture
def made(project) -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    names = ("Refund the helmet", "Where is my order?", "Reset the VPN token")
    Run.objects.bulk_create(
        Run(
            project=project,
            external_id=f"run-{n}",
            title=name,
            agent=("refund-desk", "order-status", "it-help")[n],
            source="rig",
            status="succeeded",
            sort_at=start + timedelta(hours=n),
            error_seq=4 if n == 0 else None,
        )
        for n, name in enumerate(names)
    )
    SavedView.objects.create(project=project, name="Slow refunds", query="sort=-duration")


def choices(client: Client, query: str) -> str:
    return client.get(f"{PALETTE}?{query}", headers=HX).content.decode()


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        ("helm", "/p/acme/runs/run-0"),
        ("vpn token", "/p/acme/runs/run-2"),
        ("run-1", "/p/acme/runs/run-1"),
        ("DESK", "/p/acme/agent?name=refund-desk"),
        ("slow", "/p/acme/runs?sort=-duration&amp;view="),
        ("sett", "/p/acme/settings"),
        ("compare", "/p/acme/compare"),
    ],
)
def test_words_find_what_begins_like_them(made, member_client, asked, address) -> None:
    assert f'href="{address}' in choices(member_client, f"q={asked}")


def test_nothing_typed_offers_the_newest_runs_and_the_pages(made, member_client) -> None:
    found = choices(member_client, "")
    assert found.index("/runs/run-2") < found.index("/runs/run-0") < found.index("/members")
    assert "<html" not in found and "agent?name" not in found


def test_the_run_one_stands_on_can_be_acted_on(made, member_client) -> None:
    found = choices(member_client, "run=run-0")
    assert 'href="/p/acme/runs/run-0/replay"' in found and 'href="/p/acme/runs/run-0/log"' in found
    assert 'href="/p/acme/runs/run-0?at=4"' in found and "data-copy-link" in found
    assert "Replay this run" not in choices(member_client, "run=none")


def test_nobody_is_offered_what_their_role_does_not_cover(made, make_member) -> None:
    viewer = Client()
    viewer.force_login(make_member("viewer"), backend="django.contrib.auth.backends.ModelBackend")
    found = choices(viewer, "run=run-0")
    assert "Export the log" in found
    assert "/replay" not in found.replace("/replays", "") and "/keys" not in found


def test_an_old_run_is_found_by_the_start_of_its_id(made, member_client, monkeypatch) -> None:
    monkeypatch.setattr(palette, "LOOKED_AT", 1)
    assert "/runs/run-0" in choices(member_client, "q=run-0")
    assert "/runs/run-0" not in choices(member_client, "q=helmet")


@pytest.mark.parametrize("query", ["q=%00", "q=" + "x" * 300, "q=%3Cscript%3E", "run=%00", "q=~"])
def test_what_is_nothing_finds_nothing(made, member_client, query) -> None:
    answer = member_client.get(f"{PALETTE}?{query}", headers=HX)
    assert answer.status_code == 200 and b"<script" not in answer.content


def test_it_is_a_page_where_there_are_no_scripts(made, member_client) -> None:
    page = member_client.get(f"{PALETTE}?q=helm").content.decode()
    assert "<html" in page and '<a class="choice" href="/p/acme/runs/run-0">' in page


def test_it_costs_few_queries(made, member_client, django_assert_max_num_queries) -> None:
    choices(member_client, "q=ref")
    with django_assert_max_num_queries(10):
        choices(member_client, "q=ref&run=run-0")


def test_the_costliest_call_of_the_day_is_asked_for_by_name(member_client, project) -> None:
    page = member_client.get("/p/acme/palette?q=costliest").text
    assert 'href="/p/acme/costliest?last=24h"' in page
