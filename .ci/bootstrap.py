"""Make the environment and run a command in it, with nothing but Python's standard library.

    python3 .ci/bootstrap.py [--dev] COMMAND [ARGUMENT …]

The first way that works is taken: `uv` on the PATH; `uv` fetched into .tools/; `venv` and pip;
`venv --without-pip` and the machine's pip (Debian without python3-venv). The environment is made
again only when the lock file or the Python version changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
STAMP = VENV / ".stamp"
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 11)


class RouteFailed(Exception):
    """One way to make the environment did not work; the next is tried."""


def quiet(*command: str | Path, **environment: str) -> None:
    """Run a command; its output is shown only when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RouteFailed(f"{command[0]}: {done.stdout.strip()[-800:]}")


def maker() -> str:
    """The Python to make the environment with: not the one in it, which goes first.

    That is the one running where somebody has activated the environment.
    """
    if Path(sys.prefix).resolve() != VENV.resolve():
        return sys.executable
    return str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]


def with_uv(uv: str | Path, lock: Path) -> None:
    settings = {"UV_COMPILE_BYTECODE": "0", "UV_PYTHON_DOWNLOADS": "never"}
    shutil.rmtree(VENV, ignore_errors=True)
    quiet(uv, "venv", "--quiet", "--python", maker(), VENV, **settings)
    install = (uv, "pip", "install", "--quiet", "--python", PYTHON, "--require-hashes")
    quiet(*install, "-r", lock, **settings)


def uv_on_path(lock: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        raise RouteFailed("no uv on the PATH")
    with_uv(uv, lock)


def uv_fetched(lock: Path) -> None:
    """--target is not stopped by an externally managed Python and writes only below .tools/."""
    uv = TOOLS / "bin" / "uv"
    if not uv.exists():
        quiet(maker(), "-m", "pip", "install", "--quiet", "--target", TOOLS, "uv")
    with_uv(uv, lock)


def venv_with_pip(lock: Path) -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    quiet(maker(), "-m", "venv", VENV)
    quiet(PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock)


def venv_without_pip(lock: Path) -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    quiet(maker(), "-m", "venv", "--without-pip", VENV)
    install = (maker(), "-m", "pip", "--python", PYTHON, "install", "--quiet")
    quiet(*install, "--require-hashes", "-r", lock)


ROUTES: dict[str, Callable[[Path], None]] = {
    "uv": uv_on_path,
    "uv-fetched": uv_fetched,
    "venv": venv_with_pip,
    "venv-without-pip": venv_without_pip,
}


def wanted_stamp(lock: Path) -> str:
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    return f"{lock.name} {digest} {sys.version_info[:3]}"


def is_fresh(dev: bool) -> bool:
    """The development environment holds everything the other one does."""
    if not PYTHON.exists() or not STAMP.exists():
        return False
    stamp = STAMP.read_text()
    locks = [lock_file(True)] if dev else [lock_file(False), lock_file(True)]
    return any(wanted_stamp(lock) == stamp for lock in locks)


def lock_file(dev: bool) -> Path:
    return ROOT / ("requirements-dev.lock" if dev else "requirements.lock")


def make_environment(dev: bool) -> None:
    lock, failures, began = lock_file(dev), [], time.monotonic()
    print("Installing into .venv (once) …", file=sys.stderr, flush=True)
    only = os.environ.get("REWYN_BOOTSTRAP")
    for name, route in ROUTES.items():
        if only and name != only:
            continue
        try:
            route(lock)
        except (RouteFailed, OSError) as error:
            failures.append(f"- {name}: {error}")
            continue
        STAMP.write_text(wanted_stamp(lock))
        print(f"Installed in {time.monotonic() - began:.0f} s.", file=sys.stderr, flush=True)
        return
    shutil.rmtree(VENV, ignore_errors=True)
    sys.exit("No way to make a Python environment worked:\n" + "\n".join(failures) + advice())


def advice() -> str:
    """What to do about a Python that can install nothing, as a bare Debian's cannot."""
    if shutil.which("uv") or any(find_spec(name) for name in ("pip", "ensurepip")):
        return ""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return f"\n\n{maker()} has neither pip nor venv. On Debian: apt install {name}-venv"


@contextmanager
def turn() -> Iterator[None]:
    """One install at a time: two would take each other's packages away."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another install is going on; waiting for it …", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def newer_python() -> str | None:
    names = (f"python3.{minor}" for minor in range(16, OLDEST[1] - 1, -1))
    return next((path for name in names if (path := shutil.which(name))), None)


def main() -> None:
    if sys.version_info < OLDEST:
        found = newer_python()
        if found is None:
            sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
        os.execv(found, [found, *sys.argv])
    arguments = sys.argv[1:]
    dev = arguments[:1] == ["--dev"]
    command = arguments[1:] if dev else arguments
    if not is_fresh(dev):
        with turn():
            if not is_fresh(dev):  # another install may have made it meanwhile
                make_environment(dev)
    if command:
        os.chdir(ROOT)
        os.environ["PATH"] = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()
