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
    assert Client().get("/healthz", headers={"host": "evil.example"}).status_code == 400
    console.setStream(before)
    assert "evil.example" in log.getvalue()
    assert "Traceback" not in log.getvalue()
