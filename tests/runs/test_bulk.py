"""One row read fast: the same object as the ORM's, field for field."""

import pytest

from runs import bulk, ingest
from runs.accounts.models import Membership, Project
from runs.models import Effect, Run


def fields(one) -> list:
    values = (getattr(one, field.attname) for field in one._meta.concrete_fields)
    return [(type(value), value) for value in values]


@pytest.fixture
def stored(project, make_member, shared) -> None:
    make_member("member")
    body = (shared / "data/rig/refund-memory.effects.json").read_bytes()
    ingest.accept_log(project, body, run_id="run", agent="agent")


@pytest.mark.parametrize("model", [Project, Membership, Run, Effect])
def test_an_object_is_read_as_the_orm_reads_it(stored, model) -> None:
    known = model.objects.order_by("pk").first()
    assert fields(bulk.get(model, id=known.pk)) == fields(known)


def test_what_is_not_there_is_none(db) -> None:
    assert bulk.get(Run, project_id=1, external_id="nobody") is None


@pytest.mark.parametrize("odd", ["a'b", "%s", "?", "\u2028"])
def test_any_text_is_asked_for_as_a_value(db, odd: str) -> None:
    assert bulk.get(Project, slug=odd) is None
