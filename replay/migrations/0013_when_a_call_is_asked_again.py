from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replay", "0012_how_many_runs_an_experiment_asked")]

    operations = [
        migrations.AddField("replayeffect", "again_at", models.DateTimeField(null=True)),
    ]
