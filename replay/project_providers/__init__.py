"""A project's own providers: sealed keys, their limits, and who is asked for a model."""
