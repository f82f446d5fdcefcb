"""Kill workers of a Dask cluster while they train, again and again.

Training must go on by itself without the worker, and end with the bytes of a training that nobody disturbed.

    python tools/kill_workers.py local --kills 20         # a LocalCluster with processes, which restarts workers
    python tools/kill_workers.py commands --kills 20      # `dask scheduler` and `dask worker`, started as commands
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import NamedTuple, final

import dask
from distributed import Client, LocalCluster

import swaprank as sr
from swaprank.cluster import Dask
from swaprank.cluster.dask_supervisor import heartbeats
from swaprank.rankers.ranker import Ranker

N_WORKERS = 3
N_TREES = 40
SECONDS_A_TREE = 0.03
RESTART_SECONDS = 20


class Outcome(NamedTuple):
    """The end of a training that was disturbed."""

    at: float
    """Seconds after the start when a worker was killed."""
    seconds: float
    """What the whole training took."""
    notices: list[str]
    """What the user was told; nothing if training had finished before."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("cluster", choices=["local", "commands"])
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    random.seed(given.seed)
    # Workers that are killed are not news here.
    dask.config.set({"distributed.logging.distributed": "critical", "distributed.scheduler.allowed-failures": 100})
    with tempfile.TemporaryDirectory() as folder:
        started = local_cluster() if given.cluster == "local" else cluster_of_commands(Path(folder))
        with started as (client, restart):
            run(client, restart, Path(folder), given.kills)


def run(client: Client, restart: Callable[[], None], folder: Path, n_kills: int) -> None:
    train, vali = sr.datasets.random_search((30, 9), n_documents=15, random_state=0)
    for number in range(2 * N_WORKERS):
        part = train.subset(slice(number, None, 2 * N_WORKERS))
        sr.write_letor(part, folder / f"part-{number}.txt")
    alone = saved(new_ranker().fit(read_all(folder), valid=vali), folder)
    # Compiled kernels are loaded once, so that kills hit every moment of a training.
    assert saved(train_on(client, folder, vali), folder) == alone
    usual = time.perf_counter()
    train_on(client, folder, vali)
    usual = time.perf_counter() - usual
    outcomes: list[Outcome] = []
    while len(outcomes) < n_kills:
        ranker, outcome = disturbed(client, folder, vali, random.uniform(0, usual))
        assert saved(ranker, folder) == alone, "another model after a kill"
        outcomes.append(outcome)
        told = " ".join(outcome.notices) or "it had finished before"
        print(
            f"{len(outcomes)}: killed after {outcome.at:.2f} s, done after {outcome.seconds:.2f} s: {told}", flush=True
        )
        restart()
    lost = [outcome for outcome in outcomes if outcome.notices]
    slowest = max((outcome.seconds for outcome in outcomes), default=0.0)
    print(
        f"{n_kills} kills: {len(lost)} trainings went on without a worker, {n_kills} identical models; {usual:.1f} s "
        f"usually, {slowest:.1f} s at most"
    )


def disturbed(client: Client, folder: Path, vali: sr.Dataset, after: float) -> tuple[Ranker, Outcome]:
    """Train, and kill a worker after so many seconds."""
    victim, notices = random.choice(process_ids(client)), list[str]()
    logger, handler = logging.getLogger("swaprank"), NoticeHandler(notices)
    logger.addHandler(handler)
    start = time.perf_counter()
    timer = Timer(after, os.kill, (victim, signal.SIGKILL))
    timer.start()
    try:
        ranker = train_on(client, folder, vali)
    finally:
        logger.removeHandler(handler)
        timer.join()
    return ranker, Outcome(after, time.perf_counter() - start, notices)


@final
class NoticeHandler(logging.Handler):
    """Collects what training says of workers."""

    def __init__(self, notices: list[str]) -> None:
        super().__init__(logging.INFO)
        self.notices = notices
        logging.getLogger("swaprank").setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        if "goes on" in record.getMessage():
            self.notices.append(record.getMessage())


def new_ranker() -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=N_TREES, n_leaves=5)


def train_on(client: Client, folder: Path, vali: sr.Dataset) -> Ranker:
    files = sorted(folder.glob("part-*.txt"))
    # Half of the trainings on files, half on values that Dask computes.
    parts = sr.Parts.read(files) if random.random() < 0.5 else [dask.delayed(sr.read)(str(file)) for file in files]

    def slowly(progress: sr.rankers.Progress) -> None:
        time.sleep(SECONDS_A_TREE)

    return new_ranker().fit(parts, valid=vali, callbacks=[slowly], cluster=Dask(client))


def read_all(folder: Path) -> sr.Dataset:
    text = b"".join(file.read_bytes() for file in sorted(folder.glob("part-*.txt")))
    (folder / "train.txt").write_bytes(text)
    return sr.read(folder / "train.txt")


def saved(ranker: Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def process_ids(client: Client) -> list[int]:
    return list(client.run(os.getpid, on_error="ignore").values())


def n_missing(client: Client) -> int:
    return N_WORKERS - min(len(heartbeats(client)), len(process_ids(client)))


@contextmanager
def local_cluster() -> Iterator[tuple[Client, Callable[[], None]]]:
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):

        def wait_for_workers() -> None:
            start = time.perf_counter()
            while (missing := n_missing(client)) > 0:
                if time.perf_counter() - start > RESTART_SECONDS:
                    print(f"Dask has not restarted {missing} of its workers: new ones are started", flush=True)
                    cluster.scale(len(cluster.workers) + missing)
                    start = time.perf_counter()
                time.sleep(0.1)

        yield client, wait_for_workers


@contextmanager
def cluster_of_commands(folder: Path) -> Iterator[tuple[Client, Callable[[], None]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    processes: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}

    def start(*arguments: str) -> None:
        command = [sys.executable, "-m", "dask", *arguments]
        processes.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL))

    def start_workers() -> None:
        while True:
            # A process that was just killed may still seem to run.
            running = sum(process.poll() is None for process in processes[1:])
            for _ in range(N_WORKERS - running):
                start("worker", address, "--nthreads=1", "--no-nanny", "--no-dashboard", f"--local-directory={folder}")
            if running == N_WORKERS and n_missing(client) == 0:
                return
            time.sleep(0.2)

    start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    try:
        with Client(address, timeout=60) as client:
            start_workers()
            yield client, start_workers
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


if __name__ == "__main__":
    main()
