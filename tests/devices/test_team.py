"""Threads: each runs its part once, errors and interrupts leave the team usable."""

import gc
import threading
import time

import numpy as np
import pytest
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

from pinnsolve.devices.cpu.team import Team, deal


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_thread_runs_its_part_once(threads):
    team, seen = Team(threads), []
    for _ in range(50):
        seen.clear()
        team.run(lambda k: seen.append((k, threading.get_ident())))
        assert sorted(k for k, _ in seen) == list(range(threads))
        assert len({thread for _, thread in seen}) == threads
        assert dict(seen)[0] == threading.get_ident()


def test_some_threads_only():
    team, seen = Team(3), []
    team.run(seen.append, 2)
    assert sorted(seen) == [0, 1]


def test_parts_run_at_the_same_time():
    """Each waits for the other, which parts one after the other would do forever."""
    barrier = threading.Barrier(2, timeout=20)
    Team(2).run(lambda _: barrier.wait() and None)


@pytest.mark.parametrize("number", [0, 1])
def test_an_error_is_raised_after_all_have_ended(number):
    team, ended = Team(2), []

    def part(thread):
        if thread == number:
            raise ValueError(f"in thread {thread}")
        time.sleep(0.02)
        ended.append(thread)

    with pytest.raises(ValueError, match=f"in thread {number}"):
        team.run(part)
    assert ended == [1 - number]
    team.run(ended.append)
    assert sorted(ended[1:]) == [0, 1]


def test_what_an_interrupt_left_behind_ends_before_the_next_part_of_a_thread(monkeypatch):
    """The caller is interrupted while it waits; the next run must wait for its own parts."""
    team, order = Team(2), []
    go = threading.Event()
    team.run(lambda _: None)  # its threads and queues exist now
    outbox = team._outbox

    class Interrupted:
        def get(self):
            raise KeyboardInterrupt

    def slow(thread):
        if thread == 1:
            go.wait(20)
            order.append("first")

    monkeypatch.setattr(team, "_outbox", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        team.run(slow)
    monkeypatch.setattr(team, "_outbox", outbox)
    threading.Timer(0.02, go.set).start()
    team.run(lambda thread: order.append("second") if thread == 1 else None)
    assert order == ["first", "second"]


def test_threads_end_with_their_team():
    before = set(threading.enumerate())
    team = Team(3)
    team.run(lambda _: None)
    own = set(threading.enumerate()) - before
    assert len(own) == 2
    del team
    gc.collect()
    for thread in own:
        thread.join(20)
    assert not any(thread.is_alive() for thread in own)


def blas_threads():
    return {entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    assert dgemm(1.0, np.eye(2), np.eye(2)).shape == (2, 2)
    team, before, seen = Team(1), blas_threads(), []
    team.run(lambda _: seen.append(blas_threads()))
    assert blas_threads() == before
    with team.session():
        with team.session():
            team.run(lambda _: seen.append(blas_threads()))
        seen.append(blas_threads())
    assert seen == [{1}, {1}, {1}]
    assert blas_threads() == before


# --- which tiles a thread takes ------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 40])
@pytest.mark.parametrize(
    ("tiles", "costs"), [([20], [1.0]), ([20, 1, 1, 1], [9.0, 1.0, 1.0, 1.0]), ([1, 3], [1.0, 8.0])]
)
def test_every_tile_is_dealt_once_and_loads_differ_by_a_tile_of_each_block(tiles, costs, threads):
    dealt = deal(tiles, costs, threads)
    for block, number in enumerate(tiles):
        taken = [k for ranges in dealt for k in range(*ranges[block])]
        assert taken == list(range(number))
    loads = [
        sum(cost * (last - first) for cost, (first, last) in zip(costs, ranges, strict=True))
        for ranges in dealt
    ]
    share = np.dot(tiles, costs) / threads
    # Both ends of a stretch are rounded to a tile, at most half of one away.
    assert max(abs(load - share) for load in loads) <= max(costs)
