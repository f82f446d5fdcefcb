"""Cut the network between workers while they train: each worker is in a network namespace of its own (Linux, as root).

Training must go on by itself without the worker that was cut off, and end with the bytes of an undisturbed one.

    python tools/cut_network.py --cuts 5

A bridge connects the namespaces, as a switch connects machines. To cut a worker off, its end of the bridge is taken
down: nobody gets a word, as when a cable is pulled. Dask's scheduler and the client are on the bridge's own address.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import final

import dask
from distributed import Client

import swaprank as sr
from swaprank.cluster import Dask
from swaprank.cluster.dask_supervisor import heartbeats

N_WORKERS, N_TREES, SECONDS_A_TREE = 3, 30, 0.1
SILENCE = 20.0
"""Less, and workers on a busy machine are taken for lost, too."""
NAME = f"sr{os.getpid() % 10_000}"
"""The beginning of the names of the bridge, the namespaces and their cables: at most 15 letters."""
BRIDGE, NETWORK, PORT = f"{NAME}b", "10.231.77", 8786


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cuts", type=int, default=5)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    random.seed(given.seed)
    if why := impossible():
        print(f"skipped: {why}")
        return
    dask.config.set({"distributed.logging.distributed": "critical", "distributed.scheduler.allowed-failures": 100})
    with tempfile.TemporaryDirectory() as folder, namespaces(), cluster(Path(folder)) as (client, start_workers):
        run(client, start_workers, Path(folder), given.cuts)


def impossible() -> str:
    """The reason why there can be no namespaces here, or nothing."""
    if shutil.which("ip") is None:
        return "there is no command ip"
    tried = subprocess.run(["ip", "netns", "add", f"{NAME}try"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"network namespaces cannot be made here ({tried.stderr.strip()})"
    ip("netns", "del", f"{NAME}try")
    return ""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def namespaces() -> Iterator[None]:
    """One for each worker, all on a bridge."""
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("address", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for worker in range(1, N_WORKERS + 1):
            space, cable = f"{NAME}n{worker}", f"{NAME}c{worker}"
            ip("netns", "add", space)
            ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", cable, "master", BRIDGE, "up")
            ip("-n", space, "address", "add", f"{NETWORK}.{worker}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                ip("-n", space, "link", "set", device, "up")
        yield
    finally:
        for worker in range(1, N_WORKERS + 1):
            subprocess.run(["ip", "netns", "del", f"{NAME}n{worker}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True, check=False)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Client, Callable[[], None]]]:
    environment = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
    processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(number: int, *command: str) -> None:
        processes[number] = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)

    def start_worker(worker: int) -> None:
        enter = ("ip", "netns", "exec", f"{NAME}n{worker}")
        options = ("--nthreads=1", "--no-nanny", "--no-dashboard", f"--local-directory={folder}")
        host = f"--host={NETWORK}.{worker}"
        start(worker, *enter, *dask_command, "worker", f"tcp://{NETWORK}.254:{PORT}", host, *options)

    def start_workers() -> None:
        """Those that Dask has ended, because they were silent."""
        while len(heartbeats(client)) < N_WORKERS:
            for worker in range(1, N_WORKERS + 1):
                if worker not in processes or processes[worker].poll() is not None:
                    start_worker(worker)
            time.sleep(0.5)

    dask_command = (sys.executable, "-m", "dask")
    start(0, *dask_command, "scheduler", "--host", f"{NETWORK}.254", "--port", str(PORT), "--no-dashboard")
    try:
        with Client(f"tcp://{NETWORK}.254:{PORT}", timeout=60) as client:
            start_workers()
            yield client, start_workers
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


@final
class Notices(logging.Handler):
    """What training says of workers."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        if "goes on" in record.getMessage():
            self.texts.append(record.getMessage())


def run(client: Client, start_workers: Callable[[], None], folder: Path, n_cuts: int) -> None:
    train, vali = sr.datasets.random_search((30, 9), n_documents=15, random_state=0)
    for number in range(2 * N_WORKERS):
        sr.write_letor(train.subset(slice(number, None, 2 * N_WORKERS)), folder / f"part-{number}.txt")
    sr.write_letor(train, folder / "train.txt")
    alone = saved(new_ranker().fit(sr.read(folder / "train.txt"), valid=vali), folder)
    # The first training imports and loads all that it needs, and takes its time.
    assert saved(train_on(client, folder, vali, silence=60.0), folder) == alone
    logger, notices = logging.getLogger("swaprank"), Notices()
    logger.setLevel(logging.INFO)
    logger.addHandler(notices)
    for number in range(1, n_cuts + 1):
        notices.texts.clear()
        cable, after = f"{NAME}c{random.randint(1, N_WORKERS)}", random.uniform(0, N_TREES * SECONDS_A_TREE)
        timer, start = Timer(after, ip, ("link", "set", cable, "down")), time.perf_counter()
        timer.start()
        ranker = train_on(client, folder, vali)
        seconds = time.perf_counter() - start
        timer.join()
        assert saved(ranker, folder) == alone, "another model after a cut"
        told = " ".join(notices.texts) or "it had finished before"
        print(f"{number}: cut after {after:.2f} s of {seconds:.2f} s: {told}", flush=True)
        ip("link", "set", cable, "up")
        start_workers()
    print(f"{n_cuts} cuts: {n_cuts} identical models")


def new_ranker() -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=N_TREES, n_leaves=5)


def train_on(client: Client, folder: Path, vali: sr.Dataset, silence: float = SILENCE) -> sr.Ranker:
    def slowly(progress: sr.rankers.Progress) -> None:
        time.sleep(SECONDS_A_TREE)

    parts, cluster = sr.Parts.read(sorted(folder.glob("part-*.txt"))), Dask(client, silence=silence)
    return new_ranker().fit(parts, valid=vali, callbacks=[slowly], cluster=cluster)


def saved(ranker: sr.Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


if __name__ == "__main__":
    main()
