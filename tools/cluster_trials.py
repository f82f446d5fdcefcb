"""Train random configurations in one process and on several workers, and count the models that differ by a byte.

    python tools/cluster_trials.py threads --trials 160
    python tools/cluster_trials.py processes --trials 160      # sockets on this machine
    python tools/cluster_trials.py namespaces --trials 160     # processes with a network each; as root, with `ip netns`
    python tools/cluster_trials.py mpi --trials 160            # all configurations with as many processes, by mpiexec

Must print 0 models that differ. What differs is shrunk, and printed as the values of `random_trainings.py`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from random_trainings import Configuration, random_configuration, train_alone, train_share

from swaprank.cluster.formation import Address, Listener
from swaprank.cluster.mpi_training import MPICollective
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.collective import ALONE, allgather_json
from swaprank.errors import ClusterError

MOST_WORKERS = 5
HASH_LENGTH = 64
EVERY = 10
"""So many configurations are reported together."""
Train = Callable[[Configuration], Sequence[str]]
"""The hashes of the models of all workers, or errors."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kind", choices=[*KINDS, "worker", "mpi-worker"])
    options.add_argument("place", nargs="?", help=argparse.SUPPRESS)
    options.add_argument("--trials", type=int, default=100)
    options.add_argument("--first", type=int, default=0, help="the seed of the first configuration")
    options.add_argument("--mpiexec", default="mpiexec", help="the command that starts processes of MPI")
    options.add_argument("--processes", type=int, default=2, help="of MPI")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    if given.kind == "worker":
        work(given.place)
    elif given.kind == "mpi-worker":
        work_by_mpi()
    else:
        with KINDS[given.kind](given) as train:
            try_all(given.kind, range(given.first, given.first + given.trials), train, given)


def try_all(kind: str, seeds: Sequence[int], train: Train, given: argparse.Namespace) -> None:
    counts, sizes = Counter[str](), Counter[int]()
    for seed in seeds:
        configuration = random_configuration(seed, MOST_WORKERS)
        if kind == "mpi":
            configuration["size"] = given.processes
        outcome = compared(configuration, train)
        counts[outcome] += 1
        sizes[configuration["size"]] += 1
        if outcome == "differ":
            print(f"differs: {json.dumps(shrunk(configuration, train))}", flush=True)
        if (number := seed + 1 - seeds[0]) % EVERY == 0 or number == len(seeds):
            report(kind, counts, sizes)


def report(kind: str, counts: Counter[str], sizes: Counter[int]) -> None:
    by_size = ", ".join(f"{count} on {size}" for size, count in sorted(sizes.items()))
    print(
        f"{kind}: {counts.total()} configurations ({by_size} workers): {counts['differ']} models differ, "
        f"{counts['same']} are the same byte for byte, {counts['error']} are the same error",
        flush=True,
    )


def compared(configuration: Configuration, train: Train) -> str:
    expected, found = train_alone(configuration), set(train(configuration))
    if len(expected) != HASH_LENGTH:
        # Workers may name a part, or notice it later.
        return "differ" if any(len(each) == HASH_LENGTH for each in found) else "error"
    return "same" if found == {expected} else "differ"


