"""Requests that break the server, and those it refuses before it looks at them."""

from __future__ import annotations

import io
import logging

import pytest
from django.test import Client

from runs.api.read import RunView

pytestmark = pytest.mark.django_db


def test_what_breaks_the_api_is_told_in_its_one_shape(api_key, monkeypatch):
    monkeypatch.setattr(RunView, "get", lambda *args, **named: 1 / 0)
    client = Client(raise_request_exception=False)
    answer = client.get("/api/v1/runs/r1", headers={"authorization": f"Bearer {api_key}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")


def test_a_request_for_another_host_is_one_line_in_the_log():
    [console] = [h for h in logging.getLogger().handlers if type(h) is logging.StreamHandler]
    log = io.StringIO()
    before = console.setStream(log)
    assert Client().get("/sign-in", headers={"host": "evil.example"}).status_code == 400
    console.setStream(before)
    assert "evil.example" in log.getvalue()
    assert "Traceback" not in log.getvalue()


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/webhooks", "/api/v1/nothing"])
@pytest.mark.parametrize("with_key", [True, False])
def test_the_api_answers_for_another_host_in_its_one_shape(api_key, path, with_key):
    key = {"authorization": f"Bearer {api_key}"} if with_key else {}
    answer = Client().get(path, headers={"host": "evil.example", **key})
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/json")
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("unknown_host", "Host")


def test_more_fields_than_django_takes_are_refused_in_the_one_shape(api_key, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 2
    headers = {"authorization": f"Bearer {api_key}"}
    answer = Client().get("/api/v1/runs?tag=a&tag=b&tag=c", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_may_name_the_address_of_a_container(path):
    assert Client().get(path, headers={"host": "10.1.2.3:8010"}).status_code != 400
