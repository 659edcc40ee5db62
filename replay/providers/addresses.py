"""Which addresses a provider may have: the rule for base URLs, and for what their names lead to.

Pure but for `resolved`. A base URL is judged when it is stored (`check_url`) and its host again at
each call (`resolved`), because a name may lead elsewhere by then; the connection then goes to the
very addresses that were judged (`replay.providers.pinned`).

Never allowed, whatever the operator says: where clouds keep their machines' credentials (link-local
and the addresses below, as the clouds' own documentation gives them), "this host" (0.0.0.0/8, ::),
multicast and reserved ranges. Loopback and private ranges are allowed where the policy says so.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]

MOST_URL = 500
METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",
            "169.254.170.2",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
        ),
    )
)
METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog", "instance-data"})
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.ip_network("::/96")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
"""IPv4-translated (RFC 2765), as gateways between the two still take it."""
_THIS_HOST = ipaddress.ip_network("0.0.0.0/8")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?", re.IGNORECASE)
_NUMERIC = re.compile(r"(?:\d+|0[xX][0-9a-fA-F]*)")


class BadAddress(ValueError):
    """An address that is not asked. `code` is `bad_url`, `metadata`, `not_allowed` or `no_host`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Policy:
    """`private`: whether loopback and private ranges may be asked."""

    private: bool = False


def check_url(url: str, policy: Policy) -> SplitResult:
    """The parts of a base URL that may be kept. Raises BadAddress; asks no name server.

    A host that is a number in any spelling has to be four decimal numbers or an IPv6 address in
    brackets: `2130706433`, `0x7f.1` and `0177.0.0.1` are read as 127.0.0.1 by some and not by
    others, and what is read twice has to be read alike.
    """
    parts = _parts(url)
    if parts.username is not None or parts.password is not None:
        raise BadAddress("bad_url", "A base URL holds no user and no password.")
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise BadAddress("bad_url", "A base URL has no query and no fragment.")
    literal = host_address(parts.hostname or "")
    if literal is not None:
        check_address(literal, policy)
    return parts


def _parts(url: str) -> SplitResult:
    if len(url) > MOST_URL:
        raise BadAddress("bad_url", f"A base URL has at most {MOST_URL} characters.")
    if not url.isascii() or re.search(r"[\x00-\x20\x7f\\]", url):
        raise BadAddress("bad_url", "A base URL is plain ASCII without spaces or backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress("bad_url", "This is no URL.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadAddress("bad_url", "A base URL begins with https:// (or http://) and a host.")
    if port == 0:
        raise BadAddress("bad_url", "A port is 1 to 65535.")
    return parts


def host_address(host: str) -> Address | None:
    """The address a host spells, None for a name. Raises BadAddress for what is neither."""
    if ":" in host:
        return _literal(host)
    bare = host.removesuffix(".").lower()
    if not _HOST.fullmatch(host) or ".." in host or len(bare) > 253:
        raise BadAddress("bad_url", "The host is neither a name nor an address.")
    if bare in METADATA_NAMES:
        raise BadAddress("metadata", f"{bare} tells a machine's credentials; it is never asked.")
    return _literal(bare) if _NUMERIC.fullmatch(bare.rpartition(".")[2]) else None


def _literal(host: str) -> Address:
    try:
        return _unzoned(host)
    except ValueError:
        said = "Write an address as four decimal numbers, or as IPv6 in brackets."
        raise BadAddress("bad_url", said) from None


def _unzoned(text: str) -> Address:
    """An address; ValueError for one with a zone (`fd00:ec2::254%1`): to Python it is another than
    the same without, to the network it is not, and no server outside this machine's links has one.
    """
    if "%" in text:
        raise ValueError(text)
    return ipaddress.ip_address(text)


def check_address(address: Address, policy: Policy) -> None:
    """Raises BadAddress where `address`, or one that it stands for, may not be asked."""
    for one in _meant(address):
        if one in METADATA or one.is_link_local:
            said = f"{address} is where clouds keep a machine's credentials; it is never asked."
            raise BadAddress("metadata", said)
        if one.is_multicast or one.is_unspecified or _is_reserved(one):
            raise BadAddress("not_allowed", f"{address} is no address of a server.")
        if not policy.private and (not one.is_global or _is_local(one)):
            said = (
                f"{address} is a loopback or private address; the operator has not allowed those"
                " (REPLAY_PRIVATE_ADDRESSES)."
            )
            raise BadAddress("not_allowed", said)


def _meant(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 address that an IPv6 one stands for, in each form there is."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in net for net in (*_NAT64, _TRANSLATED)):
        inner.append(low)
    if address in _COMPATIBLE and int(address) > 1:
        inner.append(low)
    yield from (one for one in inner if one is not None)
    if address.ipv4_mapped is None:  # ::ffff:8.8.8.8 is as global as what it stands for
        yield address


def _is_reserved(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_reserved or address in _THIS_HOST
    return False


def _is_local(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.is_site_local


def resolved(url: str, policy: Policy, resolve: Resolve | None = None) -> list[str]:
    """The addresses to connect to for `url`, every one of them judged, in the resolver's order.

    One that may not be asked refuses all: a name that leads outside and inside is a trap. Raises
    BadAddress (`no_host` where the name leads nowhere).
    """
    parts = _parts(url)
    host = parts.hostname or ""
    literal = host_address(host)
    if literal is not None:
        check_address(literal, policy)
        return [str(literal)]
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = list(dict.fromkeys((resolve or _resolve)(host, port)))
    except (OSError, UnicodeError) as error:
        raise BadAddress("no_host", f"The name {host} leads nowhere: {error}") from None
    if not found:
        raise BadAddress("no_host", f"The name {host} leads nowhere.")
    for one in found:
        _check_found(host, one, policy)
    return found


def _check_found(host: str, found: str, policy: Policy) -> None:
    try:
        check_address(_unzoned(found), policy)
    except BadAddress as bad:
        raise BadAddress(bad.code, f"The name {host} leads to {found}. {bad}") from None
    except ValueError:
        raise BadAddress("not_allowed", f"The name {host} leads to {found}.") from None


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]