def shrunk(configuration: Configuration, train: Train) -> Configuration:
    """The configuration with whatever can be left out while the models still differ."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in simpler(configuration):
            if compared(candidate, train) == "differ":
                configuration, smaller = candidate, True
                break
    return configuration


def simpler(configuration: Configuration) -> Iterator[Configuration]:
    plain = {"size": 2, "sets": 0, "threads": 1, "parts": False}
    data = {"queries": max(6, configuration["data"]["queries"] // 2), "features": 1, "missing": 0.0, "categories": []}
    data |= {"weights": False, "base_scores": False, "docids": False, "distinct": 0}
    for place, values in ((configuration, plain), (configuration["data"], data)):
        for name, value in values.items():
            if place[name] != value:
                candidate = deepcopy(configuration)
                (candidate if place is configuration else candidate["data"])[name] = value
                yield candidate
    for name in configuration["parameters"]:
        if name not in ("metric", "random_state", "n_trees", "objective"):
            candidate = deepcopy(configuration)
            del candidate["parameters"][name]
            yield candidate


@contextmanager
def threads(given: argparse.Namespace) -> Iterator[Train]:
    """Workers that are threads of this process, connected by sockets."""

    def train(configuration: Configuration) -> list[str]:
        listeners = [Listener("127.0.0.1") for _ in range(configuration["size"])]
        members = [listener.address for listener in listeners]
        with ThreadPoolExecutor(len(members)) as pool:
            jobs = [
                pool.submit(trained_in_group, configuration, listener, members, rank)
                for rank, listener in enumerate(listeners)
            ]
            return [job.result() for job in jobs]

    yield train


def trained_in_group(configuration: Configuration, listener: Listener, members: Sequence[Address], rank: int) -> str:
    if len(members) == 1:
        return train_share(configuration, ALONE)
    collective = SocketCollective(listener, members, rank, b"of these trials")
    try:
        collective.join()
        found = train_share(configuration, collective)
        if len(found) == HASH_LENGTH:
            collective.close()
        return found
    except ClusterError as error:
        return f"ClusterError: {error}"
    finally:
        # After an error, the others learn of it at once.
        collective.leave()


class Worker(NamedTuple):
    """A process that trains what it is told, a line of JSON at a time."""

    process: subprocess.Popen[str]

    def say(self, message: Any) -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


def work(host: str) -> None:
    """A worker: it opens a port, is told the configuration and all addresses, and says what it has trained."""
    for line in sys.stdin:
        rank = json.loads(line)
        listener = Listener(host, f"worker {rank}")
        print(json.dumps(listener.address), flush=True)
        configuration, members = json.loads(sys.stdin.readline())
        addresses = [Address(*member) for member in members]
        print(json.dumps(trained_in_group(configuration, listener, addresses, rank)), flush=True)


def by_workers(workers: Sequence[Worker]) -> Train:
    def train(configuration: Configuration) -> list[str]:
        group = workers[: configuration["size"]]
        for rank, worker in enumerate(group):
            worker.say(rank)
        members = [worker.answer() for worker in group]
        for worker in group:
            worker.say([configuration, members])
        return [worker.answer() for worker in group]

    return train


def started(stack: ExitStack, host: str, *before: str) -> Worker:
    command = [*before, sys.executable, __file__, "worker", host]
    process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    return Worker(process)


@contextmanager
def processes(given: argparse.Namespace) -> Iterator[Train]:
    """Workers that are processes of this machine."""
    with ExitStack() as stack:
        yield by_workers([started(stack, "127.0.0.1") for _ in range(MOST_WORKERS)])


@contextmanager
def namespaces(given: argparse.Namespace) -> Iterator[Train]:
    """Workers that are processes with a network each: pairs of devices, of which one end is on a common bridge."""
    ip = shutil.which("ip")
    if ip is None:
        raise SystemExit("there is no command `ip`.")
    with ExitStack() as stack:

        def run(*arguments: str) -> None:
            subprocess.run([str(ip), *arguments], check=True)

        bridge = "swaprank-br"
        run("link", "add", bridge, "type", "bridge")
        stack.callback(run, "link", "delete", bridge)
        run("link", "set", bridge, "up")
        workers = []
        for number in range(MOST_WORKERS):
            name, outside, inside = f"swaprank-{number}", f"sr-out-{number}", f"sr-in-{number}"
            run("netns", "add", name)
            stack.callback(run, "netns", "delete", name)
            run("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name)
            run("link", "set", outside, "master", bridge, "up")
            run("-n", name, "address", "add", f"10.213.77.{number + 1}/24", "dev", inside)
            run("-n", name, "link", "set", inside, "up")
            run("-n", name, "link", "set", "lo", "up")
            workers.append(started(stack, f"10.213.77.{number + 1}", str(ip), "netns", "exec", name))
        yield by_workers(workers)


@contextmanager
def mpi(given: argparse.Namespace) -> Iterator[Train]:
    """Workers that mpiexec starts once; the first one speaks for all."""
    with ExitStack() as stack:
        command = [given.mpiexec, "-n", str(given.processes), sys.executable, __file__, "mpi-worker"]
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        worker = Worker(process)

        def train(configuration: Configuration) -> list[str]:
            if configuration["size"] != given.processes:
                return [train_alone(configuration)]
            worker.say(configuration)
            return list(worker.answer())

        yield train


def work_by_mpi() -> None:
    """A process of MPI: the first one reads configurations, and all train them."""
    collective = MPICollective()
    while True:
        line = sys.stdin.readline() if collective.rank == 0 else ""
        (configuration, *_) = allgather_json(collective, json.loads(line) if line else None)
        if configuration is None:
            return
        found = train_share(configuration, collective)
        everything = allgather_json(collective, found)
        if collective.rank == 0:
            print(json.dumps(everything), flush=True)


KINDS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "threads": threads,
    "processes": processes,
    "namespaces": namespaces,
    "mpi": mpi,
}

if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
