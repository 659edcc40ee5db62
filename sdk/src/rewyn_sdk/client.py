"""Sending logs to a server: gzip, retries, one clear error.

Only what can be sent again without harm is: the server stores an effect once, however often it
comes.
"""

from __future__ import annotations

import gzip
import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import EncodeError, PushError
from rewyn_sdk.log import EffectLog, ordered_header

_AGAIN = frozenset({429, 502, 503, 504})
_LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class PushResult:
    """What the server did. `url` is the run's page; `rejected` lists the server's reasons, one
    object an effect; `changed` names the facts of a known run (such as `agent`) that were known
    otherwise before."""

    run_id: str
    url: str
    created: bool
    stored: int
    duplicate: int
    rejected: list[dict[str, Any]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends effect logs to the server at `url` with an API key.

    `timeout` is in seconds, for each attempt; `retries` counts attempts after the first, made
    when no answer comes or on 429, 502, 503 and 504, after the wait the server asks for (at most
    30 s) or a growing one.
    """

    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    retries: int = 4

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise PushError(f"not an http address: {self.url!r}")
        if not self.key.isascii() or not self.key.isprintable():
            raise PushError("not an API key: it has characters that no key has")

    def push(
        self,
        log: EffectLog | bytes | str | Path,
        *,
        agent: str | None = None,
        run_id: str | None = None,
        **facts: Any,
    ) -> PushResult:
        """Send a log: a decoded one, its bytes, its text, or the path of its file.

        `agent` names who ran and `run_id` the run; without one, the server makes one from the
        content. Further facts of the run (`environment`, `agent_version`, `tags`, `metadata` …)
        travel beside the log, in which case it must be a JSON document or decoded. Raises
        PushError if the server refuses or cannot be reached, OSError if a file cannot be read.
        """
        run = {"id": run_id, "agent": agent, **facts}
        run = {name: value for name, value in run.items() if value is not None}
        if run.keys() <= {"id", "agent"}:
            query = {"agent": agent, "run_id": run_id}
            path = "/api/v1/effect-logs?" + urlencode({k: v for k, v in query.items() if v})
            return self._result(self._post(path.rstrip("?"), _log_bytes(log)))
        return self._result(self._post("/api/v1/runs", _envelope(run, log)))

    def _result(self, answer: Any) -> PushResult:
        try:
            effects = answer["effects"]
            return PushResult(
                run_id=str(answer["run_id"]),
                url=self.url.rstrip("/") + str(answer["url"]),
                created=bool(answer["created"]),
                stored=int(effects["stored"]),
                duplicate=int(effects["duplicate"]),
                rejected=list(effects["rejected"]),
                changed=[str(name) for name in answer.get("changed", ())],
            )
        except (KeyError, TypeError, ValueError):
            message = f"not the answer of a Rewyn server: {str(answer)[:200]}"
            raise PushError(message) from None

    def _post(self, path: str, body: bytes) -> Any:
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "Accept": "application/json",
            "User-Agent": "rewyn-sdk",
        }
        data = gzip.compress(body, 6, mtime=0)
        address = self.url.rstrip("/") + path
        request = urllib.request.Request(address, data, headers, method="POST")
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                return self._attempt(request)
            except urllib.error.HTTPError as error:
                if error.code not in _AGAIN or last:
                    raise _refusal(error) from None
                wait = _asked_wait(error.headers.get("Retry-After"))
                error.close()
            except (OSError, http.client.HTTPException) as error:
                if last:
                    raise PushError(f"no answer from {self.url}: {_reason(error)}") from error
                wait = None
            time.sleep(_backoff(attempt) if wait is None else wait)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, request: urllib.request.Request) -> Any:
        # No redirects: a POST would turn into a GET and the key would travel on.
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=self.timeout) as answer:
            return _json(answer.read())


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _log_bytes(log: EffectLog | bytes | str | Path) -> bytes:
    if isinstance(log, EffectLog):
        return _document(log)
    if isinstance(log, Path):
        return log.read_bytes()
    return log.encode("utf-8", "surrogatepass") if isinstance(log, str) else log


def _document(log: EffectLog) -> bytes:
    """A decoded log with the very bytes of its records, as a log sent whole has to have."""
    header = rig_json(ordered_header(log.header)).encode("utf-8", "surrogatepass")
    return b'{"header":%b,"records":[%b]}' % (header, b",".join(r.raw for r in log.records))


def _envelope(run: Mapping[str, Any], log: EffectLog | bytes | str | Path) -> bytes:
    try:
        facts = json.dumps(run, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise EncodeError(f"the facts of the run are no JSON: {error}") from None
    data = _log_bytes(log).removeprefix(b"\xef\xbb\xbf")
    if not isinstance(log, EffectLog) and not _is_document(data):
        data = _document(EffectLog.loads(data))
    return b'{"run":%b,"log":%b}' % (facts, data.strip())


def _is_document(data: bytes) -> bool:
    """Whether the bytes can be put into an envelope as they are: one JSON object, no lines."""
    try:
        return "records" in json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return False


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body[:200].decode("utf-8", "replace")


def _refusal(error: urllib.error.HTTPError) -> PushError:
    with error:
        answer = _json(error.read(1_000_000))
    told = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(told, dict):
        return PushError(f"HTTP {error.code}: {error.reason}", status=error.code)
    return PushError(
        str(told.get("message") or f"HTTP {error.code}"),
        status=error.code,
        code=told.get("code"),
        field=told.get("field"),
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def _backoff(attempt: int) -> float:
    """Half a second, doubled each time, with a spread so that many clients do not come at once."""
    return float(min(0.5 * 2**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1.0))


def _asked_wait(header: str | None) -> float | None:
    """The seconds a Retry-After asks for, as a number or as a date; None if it says neither."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header)
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else None


def _until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return float("nan")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
