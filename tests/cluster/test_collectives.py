"""Sums over workers by sockets: threads that add up, fail and fall silent, strangers, and a process that is stopped."""

import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from swaprank.cluster.formation import Address, Listener
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.errors import ClusterError

SECRET = b"of this training"
SIZES = (0, 1, 5, 100_000, 2**18 + 3)
FORKED: Any = multiprocessing.get_context("forkserver" if sys.platform != "win32" else "spawn")
# Imported once for all processes.
FORKED.set_forkserver_preload(["numpy", "swaprank.cluster.socket_collective"])


def in_threads(work: Callable[[SocketCollective], Any], size: int, silence: float = 60.0) -> list[Any]:
    """What each worker returns, or its error."""
    listeners = [Listener("127.0.0.1", f"host {rank}") for rank in range(size)]
    members = [listener.address for listener in listeners]

    def job(rank: int) -> Any:
        collective = SocketCollective(listeners[rank], members, rank, SECRET, silence)
        try:
            collective.join()
            found = work(collective)
            collective.close()
            return found
        except ClusterError as error:
            return str(error)
        finally:
            collective.leave()

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(job, range(size)))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_integers_are_added_up(size: int) -> None:
    def sums(collective: SocketCollective) -> list[bool]:
        right = []
        for n_values in SIZES:
            values = np.arange(n_values) * (collective.rank + 1) - 2**40
            collective.add(values)
            factor = size * (size + 1) // 2
            right.append(bool((values == np.arange(n_values) * factor - size * 2**40).all()))
        return right

    assert in_threads(sums, size) == [[True] * len(SIZES)] * size


@pytest.mark.parametrize("size", [1, 2, 4])
def test_ranges_are_added_up_and_rows_are_gathered(size: int) -> None:
    # Some ranges are empty, others larger than what sockets hold.
    lengths = [0, 400_000, 3, 0][:size] if size > 1 else [7]
    ends = np.cumsum(lengths)

    def work(collective: SocketCollective) -> tuple[bool, list[list[int]]]:
        values = np.arange(ends[-1]) + collective.rank
        collective.add_own(values, ends)
        own = slice(ends[collective.rank] - lengths[collective.rank], ends[collective.rank])
        expected = np.arange(ends[-1])[own] * size + size * (size - 1) // 2
        return bool((values[own] == expected).all()), collective.gather(np.array([collective.rank, 7])).tolist()

    assert in_threads(work, size) == [(True, [[rank, 7] for rank in range(size)])] * size


def test_all_others_learn_of_one_that_failed() -> None:
    def second_fails(collective: SocketCollective) -> None:
        for number in range(10_000):
            if collective.rank == 1 and number == 20:
                collective.abandon("bad luck")
            collective.add(np.ones(1000, np.int64))

    found = in_threads(second_fails, 4)
    assert found[1] == "bad luck"
    assert all("host" in found[rank] and "has ended" in found[rank] for rank in (0, 2, 3))


def computes_alone(collective: SocketCollective) -> None:
    while collective.lost is None:
        time.sleep(0.01)
    collective.add(np.ones(1, np.int64))


def test_who_computes_alone_learns_of_one_that_ended_without_asking() -> None:
    def first_computes(collective: SocketCollective) -> None:
        if collective.rank == 1:
            raise ClusterError("bad luck")
        computes_alone(collective)

    assert in_threads(first_computes, 2) == ["worker 1 of 2 (host 1) has ended.", "bad luck"]


def test_silence_is_noticed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def watch_or_say_nothing(alarm: int, sockets: Any, *rest: Any) -> tuple[int, bool]:
        started.append(len(sockets))
        return original(alarm, sockets[:0] if sum(started) == 1 else sockets, *rest)

    from swaprank.cluster import heartbeats

    original = heartbeats.watch
    monkeypatch.setattr(heartbeats, "watch", watch_or_say_nothing)
    # Each waits for what the other never sends.
    found = in_threads(lambda each: each._exchange({}, {1 - each.rank: np.ones(1, np.int64)}), 2, silence=0.3)
    assert sorted("no heartbeat for 0.3 s" in each for each in found) == [False, True]
    assert sorted("has ended" in each for each in found) == [False, True]


