"""The rule for base URLs: what may be asked, in every spelling, and where the connection goes."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from asked import ASK_CHAT, COMPLETION, made
from hypothesis import example, given
from hypothesis import strategies as st

from replay.fake_provider import FakeProvider
from replay.providers import Provider, send
from replay.providers.addresses import BadAddress, Policy, check_url, resolved
from replay.providers.pinned import Pinned

OUTSIDE, INSIDE = Policy(), Policy(private=True)
PRIVATE = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
NEVER = ("169.254.0.0/16", "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4")


def within(*networks: str) -> st.SearchStrategy[ipaddress.IPv4Address]:
    return st.one_of(*(st.ip_addresses(v=4, network=ipaddress.ip_network(one)) for one in networks))


def code_of(url: str, policy: Policy = OUTSIDE) -> str:
    with pytest.raises(BadAddress) as caught:
        check_url(url, policy)
    return caught.value.code


def spellings(address: ipaddress.IPv4Address) -> list[str]:
    """As IPv6 that stands for an IPv4 address: RFC 4291 mapped and compatible, 3056, 6052,
    2765."""
    high, low = int(address) >> 16, int(address) & 0xFFFF
    return [
        f"[::ffff:{address}]",
        f"[::ffff:{high:x}:{low:x}]",
        f"[::{high:x}:{low:x}]",
        f"[2002:{high:x}:{low:x}::1]",
        f"[64:ff9b::{high:x}:{low:x}]",
        f"[::ffff:0:{high:x}:{low:x}]",
    ]


def numbers(address: ipaddress.IPv4Address) -> list[str]:
    """As inet_aton reads them, and most HTTP clients with it."""
    a, b, c, d = address.packed
    whole = int(address)
    return [
        str(whole), hex(whole), f"0{whole:o}", f"{a}.{whole & 0xFFFFFF}", f"{a}.{b}.{c << 8 | d}",
        f"0{a:o}.{b}.{c}.{d}", f"0x{a:x}.0x{b:x}.{c}.{d}", f"{whole}.",
    ]  # fmt: skip


@given(within(*PRIVATE))
def test_private_addresses_are_refused_unless_allowed(address):
    for host in (str(address), *spellings(address)):
        assert code_of(f"https://{host}/v1") in ("not_allowed", "metadata")
    if int(address) != int(ipaddress.ip_address("100.100.100.200")):
        check_url(f"http://{address}:8000/v1", INSIDE)


LOOPBACK = "[::0:1]"
"""How 0.0.0.1 would be spelled as compatible (RFC 4291 takes ::1 out of those)."""


@given(within(*NEVER))
@example(ipaddress.IPv4Address("0.0.0.1"))
@example(ipaddress.IPv4Address("0.0.0.0"))
def test_some_addresses_are_refused_whatever_is_allowed(address):
    for host in {str(address), *spellings(address)} - {LOOPBACK}:
        assert code_of(f"https://{host}/v1", INSIDE) in ("not_allowed", "metadata")


def test_the_loopback_of_ipv6_is_allowed_where_that_of_ipv4_is():
    assert code_of(f"https://{LOOPBACK}/v1") == "not_allowed"
    check_url(f"https://{LOOPBACK}/v1", INSIDE)


@given(st.ip_addresses(v=4))
def test_a_number_that_is_read_in_two_ways_is_no_address(address):
    for host in numbers(address):
        assert code_of(f"https://{host}/v1", INSIDE) == "bad_url"


@given(st.text(max_size=60))
def test_any_text_is_taken_or_refused_by_name(text):
    for url in (text, f"https://{text}", f"https://{text}/v1"):
        try:
            assert check_url(url, OUTSIDE).hostname
        except BadAddress as bad:
            assert bad.code in ("bad_url", "metadata", "not_allowed")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://169.254.169.254/latest/meta-data", "metadata"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://[fe80::a9fe:a9fe]/", "metadata"),
        ("http://100.100.100.200/", "metadata"),
        ("http://168.63.129.16/", "metadata"),
        ("http://metadata.google.internal./v1", "metadata"),
        ("ftp://api.example.com/v1", "bad_url"),
        ("https://user:pass@api.example.com/v1", "bad_url"),
        ("https://api.example.com@169.254.169.254/", "bad_url"),
        ("https://api.example.com\\@evil.example/", "bad_url"),
        ("https://127。0。0。1/", "bad_url"),
        ("https://api.example.com/v1?key=1", "bad_url"),
        ("https://api.example.com:99999/v1", "bad_url"),
        ("https://[::1", "bad_url"),
        ("https:///v1", "bad_url"),
    ],
)
def test_what_no_policy_takes(url, code):
    assert code_of(url, INSIDE) == code


@pytest.mark.parametrize("zone", ["%1", "%251", "%25eth0"])
@pytest.mark.parametrize("address", ["fd00:ec2::254", "fd12::1", "2606:4700::1111"])
def test_an_address_with_a_zone_is_none(address, zone):
    """To the network the zone of such an address says nothing: it is the same address."""
    assert code_of(f"http://[{address}{zone}]/v1", INSIDE) == "bad_url"
    with pytest.raises(BadAddress):
        resolved("https://gw.example/v1", INSIDE, lambda host, port: [f"{address}%eth0"])


@pytest.mark.parametrize("url", ["https://[::1]/v1", "http://[fd12::1]/", "https://[fec0::1]/"])
def test_private_ipv6_needs_the_operators_word(url):
    assert code_of(url) == "not_allowed"
    check_url(url, INSIDE)


@pytest.mark.parametrize(
    "url", ["https://api.mistral.ai/v1", "https://8.8.8.8/v1", "https://[2606:4700::1111]:8443/v1"]
)
def test_what_is_outside_is_taken(url):
    assert check_url(url, OUTSIDE).geturl() == url


def test_a_name_is_judged_by_everything_it_leads_to():
    def both(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.7"]

    with pytest.raises(BadAddress, match=r"gw\.example leads to 10\.0\.0\.7") as caught:
        resolved("https://gw.example/v1", OUTSIDE, both)
    assert caught.value.code == "not_allowed"
    assert resolved("https://gw.example/v1", INSIDE, both) == ["93.184.216.34", "10.0.0.7"]


def test_the_connection_goes_to_the_address_that_was_judged(fake: FakeProvider):
    """The second look-up would lead elsewhere: there is none."""
    answers = iter([["127.0.0.1"]])
    transport = Pinned(INSIDE, lambda host, port: next(answers))
    with httpx2.Client(transport=transport) as client:
        response = client.get(f"http://gw.example:{fake.port}/v1/models")
    assert response.status_code == 401  # the fake provider's own: no key was sent
    assert fake.asked[0].header("host") == f"gw.example:{fake.port}"


def test_the_next_address_is_tried_where_one_takes_no_connection(fake: FakeProvider):
    transport = Pinned(INSIDE, lambda host, port: ["127.9.9.9", "127.0.0.1"])
    with httpx2.Client(transport=transport) as client:
        assert client.get(f"http://gw.example:{fake.port}/v1/models").status_code == 401


def refused(provider: Provider, model: str, wire: Any, policy: Policy) -> Any:
    providers = {provider.name: replace(provider, policy=policy)}
    return send(made(providers, COMPLETION, f"{provider.name}:{model}", wire), timeout=5)


@pytest.mark.parametrize("name", ["openai", "anthropic"])  # the same lane and the other
def test_a_call_to_an_address_that_is_not_allowed_is_not_made(name, fake, providers):
    result = refused(providers[name], "m", ASK_CHAT, OUTSIDE)
    assert (result.error.kind, result.error.code) == ("address", "not_allowed")
    assert result.error.retryable is False and fake.asked == []


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_call_to_an_allowed_address_is_made_once(name, fake, providers):
    assert refused(providers[name], "m", ASK_CHAT, INSIDE).answer is not None
    assert len(fake.asked) == 1


def test_the_operators_own_base_url_reaches_no_metadata():
    provider = Provider("openai", "http://169.254.169.254/v1", "k")
    result = send(made({"openai": provider}, COMPLETION, "openai:m", ASK_CHAT), timeout=2)
    assert (result.error.kind, result.error.code) == ("address", "metadata")
