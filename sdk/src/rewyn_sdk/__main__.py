"""`python -m rewyn_sdk` is the command `rewyn-sdk`."""

import sys

from rewyn_sdk.cli import main

sys.exit(main())