def test_strangers_are_dropped_and_do_not_keep_others_waiting() -> None:
    listeners = [Listener("127.0.0.1") for _ in range(2)]
    members = [listener.address for listener in listeners]
    silent = socket.create_connection(members[0][:2])
    liar = socket.create_connection(members[0][:2])
    liar.sendall(b"GET / HTTP/1.1\r\n\r\n".ljust(200))
    stranger = SocketCollective(Listener("127.0.0.1"), [members[0], listeners[1].address], 1, b"another secret", 5.0)
    threads, first = ThreadPoolExecutor(1), SocketCollective(listeners[0], members, 0, SECRET)
    joined = threads.submit(first.join)
    with pytest.raises(ClusterError, match=r"worker 0 of 2 \(127.0.0.1\) cannot be reached at 127.0.0.1:\d+"):
        stranger.join()
    second = SocketCollective(listeners[1], members, 1, SECRET)
    second.join()
    joined.result()
    gathered = threads.submit(first.gather, np.array([4]))
    assert second.gather(np.array([5])).tolist() == gathered.result().tolist() == [[4], [5]]
    for each in (first, second):
        each.leave()
    for stranger_socket in (silent, liar):
        stranger_socket.close()
    threads.shutdown()


def test_another_version_is_refused() -> None:
    listeners = [Listener("127.0.0.1", f"host {rank}") for rank in range(2)]
    members = [listener.address for listener in listeners]
    one, other = (SocketCollective(listeners[rank], members, rank, SECRET) for rank in range(2))
    other._formation._version = b"0.0.1".ljust(48, b"\0")
    with ThreadPoolExecutor(2) as pool:
        joins = [pool.submit(each.join) for each in (one, other)]
        errors = [join.exception() for join in joins]
    assert "worker 1 (host 1) has swaprank 0.0.1, but worker 0 has" in str(errors[0])
    assert "but worker 1 has 0.0.1" in str(errors[1])


def test_who_does_not_come_is_named() -> None:
    listener, nobody = Listener("127.0.0.1"), Listener("127.0.0.1", "tcp://10.0.0.7:4711")
    collective = SocketCollective(listener, [listener.address, nobody.address], 0, SECRET, silence=0.2)
    with pytest.raises(ClusterError, match=r"worker 1 of 2 \(tcp://10.0.0.7:4711\) has not connected within 0.2 s"):
        collective.join()
    nobody.close()
    late = SocketCollective(Listener("127.0.0.1"), [nobody.address, nobody.address], 1, SECRET)
    with pytest.raises(ClusterError, match=r"worker 0 of 2 .* cannot be reached"):
        late.join()


def test_waiting_for_workers_that_never_come_can_be_ended() -> None:
    listener = Listener("127.0.0.1")
    collective, errors = SocketCollective(listener, [listener.address, Address("127.0.0.1", 1, "")], 0, SECRET), []

    def join() -> None:
        try:
            collective.join()
        except ClusterError as error:
            errors.append(str(error))

    thread = Thread(target=join)
    thread.start()
    collective.abandon("the training was cancelled.")
    thread.join()
    assert errors == ["the training was cancelled."]
    with pytest.raises(ClusterError, match="cancelled"):
        collective.add(np.ones(1, np.int64))


def member(rank: int, listener: Listener, members: Any, work: str, silence: float, results: Any, ready: Any) -> None:
    """A worker that is to be killed or stopped, or that holds the GIL for longer than the silence."""
    collective = SocketCollective(listener, members, rank, SECRET, silence)
    try:
        collective.join()
        if rank == 1:
            collective.add(np.ones(1, np.int64))
            ready.set()
            if work == "hold the GIL":
                # The C library's function, called without letting go of the GIL.
                import ctypes

                ctypes.PyDLL(None).usleep(round(3e6 * silence))
            else:
                Event().wait()
        collective.add(np.ones(1, np.int64))
        collective.add(np.ones(1, np.int64))
        collective.close()
        results.put("added up")
    except ClusterError as error:
        results.put(str(error))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "number", "expected"),
    [
        ("be killed", signal.SIGKILL, "worker 1 of 3 (1) has ended."),
        ("be stopped", signal.SIGSTOP, "worker 1 of 3 (1) has sent no heartbeat for 1 s"),
        ("hold the GIL", None, "added up"),
    ],
)
def test_processes_that_are_killed_or_stopped_are_lost_and_busy_ones_are_not(
    work: str, number: Any, expected: str
) -> None:
    listeners = [Listener("127.0.0.1", str(rank)) for rank in range(3)]
    members = [listener.address for listener in listeners]
    results, ready = FORKED.SimpleQueue(), FORKED.Event()
    processes = [
        FORKED.Process(target=member, args=(rank, listeners[rank], members, work, 1.0, results, ready))
        for rank in range(3)
    ]
    for process in processes:
        process.start()
    for listener in listeners:
        listener.close()
    ready.wait()
    victim = processes[1].pid
    assert victim is not None
    if number is not None:
        os.kill(victim, number)
    found = [results.get() for _ in range(3 if number is None else 2)]
    if number == signal.SIGSTOP:
        os.kill(victim, signal.SIGKILL)
    for process in processes:
        process.join()
    # One may have learned of it from the other, which has left then.
    assert expected in "".join(found)
    assert all(expected in each or "has ended" in each for each in found)
