"""Pages of replays: the list, the form with its plan, one replay, and the panel on a run's page."""
