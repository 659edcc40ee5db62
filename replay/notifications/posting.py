"""A signed body on its way to its receiver. Knows no database.

One attempt has `SECONDS` for everything: its name, the connection, and the start of an answer. The
address is judged again at each attempt and only judged addresses are connected to; no redirect is
followed, and no proxy of the environment is used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2

from replay.providers.addresses import Policy
from replay.providers.errors import retry_after
from replay.providers.pinned import AsyncPinned
from replay.providers.tls import ssl_context
from runs.messages.loose import clean

SECONDS = 10.0
GONE = 410
ASK_FOR_REST = (429, 503)
"""Of these answers `Retry-After` counts."""
READ = 4000
"""Bytes of an answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One body for one address."""

    url: str
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """`status` is None where no answer came, and `said` then tells why. `rest` is how many seconds
    the receiver asks to be left alone for, 0 where it says nothing of it."""

    status: int | None
    said: str
    took_ms: float | None = None
    rest: float = 0.0

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Its receiver says that it will never take anything again."""
        return self.status == GONE


def post_all(letters: Sequence[Letter], policy: Policy) -> list[Reply]:
    """Send them side by side, each once. Never raises for the network; over in `SECONDS`."""
    return asyncio.run(_post_all(letters, policy))


async def _post_all(letters: Sequence[Letter], policy: Policy) -> list[Reply]:
    asyncio.get_running_loop().set_default_executor(_Impatient(max_workers=16))
    return list(await asyncio.gather(*(_post(letter, policy) for letter in letters)))


class _Impatient(ThreadPoolExecutor):
    """Threads that ask name servers; one that gets no answer keeps nobody waiting."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


async def _post(letter: Letter, policy: Policy) -> Reply:
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            status, said, rest = await _ask(letter, policy)
    except TimeoutError:
        return Reply(None, f"No answer within {SECONDS:g} seconds.", _ms(began))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        return Reply(None, clean(str(error) or type(error).__name__), _ms(began))
    if 300 <= status < 400:
        said = f"Redirects are not followed. {said}"
    if status == GONE:
        said = f"Its receiver is gone for good: it is not tried again. {said}"
    return Reply(status, said, _ms(began), rest)


async def _ask(letter: Letter, policy: Policy) -> tuple[int, str, float]:
    """Status, the beginning of the body, and the seconds of rest that it asks for."""
    client = httpx2.AsyncClient(
        timeout=SECONDS,
        verify=ssl_context(),
        transport=AsyncPinned(policy),
        follow_redirects=False,
        trust_env=False,
    )
    headers = {
        **letter.headers,
        "Content-Type": "application/json",
        "User-Agent": "rewyn-web",
        # A compressed answer could be small on the wire and have no bound unpacked.
        "Accept-Encoding": "identity",
    }
    begun = bytearray()
    async with (
        client,
        client.stream("POST", letter.url, content=letter.body, headers=headers) as response,
    ):
        async for piece in response.aiter_raw():
            begun += piece
            if len(begun) >= READ:
                break
        said = clean(bytes(begun[:READ]).decode("utf-8", "replace"))
        asked = retry_after(response.headers) if response.status_code in ASK_FOR_REST else None
        return response.status_code, said, asked or 0.0


def _ms(began: float) -> float:
    return (time.monotonic() - began) * 1000
