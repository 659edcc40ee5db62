from django.db import migrations, models

from runs.migrations._room import put_together, take_as_it_is


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0012_hashes_by_their_bytes"),
    ]

    operations = [
        migrations.AddField(
            model_name="segment",
            name="rest",
            field=models.BinaryField(null=True),
        ),
        migrations.RunPython(take_as_it_is, put_together),
    ]
