"""Sums over workers by XGBoost's collective: threads that add up and fail, processes that die."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread, Timer
from typing import Any

import numpy as np
import pytest

from swaprank.cluster.tracker import Tracker
from swaprank.cluster.xgboost_collective import XGBoostCollective
from swaprank.errors import ClusterError

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

SIZES = (1, 5, 100_000, 2**20 + 3)
FORKED = multiprocessing.get_context("forkserver")
# Imported once for all processes.
FORKED.set_forkserver_preload(["numpy", "xgboost", "swaprank.cluster.xgboost_collective"])


def result_of(work: Callable[[XGBoostCollective], Any], rank: int, size: int, tracker: Any) -> Any:
    collective = XGBoostCollective(tracker, rank, size)
    try:
        collective.join()
        return work(collective)
    except ClusterError as error:
        return str(error)


def in_threads(work: Callable[[XGBoostCollective], Any], size: int) -> list[Any]:
    tracker = Tracker(size, "127.0.0.1")
    with ThreadPoolExecutor(size) as pool:
        jobs = [pool.submit(result_of, work, rank, size, tracker.arguments) for rank in range(size)]
        found = [job.result() for job in jobs]
    tracker.stop()
    return found


def test_integers_are_added_up() -> None:
    def sums(collective: XGBoostCollective) -> list[list[int]]:
        arrays = [np.arange(size) * (collective.rank + 1) - 2**40 for size in SIZES]
        for array in arrays:
            collective.add(array)
        collective.close()
        return [array[[0, -1]].tolist() for array in arrays]

    expected = [(np.arange(size) * 6 - 3 * 2**40)[[0, -1]].tolist() for size in SIZES]
    assert in_threads(sums, 3) == [expected] * 3


def test_all_others_learn_of_one_that_failed() -> None:
    def second_fails(collective: XGBoostCollective) -> None:
        for number in range(10_000):
            if collective.rank == 1 and number == 20:
                collective.abandon("worker 1 has failed: bad luck")
            collective.add(np.ones(1000, np.int64))

    found = in_threads(second_fails, 4)
    assert found[1] == "worker 1 has failed: bad luck"
    assert all("has lost the others: one of them has ended" in found[rank] for rank in (0, 2, 3))


def process_of(rank: int, size: int, victim: int, tracker: Any, results: Any) -> None:
    def one_dies(collective: XGBoostCollective) -> None:
        for number in range(10_000):
            if rank == victim and number == 20:
                os.kill(os.getpid(), signal.SIGKILL)
            collective.add(np.ones(1000, np.int64))

    results.put(result_of(one_dies, rank, size, tracker))


@pytest.mark.parametrize("victim", [0, 2])
def test_all_others_learn_of_a_process_that_died_and_live_on(victim: int) -> None:
    tracker, results = Tracker(4, "127.0.0.1"), FORKED.SimpleQueue()
    processes = [
        FORKED.Process(target=process_of, args=(rank, 4, victim, tracker.arguments, results)) for rank in range(4)
    ]
    for process in processes:
        process.start()
    found = [results.get() for _ in range(3)]
    for process in processes:
        process.join()
    tracker.stop()
    assert all("has lost the others: one of them has ended" in text for text in found)
    assert [process.exitcode for process in processes] == [-signal.SIGKILL if n == victim else 0 for n in range(4)]


def test_waiting_for_workers_that_never_come_can_be_ended() -> None:
    tracker = Tracker(2, "127.0.0.1")
    collective, errors = XGBoostCollective(tracker.arguments, 0, 2), []

    def join() -> None:
        try:
            collective.join()
        except ClusterError as error:
            errors.append(str(error))

    thread = Thread(target=join)
    thread.start()
    collective.abandon("the training was cancelled.")
    thread.join()
    tracker.stop()
    assert errors == ["the training was cancelled."]
    with pytest.raises(ClusterError, match="cancelled"):
        collective.add(np.ones(1, np.int64))


def dies_while_joining(rank: int, size: int, tracker: Any) -> None:
    if rank == 1:
        Timer(0.001, os.kill, (os.getpid(), signal.SIGKILL)).start()
    collective = XGBoostCollective(tracker, rank, size)
    # As the task of a worker does when the client cancels it.
    Timer(1.0, collective.abandon, ("cancelled",)).start()
    with suppress(ClusterError):
        collective.join()


def test_a_process_that_dies_while_the_group_forms_takes_no_other_with_it() -> None:
    trackers = [Tracker(3, "127.0.0.1") for _ in range(4)]
    processes = [
        FORKED.Process(target=dies_while_joining, args=(rank, 3, tracker.arguments))
        for tracker in trackers
        for rank in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    for tracker in trackers:
        tracker.stop()
    assert {process.exitcode for process in processes} == {0, -signal.SIGKILL}
