"""Processes of a Dask cluster that are killed and stopped; tools/kill_workers.py kills many, and test_lost_workers.py
has every moment at which a worker may be lost, in threads."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, Future, LocalCluster

import swaprank as sr
from swaprank.cluster import Dask, dask_placement

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]

TRAIN, VALI = sr.datasets.random_search((20, 9), n_documents=12, random_state=0)


@pytest.fixture
def client() -> Iterator[Client]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 100, "distributed.logging.distributed": "critical"}),
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def saved(ranker: sr.Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def make() -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=8, n_leaves=5)


def test_training_goes_on_when_workers_are_killed_or_stopped(client: Client, tmp_path: Path) -> None:
    for number in range(6):
        sr.write_letor(TRAIN.subset(slice(number, None, 6)), tmp_path / f"part-{number}.txt")
    sr.write_letor(TRAIN, tmp_path / "train.txt")
    alone = saved(make().fit(sr.read(tmp_path / "train.txt"), valid=VALI), tmp_path)
    parts = sr.Parts.read(sorted(tmp_path.glob("part-*.txt")))
    rounds: list[int] = []

    def kill_first(progress: sr.rankers.Progress) -> None:
        rounds.append(progress.round)
        if progress.round == 4:
            # Workers have ranks in the order of their addresses.
            os.kill(processes[min(processes)], signal.SIGKILL)

    processes = client.run(os.getpid)
    killed = make().fit(parts, valid=VALI, callbacks=[kill_first])
    assert saved(killed, tmp_path) == alone
    assert rounds == list(range(1, 9))
    # One that is stopped from the start: Dask gives it files and validation data until it is missed.
    client.wait_for_workers(2)
    processes = client.run(os.getpid)
    stopped = processes[max(processes)]
    os.kill(stopped, signal.SIGSTOP)
    try:
        ranker = make().fit(parts, valid=VALI, cluster=Dask(client, silence=4.0))
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert saved(ranker, tmp_path) == alone


def test_a_worker_may_end_when_it_has_got_data_of_the_client(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, killed, computed = saved(make().fit(TRAIN, valid=VALI), tmp_path), list[int](), dask_placement._wait

    def kill_when_computed(connected: Client, futures: Sequence[Future], *others: Any) -> None:
        computed(connected, futures, *others)
        if not killed:
            (holder,) = connected.who_has(futures[:1])[futures[0].key]
            killed.append(connected.run(os.getpid, workers=[holder])[holder])
            os.kill(killed[0], signal.SIGKILL)
            # Until the scheduler knows.
            while futures[0].status == "finished":
                time.sleep(0.05)

    parts = sr.Parts([TRAIN.subset(slice(number, None, 4)) for number in range(4)])
    monkeypatch.setattr(dask_placement, "_wait", kill_when_computed)
    assert saved(make().fit(parts, valid=VALI), tmp_path) == alone
    assert killed
