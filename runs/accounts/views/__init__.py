"""Pages of people, projects, members and keys."""

from runs.accounts.views.sign_in import locked_out

__all__ = ["locked_out"]
