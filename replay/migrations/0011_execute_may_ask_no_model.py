from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Somebody's code may run against the recording without any model being asked."""

    dependencies = [("replay", "0010_answered_where_the_recording_failed")]

    operations = [
        migrations.RemoveConstraint("replay", "a_model_unless_reconstructed"),
        migrations.AddConstraint(
            "replay",
            models.CheckConstraint(
                condition=Q(mode="reconstruct", provider="", model="")
                | (Q(mode="prompt") & ~Q(model=""))
                | Q(mode="execute"),
                name="a_model_where_prompts_are_sent",
            ),
        ),
    ]
