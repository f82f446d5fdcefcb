"""Claim: bytes and messages a tree do not depend on the rows, so training scales until messages take longer than trees.

    python benchmarks/cluster_growth.py [--rows 120000] [--trees 8] [--picture docs/pictures/cluster_growth.svg]

What is measured, on this machine: the messages and bytes that each of 2 and 4 processes adds up per tree, the seconds
of one message, the work of a tree by rows and sampled rows, and the work that a message makes for its worker. What is
computed: the seconds of a tree as the sum of all, first for this machine, beside what was measured, then for clusters
of other sizes with a given latency and bandwidth. The processes use the collective of training with Dask, without Dask.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from scipy.optimize import nnls

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.cluster.formation import Listener
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.collective import ALONE, Collective
from swaprank.trees.tree_rules import default_document_fraction

N_FEATURES, QUERY_DOCUMENTS = 136, 120
SMALL, LARGE = 8, 8_000_000
"""Bytes of the messages that are timed."""
SKIPPED = 2
"""Trees at the start, which load kernels and fill caches."""
ROWS = (10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000)
WORKERS = (1, 4, 16, 64, 256, 1000)


class Setting(NamedTuple):
    """One training of which the trees are timed."""

    n_rows: int
    document_fraction: float | None
    n_trees: int
    n_leaves: int
    n_threads: int = 1


class Measured(NamedTuple):
    """The times and messages of one worker, each per tree."""

    seconds: float
    cpu_seconds: float
    messages: float
    bytes: float
    small_message: float
    """Seconds of a message of 8 bytes."""
    large_message: float
    """Seconds of a message of 8 MB."""


class Network(NamedTuple):
    """The network that connects workers."""

    latency: float
    """Seconds."""
    bandwidth: float
    """Bytes a second, of one worker."""


class Work(NamedTuple):
    """Seconds of one thread per tree."""

    constant: float
    per_row: float
    per_sampled_row: float

    def seconds(self, n_rows: float, fraction: float) -> float:
        """The work of a worker with so many rows."""
        return self.constant + n_rows * (self.per_row + fraction * self.per_sampled_row)


class Tree(NamedTuple):
    """The messages of a tree, which do not depend on the rows."""

    messages: float
    bytes: float
    overhead: float = 0.0
    """Seconds of work that a message makes for each worker: copies, and threads that wake each other."""


@final
class Counting(Collective):
    """Another collective, whose messages are counted; of the bytes, w workers each send 2 (w - 1) / w."""

    def __init__(self, inner: Collective) -> None:
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.messages = self.bytes = 0

    def add(self, values: Ints) -> None:
        """See `Collective`."""
        self._count(values.nbytes)
        self.inner.add(values)

    def add_own(self, values: Ints, ends: Ints) -> None:
        """See `Collective`."""
        self._count(values.nbytes // 2)
        self.inner.add_own(values, ends)

    def gather(self, values: Ints) -> Ints:
        """See `Collective`."""
        self._count(self.size * values.nbytes // 2)
        return self.inner.gather(values)

    def _count(self, n_bytes: int) -> None:
        self.messages += 1
        self.bytes += n_bytes


def share(n_rows: int, rank: int, size: int) -> sr.Dataset:
    """Every so many queries of generated data; a query does not depend on the number of workers."""
    queries = range(rank, n_rows // QUERY_DOCUMENTS, size)
    X = np.empty((len(queries) * QUERY_DOCUMENTS, N_FEATURES), np.float32)
    for at, query in enumerate(queries):
        rows = slice(at * QUERY_DOCUMENTS, (at + 1) * QUERY_DOCUMENTS)
        X[rows] = np.random.default_rng(query).standard_normal((QUERY_DOCUMENTS, N_FEATURES), dtype=np.float32)
    target = np.tanh(X[:, :16]).sum(axis=1) + 2 * (X[:, 0] * X[:, 1] > 0.5) + 2 * X[:, 20]
    y = np.digitize(target, [0.3, 4.5, 8.5, 10.5])
    return sr.Dataset(X, y, qid=np.repeat(np.array(queries), QUERY_DOCUMENTS))


def work_of(collective: Collective, setting: Setting) -> Measured:
    counting, ends = Counting(collective), list[tuple[float, float, int, int]]()

    def note(progress: sr.rankers.Progress) -> None:
        ends.append((time.perf_counter(), time.process_time(), counting.messages, counting.bytes))

    ranker = sr.LambdaMART(
        n_trees=setting.n_trees + SKIPPED,
        n_leaves=setting.n_leaves,
        n_threads=setting.n_threads,
        document_fraction=setting.document_fraction,
    )
    ranker.fit_shard(share(setting.n_rows, collective.rank, collective.size), {}, counting, callbacks=[note])
    per_tree = np.diff(np.array(ends)[SKIPPED - 1 :], axis=0)
    # Others use the machine, too: the fastest tree is the least disturbed.
    seconds, cpu_seconds = per_tree[:, :2].min(axis=0).tolist()
    messages, n_bytes = per_tree[:, 2:].mean(axis=0).tolist()
    return Measured(seconds, cpu_seconds, messages, n_bytes, *message_seconds(collective))


def message_seconds(collective: Collective) -> tuple[float, float]:
    best = [np.inf, np.inf]
    for at, size in enumerate((SMALL, LARGE)):
        values = np.ones(size // 8, np.int64)
        for _ in range(10):
            start = time.perf_counter()
            collective.add(values)
            best[at] = min(best[at], time.perf_counter() - start)
    return best[0], best[1]


def worker(rank: int, work: Callable[[Collective, Any], Any], setting: Any, meeting: Any, results: Any) -> None:
    with Listener("127.0.0.1", f"process {rank}") as listener:
        addresses, members = meeting
        addresses.put((rank, listener.address))
        collective = SocketCollective(listener, members[rank].get(), rank, b"of this machine")
        collective.join()
    results.put((rank, work(collective, setting)))
    collective.close()


def in_processes(size: int, setting: Any, work: Callable[[Collective, Any], Any] = work_of) -> list[Any]:
    """The same training in so many processes, and what each of them has measured."""
    context = multiprocessing.get_context("spawn")
    results, addresses = context.SimpleQueue(), context.SimpleQueue()
    members = [context.SimpleQueue() for _ in range(size)]
    processes = [
        context.Process(target=worker, args=(rank, work, setting, (addresses, members), results))
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    known = dict(addresses.get() for _ in processes)
    for queue in members:
        queue.put([known[rank] for rank in range(size)])
    found = dict(results.get() for _ in processes)
    for process in processes:
        process.join()
    return [found[rank] for rank in range(size)]


def measured_work(options: argparse.Namespace) -> Work:
    """Fit the seconds of a tree to the rows and the sampled rows of one process with one thread."""
    n = options.rows
    cases = [(n, 1.0), (n, 0.3), (n, 0.1), (n // 2, 1.0), (n // 2, 0.3), (n // 4, 1.0), (n // 4, 0.1)]
    seconds = [work_of(ALONE, Setting(rows, part, options.trees, options.leaves)).seconds for rows, part in cases]
    table = np.array([(1.0, rows, rows * part) for rows, part in cases])
    # Each case counts alike, whatever its size.
    fitted, _ = nnls(table / np.array(seconds)[:, None], np.ones(len(seconds)))
    work = Work(*fitted.tolist())
    print("rows      sampled  s a tree  fitted")
    for (rows, part), found in zip(cases, seconds, strict=True):
        print(f"{rows:9,} {part:7.2f} {found:9.3f} {work.seconds(rows, part):7.3f}")
    print(
        f"work of a thread: {work.constant * 1e3:.1f} ms a tree, {work.per_row * 1e9:.0f} ns a row, "
        f"{work.per_sampled_row * 1e9:.0f} ns a sampled row\n"
    )
    return work


def ring_seconds(n_bytes: float, n_workers: int, network: Network) -> float:
    """A ring adds up in 2 (w - 1) steps, in which each worker sends 2 (w - 1) / w of the bytes."""
    steps = 2 * (n_workers - 1)
    return steps * network.latency + steps / n_workers * n_bytes / network.bandwidth


def logarithmic_seconds(n_bytes: float, n_workers: int, network: Network) -> float:
    """As MPI adds up: the same bytes, in 2 log2(w) steps."""
    steps = 2 * math.log2(n_workers)
    return steps * network.latency + 2 * (n_workers - 1) / n_workers * n_bytes / network.bandwidth


COLLECTIVES = {"ring (XGBoost's collective)": ring_seconds, "logarithmic steps (MPI)": logarithmic_seconds}


def tree_seconds(
    n_rows: float, n_workers: int, tree: Tree, work: Work, network: Network, n_threads: int, collective: str
) -> float:
    """The seconds of a tree: work, and messages, which take turns."""
    compute = work.seconds(n_rows / n_workers, default_document_fraction(int(n_rows))) / n_threads
    if n_workers == 1:
        return compute
    message = tree.overhead + COLLECTIVES[collective](tree.bytes / tree.messages, n_workers, network)
    return compute + tree.messages * message


def check_model(work: Work, options: argparse.Namespace) -> Tree:
    """Compare the model with processes of this machine; returns what a tree sends."""
    cores, fraction = os.cpu_count() or 1, default_document_fraction(options.rows)
    sent = Tree(0, 0)
    print("workers  messages  MB a tree  ms of 8 B  ms of 8 MB  s a tree  model  CPU s of a worker  model")
    for size in (2, 4):
        found = in_processes(size, Setting(options.rows, None, options.trees, options.leaves))
        slowest = max(found, key=lambda each: each.seconds)
        compute = work.seconds(options.rows / size, fraction)
        overhead = (min(each.cpu_seconds for each in found) - compute) / slowest.messages
        if size == 2:
            sent = Tree(slowest.messages, slowest.bytes, max(0.0, overhead))
        per_byte = (slowest.large_message - slowest.small_message) / (LARGE - SMALL)
        messages = slowest.messages * slowest.small_message + slowest.bytes * per_byte
        busy = compute + slowest.messages * sent.overhead
        print(
            f"{size:7} {slowest.messages:9.1f} {slowest.bytes / 1e6:10.1f} {slowest.small_message * 1e3:10.2f} "
            f"{slowest.large_message * 1e3:11.1f} {slowest.seconds:9.3f} "
            f"{busy * max(1, size / cores) + messages:6.3f} {min(each.cpu_seconds for each in found):18.3f} "
            f"{busy:6.3f}"
        )
    threads = work_of(ALONE, Setting(options.rows, None, options.trees, options.leaves, 2)).seconds
    print(f"one process with 2 threads: {threads:.3f} s a tree")
    print(f"work of a message for each worker: {sent.overhead * 1e3:.2f} ms\n")
    return sent


def worker_bytes(n_rows: float) -> float:
    """The memory of a worker: bins, rows, the sample for cuts, and what does not grow; see cluster_memory.py."""
    padded = -(-N_FEATURES // 16) * 16
    return n_rows * (padded + 70) + 1e6 * N_FEATURES + 100e6


def print_growth(tree: Tree, work: Work, network: Network, n_threads: int) -> None:
    print(
        f"seconds a tree; {n_threads} threads a worker, {network.latency * 1e6:.0f} µs, "
        f"{network.bandwidth * 8 / 1e9:.0f} Gbit/s; in brackets, GB of memory a worker"
    )
    for name in COLLECTIVES:
        print(f"\n{name}\nrows            " + "".join(f"{size:>16,}" for size in WORKERS))
        for rows in ROWS:
            cells = []
            for size in WORKERS:
                seconds = tree_seconds(rows, size, tree, work, network, n_threads, name)
                cells.append(f"{seconds:9.3f} ({worker_bytes(rows / size) / 1e9:4.0f})")
            print(f"{rows:14,}  " + "".join(f"{cell:>16}" for cell in cells))


def draw(path: Path, tree: Tree, work: Work, network: Network, n_threads: int) -> None:
    from swaprank.rendering.figures import new_axes, save_figure

    axes = new_axes()
    workers: Floats = np.unique(np.round(np.geomspace(1, 1000, 60)))
    for rows, color in zip(ROWS, ("#9ecae1", "#4292c6", "#2171b5", "#08306b"), strict=True):
        for name, style in zip(COLLECTIVES, ("-", "--"), strict=True):
            seconds = [tree_seconds(rows, int(size), tree, work, network, n_threads, name) for size in workers]
            label = f"{rows:,} rows" if style == "-" else None
            axes.plot(workers, seconds, style, color=color, label=label)
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="seconds a tree")
    axes.set_title("solid: a ring; dashed: logarithmic steps")
    axes.legend()
    save_figure(axes, path)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=120_000)
    options.add_argument("--trees", type=int, default=8)
    options.add_argument("--leaves", type=int, default=63)
    options.add_argument("--threads", type=int, default=16, help="of each worker of the clusters that are computed")
    options.add_argument("--latency", type=float, default=50e-6, help="seconds")
    options.add_argument("--gigabits", type=float, default=10.0, help="a second")
    options.add_argument("--picture", type=Path)
    given = options.parse_args(arguments)
    network = Network(given.latency, given.gigabits * 1e9 / 8)
    work = measured_work(given)
    tree = check_model(work, given)
    print_growth(tree, work, network, given.threads)
    if given.picture is not None:
        draw(given.picture, tree, work, network, given.threads)


if __name__ == "__main__":
    main()
