"""Many tables of one rendering of the models."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class TablesAtOnce(migrations.Migration):
    """A first migration whose operations make models and add fields to them, nothing else.

    Django would render all related models anew for each table, half the time of a first start.
    Here the tables are made as the models are when all operations are done; what is written down
    and the SQL that is shown (`sqlmigrate`) stay Django's.
    """

    def apply(
        self,
        project_state: ProjectState,
        schema_editor: BaseDatabaseSchemaEditor,
        collect_sql: bool = False,
    ) -> ProjectState:
        if collect_sql:
            return super().apply(project_state, schema_editor, collect_sql)
        before = project_state.clone()
        project_state.__dict__.pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(self.app_label, project_state)
        for operation in self.operations:
            if isinstance(operation, migrations.CreateModel):
                operation.database_forwards(self.app_label, schema_editor, before, project_state)
        return project_state
