from django.db import migrations, models
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce


def count_them(apps, schema_editor):
    """As `replay.experiments.cells` does for the cells that end from now on."""
    cells = apps.get_model("replay", "Cell").objects.filter(error__gt=0)
    rows = apps.get_model("replay", "ReplayEffect").objects.filter(
        replay=OuterRef("replay"), difference="error", state="answered"
    )
    counted = rows.order_by().values("replay").annotate(n=Count("pk")).values("n")
    cells.update(recovered=Coalesce(Subquery(counted), 0))


class Migration(migrations.Migration):
    dependencies = [("replay", "0009_notifications")]

    operations = [
        migrations.AddField("cell", "recovered", models.PositiveIntegerField(default=0)),
        migrations.RunPython(count_them, migrations.RunPython.noop, elidable=True),
    ]
