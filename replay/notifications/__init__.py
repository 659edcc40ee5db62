"""Who is told of what happened: a project's webhooks, its bounds, and each person's inbox."""
