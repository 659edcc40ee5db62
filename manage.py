#!/usr/bin/env python3
"""Django's command line for this project."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def in_the_environment() -> None:
    """Go on with the Python of the environment that `make` installs into."""
    python = ROOT / ".venv" / "bin" / "python"
    if Path(sys.prefix) == python.parent.parent or not python.exists():
        sys.exit("What this needs is not installed yet: `make env` does it, and `make run` too.")
    os.execv(python, [str(python), *sys.argv])


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
    sys.path[:0] = [str(ROOT / "sdk" / "src")]
    try:
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError as error:
        if error.name == "django":
            in_the_environment()
        raise

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
