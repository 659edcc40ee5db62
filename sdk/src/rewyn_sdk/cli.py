"""The command `rewyn-sdk`: push logs to a server, check them, show what is in them.

Exit codes: 0 all well, 1 some file refused, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rewyn_sdk.errors import HeaderError, RewynError
from rewyn_sdk.log import EffectLog

_FACTS = ("environment", "agent_version", "name", "session_id", "user_id")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process by default)."""
    args = _parser().parse_args(argv)
    return int(args.run(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rewyn-sdk", description="Effect logs of AI agents.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_push(commands.add_parser("push", help="send logs to a server"))
    check = commands.add_parser("check", help="say whether Rig 0.44 would take these logs")
    show = commands.add_parser("show", help="say in a line what is in each log")
    for command, run in ((check, _check), (show, _show)):
        command.add_argument("files", nargs="+", type=Path, metavar="FILE")
        command.set_defaults(run=run)
    return parser


def _add_push(push: argparse.ArgumentParser) -> None:
    environ = os.environ
    push.add_argument("files", nargs="+", type=Path, metavar="FILE")
    push.add_argument("--url", default=environ.get("REWYN_URL"), help="server [REWYN_URL]")
    push.add_argument("--key", default=environ.get("REWYN_KEY"), help="API key [REWYN_KEY]")
    push.add_argument("--agent", help="who ran (default: the file's name up to the first dot)")
    push.add_argument("--run-id", help="the run's id (for one file)")
    for fact in _FACTS:
        push.add_argument(f"--{fact.replace('_', '-')}")
    push.add_argument("--tag", action="append", dest="tags", metavar="TAG")
    push.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS")
    push.add_argument("--retries", type=int, default=4, metavar="N")
    push.set_defaults(run=_push, parser=push)


def _push(args: argparse.Namespace) -> int:
    from rewyn_sdk.client import Client

    for name, variable in (("url", "REWYN_URL"), ("key", "REWYN_KEY")):
        if not getattr(args, name):
            args.parser.error(f"--{name} or {variable} is needed")
    if args.run_id and len(args.files) > 1:
        args.parser.error("--run-id names one run: give one file")
    try:
        client = Client(args.url, args.key, timeout=args.timeout, retries=args.retries)
    except RewynError as error:
        args.parser.error(str(error))
    facts = {fact: getattr(args, fact) for fact in (*_FACTS, "tags")}

    def send(file: Path) -> str:
        agent = args.agent or file.name.split(".")[0] or None
        result = client.push(file, agent=agent, run_id=args.run_id, **facts)
        if result.rejected:
            first = result.rejected[0]
            raise RewynError(f"{len(result.rejected)} rejected: {first.get('message', first)}")
        changed = f", changed: {', '.join(result.changed)}" if result.changed else ""
        return f"{result.url} ({result.stored} stored, {result.duplicate} known{changed})"

    return _each(args.files, send)


def _check(args: argparse.Namespace) -> int:
    from rewyn_sdk.header import check_header

    def check(file: Path) -> str:
        log = EffectLog.loads(file.read_bytes(), strict=True)
        check_header(log)
        return f"ok ({len(log.records)} records)"

    return _each(args.files, check)


def _show(args: argparse.Namespace) -> int:
    def show(file: Path) -> str:
        log = EffectLog.loads(file.read_bytes())
        families = Counter(record.family or "unknown" for record in log.records)
        counts = ", ".join(f"{number} {family}" for family, number in families.most_common())
        warned = f"; {len(log.warnings)} warnings" if log.warnings else ""
        return f"{log.shape} {log.source}, {counts or 'no records'}{warned}"

    return _each(args.files, show)


def _each(files: list[Path], work: Callable[[Path], str]) -> int:
    """One line a file: on standard output if it went well, else on standard error."""
    refused = False
    for file in files:
        try:
            print(f"{file}: {work(file)}", flush=True)
        except HeaderError as error:
            refused = True
            print(f"{file}: {error.kind}: {error}", file=sys.stderr)
        except (RewynError, OSError) as error:
            refused = True
            print(f"{file}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
    return int(refused)
