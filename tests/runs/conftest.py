"""A second project, to show that nothing of one is seen by the other."""

import pytest


@pytest.fixture
def other_project_key(db) -> str:
    """The token of an admin key of another project."""
    from runs.accounts import keys
    from runs.accounts.models import Project, Scope

    other = Project.objects.create(slug="other", name="Other")
    return keys.mint(project=other, name="other", scope=Scope.ADMIN)[1]
