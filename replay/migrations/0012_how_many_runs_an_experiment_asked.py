from django.db import migrations, models


class Migration(migrations.Migration):
    """Of those before nobody knows: runs that were deleted have left nothing."""

    dependencies = [("replay", "0011_execute_may_ask_no_model")]

    operations = [
        migrations.AddField("experiment", "asked_runs", models.PositiveIntegerField(null=True)),
    ]
