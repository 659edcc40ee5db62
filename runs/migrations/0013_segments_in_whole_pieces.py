from django.db import migrations, models

from runs.migrations._room import take_less, take_more


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
        migrations.RunPython(take_less, take_more),
    ]
