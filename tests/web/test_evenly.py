"""A process with more than its share of what is going on lets go of a connection."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewyn_web.evenly import Board, Evenly

Headers = list[tuple[str, str]]
CLOSE = ("Connection", "close")


class Together:
    """An application whose requests all begin before any answers, and answer before any ends."""

    def __init__(self, parties: int) -> None:
        self.gate = threading.Barrier(parties, timeout=60)

    def __call__(self, environ, start_response):
        self.gate.wait()
        start_response("200 OK", [("X-Own", "kept")])
        self.gate.wait()
        return [b""]


def answers(processes: list[Evenly], loads: list[int], rounds: int) -> list[list[Headers]]:
    """The headers each process answered with, while it had that many going on."""
    given: list[list[Headers]] = [[] for _ in processes]

    def ask(place: int) -> None:
        processes[place]({}, lambda status, headers, *more: given[place].append(headers))

    with ThreadPoolExecutor(sum(loads)) as pool:
        for _ in range(rounds):
            places = [place for place, load in enumerate(loads) for _ in range(load)]
            list(pool.map(ask, places))
    return given


def two_processes(requests: int) -> list[Evenly]:
    board, application = Board(2), Together(requests)
    return [Evenly(application, board), Evenly(application, board)]


@pytest.mark.parametrize("loads", [[3, 1], [4, 0], [2, 0]])
def test_the_busier_process_lets_go_of_a_connection(loads: list[int]) -> None:
    busy, idle = answers(two_processes(sum(loads)), loads, rounds=4)
    assert len([headers for headers in busy if CLOSE in headers]) == loads[0]  # each fourth
    assert not [headers for headers in idle if CLOSE in headers]
    assert all(("X-Own", "kept") in headers for headers in busy + idle)


@pytest.mark.parametrize("loads", [[2, 2], [1, 0], [2, 1]])
def test_an_even_load_keeps_its_connections(loads: list[int]) -> None:
    busy, idle = answers(two_processes(sum(loads)), loads, rounds=4)
    assert not [headers for headers in busy + idle if CLOSE in headers]


def test_a_moment_of_more_than_the_share_lets_go_of_nothing() -> None:
    busy, _ = answers(two_processes(3), [3, 0], rounds=1)
    assert not [headers for headers in busy if CLOSE in headers]


def test_a_process_too_many_balances_nothing() -> None:
    board = Board(1)
    Evenly(Together(2), board)
    [given] = answers([Evenly(Together(2), board)], [2], rounds=4)
    assert not [headers for headers in given if CLOSE in headers]
