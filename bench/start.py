"""How long a first and a second start take, and a stop.

python -m bench.start
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from bench.product import Product


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first (with the demo)", "second", "third"):
            with Product(Path(folder), REWYN_DEMO="1") as product:
                print(f"{which} start: {product.started_s:.2f} s, {product.rss_mib():.0f} MiB")
                began = time.monotonic()
                os.killpg(product.process.pid, signal.SIGINT)
                product.process.wait(10)
                print(f"  Ctrl-C to ended: {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
