#!/usr/bin/env python3
"""Django's command line for this project."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
    sys.path[:0] = [str(ROOT / "sdk" / "src")]
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
