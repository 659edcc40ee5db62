"""Secrets are taken out before anything is stored: by known patterns and by a project's rules."""

from runs.redaction.redactor import Mark, Redactor, keyed_hash

__all__ = ["Mark", "Redactor", "keyed_hash"]
