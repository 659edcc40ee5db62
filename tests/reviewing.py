"""What a person does on the review page, without JavaScript."""

from __future__ import annotations

import re

from django.test import Client

from replay.models import Cluster, ReviewEvent

PAGE = "/p/acme/review"


def text(answer, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[:500]
    return answer.content.decode().replace("&#x27;", "'")


def form(client: Client, cluster: Cluster, query: str = "") -> dict[str, str]:
    """What the verdict form of a cluster's page holds."""
    page = text(client.get(f"{PAGE}?cluster={cluster.pk}{query}"))
    [judge] = re.findall(r'<form class="judge".*?</form>', page, re.S)
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', judge))
    return {**hidden, "which": "all", "baseline": "on"}


def judge(client: Client, cluster: Cluster, sent: dict[str, str], verdict: str, **more):
    address = f"{PAGE}/clusters/{cluster.pk}/verdict"
    return client.post(address, {**sent, "verdict": verdict, **more.pop("data", {})}, **more)


def decide(client: Client, cluster: Cluster, verdict: str = "accepted", **data):
    return judge(client, cluster, form(client, cluster), verdict, data=data)


def states(cluster: Cluster) -> list[str]:
    return list(cluster.members.order_by("pk").values_list("state", flat=True))


def counts(cluster: Cluster) -> tuple[int, ...]:
    cluster.refresh_from_db()
    return tuple(getattr(cluster, f"{s}_count") for s in ("open", "accepted", "regression"))


def undo(client: Client, event: ReviewEvent):
    return client.post(f"{PAGE}/events/{event.pk}/undo")
