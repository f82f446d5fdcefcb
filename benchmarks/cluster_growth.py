"""Claim: a tree takes about 20 messages, whatever the rows, so training scales until messages take longer than trees.

    python benchmarks/cluster_growth.py [--rows 120000] [--trees 8] [--picture docs/pictures/cluster_growth.svg]

What is measured, on this machine, with 1, 2 and 4 workers: the messages of a tree with their sizes, the seconds of a
tree and of a message, and the work of a tree by rows and sampled rows. Workers are processes, connected by the sockets
that training on Dask, Spark and Ray uses, without these engines; and by MPI, where `mpiexec` is. What is computed: the
seconds of a tree as the sum of all, first for this machine, beside what was measured, then for clusters of other sizes
with a given latency and bandwidth.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from message_costs import ADD, ENGINES, GLANCE, Cost, Counting, Message, Network, cost_of
from recording import Recording, add_record
from scipy.optimize import nnls

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.cluster.formation import Listener
from swaprank.cluster.mpi_training import MPICollective
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.collective import ALONE, Collective, allgather_json
from swaprank.trees.document_sampling import make_glance
from swaprank.trees.tree_rules import default_document_fraction

N_FEATURES, QUERY_DOCUMENTS = 136, 120
SMALL, LARGE = 8, 8_000_000
"""Bytes of the messages that are timed."""
SKIPPED = 2
"""Trees at the start, which load kernels and fill caches."""
SIZES = (2, 4)
"""Workers that are measured beside one."""
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
    messages: list[Message]
    """Of all trees that are timed."""
    small_message: float
    """Seconds of a message of 8 bytes."""
    large_message: float
    """Seconds of a message of 8 MB."""
    cpu_small_message: float


class Work(NamedTuple):
    """Seconds of one thread per tree."""

    constant: float
    per_row: float
    per_sampled_row: float

    def seconds(self, n_rows: float, fraction: float) -> float:
        """The work of a worker with so many rows."""
        return self.constant + n_rows * (self.per_row + fraction * self.per_sampled_row)


def glance_bytes(n_rows: int, size: int) -> int:
    """Of the message with the gradients of some documents; none of all documents."""
    if default_document_fraction(n_rows) == 1.0:
        return 0
    mine = np.array([n_rows // size])
    return 16 * make_glance(n_rows, 0, mine, mine // QUERY_DOCUMENTS).room


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
    is_default = setting.document_fraction is None
    counting = Counting(collective, glance_bytes(setting.n_rows, collective.size) if is_default else 0)
    ends = list[tuple[float, float, int]]()

    def note(progress: sr.rankers.Progress) -> None:
        ends.append((time.perf_counter(), time.process_time(), len(counting.messages)))

    ranker = sr.LambdaMART(
        n_trees=setting.n_trees + SKIPPED,
        n_leaves=setting.n_leaves,
        n_threads=setting.n_threads,
        document_fraction=setting.document_fraction,
    )
    ranker.fit_shard(share(setting.n_rows, collective.rank, collective.size), {}, counting, callbacks=[note])
    # Others use the machine, too: the fastest tree is the least disturbed.
    seconds, cpu_seconds = np.diff(np.array(ends)[SKIPPED - 1 :, :2], axis=0).min(axis=0).tolist()
    messages = counting.messages[ends[SKIPPED - 1][2] : ends[-1][2]]
    return Measured(seconds, cpu_seconds, messages, *message_seconds(collective))


def message_seconds(collective: Collective) -> tuple[float, float, float]:
    """Seconds of a small and a large message, and the CPU time of a small one."""
    best = [np.inf, np.inf]
    for at, size in enumerate((SMALL, LARGE)):
        values = np.ones(size // 8, np.int64)
        for _ in range(10):
            start = time.perf_counter()
            collective.add(values)
            best[at] = min(best[at], time.perf_counter() - start)
    start, values = time.process_time(), np.ones(1, np.int64)
    for _ in range(1000):
        collective.add(values)
        values[:] = 1
    return best[0], best[1], (time.process_time() - start) / 1000


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


def by_mpiexec(size: int, setting: Setting) -> list[Measured]:
    """The same training in processes of MPI; nothing if there is no `mpiexec`."""
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        return []
    command = [mpiexec, "-n", str(size), sys.executable, __file__, "--mpi-worker", json.dumps(setting)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [
        Measured(seconds, used, [Message(*each) for each in sent], *of_one) for seconds, used, sent, *of_one in found
    ]


def work_by_mpi(setting: Setting) -> None:
    collective = MPICollective()
    found = allgather_json(collective, work_of(collective, setting))
    if collective.rank == 0:
        print(json.dumps(found))


def measured_work(options: argparse.Namespace, recording: Recording) -> Work:
    """Fit the seconds of a tree to the rows and the sampled rows of one process with one thread."""
    n = options.rows
    cases = [(n, 1.0), (n, 0.3), (n, 0.1), (n // 2, 1.0), (n // 2, 0.3), (n // 4, 1.0), (n // 4, 0.1)]
    # CPU time, which other programs do not lengthen much.
    seconds = [work_of(ALONE, Setting(rows, part, options.trees, options.leaves)).cpu_seconds for rows, part in cases]
    table = np.array([(1.0, rows, rows * part) for rows, part in cases])
    # Each case counts alike, whatever its size.
    fitted, _ = nnls(table / np.array(seconds)[:, None], np.ones(len(seconds)))
    work = Work(*fitted.tolist())
    fits = recording.table("work", "Rows", "Fraction sampled", "CPU s a tree", "fitted", n_names=2)
    for (rows, part), found in zip(cases, seconds, strict=True):
        fits.add(f"{rows:,}", f"{part:g}", f"{found:.3f}", f"{work.seconds(rows, part):.3f}")
    return work


def check_model(work: Work, options: argparse.Namespace, recording: Recording) -> tuple[list[Message], float]:
    """Compare the model with processes of this machine; returns the messages of all trees, and the work of a send."""
    columns = ("Workers connected by", "Workers", "Messages a tree", "Steps", "MB that a worker sends", "8 bytes, ms")
    table = recording.table("measured", *columns, "8 MB, ms", "s a tree", "by the model", "CPU s of a worker")
    fraction, n_trees = default_document_fraction(options.rows), options.trees
    setting = Setting(options.rows, None, n_trees, options.leaves)
    sent, send = list[Message](), 0.0
    for n_threads in (1, 2):
        alone = work_of(ALONE, setting._replace(n_threads=n_threads))
        by_model = f"{work.seconds(options.rows, fraction):.3f}" if n_threads == 1 else ""
        name = f"one process, {n_threads} thread{'s' * (n_threads - 1)}"
        table.add(name, 1, "", "", "", "", "", f"{alone.seconds:.3f}", by_model, f"{alone.cpu_seconds:.3f}")
    for engine, run in {"sockets": in_processes, "MPI": by_mpiexec}.items():
        for size in SIZES:
            found: list[Measured] = run(size, setting)
            if not found:
                continue
            table.add(engine, size, *cells_of(found, engine, work.seconds(options.rows / size, fraction), n_trees))
            if engine == "sockets":
                send = min(each.cpu_small_message for each in found) / (size - 1)
                sent = sent or found[0].messages
    units = recording.table("units", "Work of a thread", "Time", "For each")
    units.add("a tree", f"{work.constant * 1e3:.1f} ms", "tree")
    units.add("a row", f"{work.per_row * 1e9:.0f} ns", "tree and row")
    units.add("a sampled row", f"{work.per_sampled_row * 1e9:.0f} ns", "tree and row that is sampled")
    units.add("a send", f"{send * 1e6:.0f} µs", "message by sockets and other worker")
    return sent, send


def cells_of(found: Sequence[Measured], engine: str, compute: float, n_trees: int) -> list[str]:
    """A row about workers of this machine; compute: seconds of work of each."""
    size, slowest = len(found), max(found, key=lambda each: each.seconds)
    cost = Cost(*(each / n_trees for each in cost_of(slowest.messages, size, engine)))
    large_bytes = ENGINES[engine](Message(ADD, LARGE), size).bytes
    per_byte = (slowest.large_message - slowest.small_message) / large_bytes
    busy = compute * max(1, size / (os.cpu_count() or 1))
    return [
        f"{len(slowest.messages) / n_trees:.1f}",
        f"{cost.steps:.1f}",
        f"{cost.bytes / 1e6:.1f}",
        f"{slowest.small_message * 1e3:.2f}",
        f"{slowest.large_message * 1e3:.1f}",
        f"{slowest.seconds:.3f}",
        f"{busy + cost.steps * slowest.small_message + cost.bytes * per_byte:.3f}",
        f"{min(each.cpu_seconds for each in found):.3f}",
    ]


def count_messages(options: argparse.Namespace, recording: Recording) -> None:
    """The messages of a tree by the rows; these do not depend on the speed of the machine."""
    table = recording.table("messages", "Rows, of 2 workers", "Messages a tree", "MB that a worker sends")
    for n_rows in options.counted:
        first = in_processes(2, Setting(n_rows, None, options.trees, options.leaves))[0]
        n_bytes = cost_of(first.messages, 2, "sockets").bytes / options.trees
        table.add(f"{n_rows:,}", f"{len(first.messages) / options.trees:.1f}", f"{n_bytes / 1e6:.1f}")


def worker_bytes(n_rows: float, n_features: int, has_sample: bool = True, is_mapped: bool = False) -> float:
    """The memory of a worker; see cluster_memory.py.

    has_sample: Cuts come from a sample of its rows; is_mapped: its bins are a file.
    """
    padded = 0 if is_mapped else -(-n_features // 16) * 16
    return n_rows * (padded + 70) + (1e6 * n_features if has_sample else 0) + 100e6


class Cluster(NamedTuple):
    """What the seconds of a tree on a cluster are computed from."""

    messages: Sequence[Message]
    """Of so many trees."""
    n_trees: int
    work: Work
    network: Network
    n_threads: int

    def tree_seconds(self, n_rows: int, size: int, engine: str) -> float:
        """Work, and messages, which take turns."""
        compute = self.work.seconds(n_rows / size, default_document_fraction(n_rows)) / self.n_threads
        if size == 1:
            return compute
        glance = Message(GLANCE, glance_bytes(n_rows, size))
        messages = [glance if each.kind == GLANCE else each for each in self.messages]
        return compute + cost_of(messages, size, engine).seconds(self.network) / self.n_trees


def compute_growth(cluster: Cluster, recording: Recording) -> None:
    """Seconds a tree by rows and workers; in brackets, GB of memory a worker. The fewest seconds of a row are bold."""
    for engine in ENGINES:
        name = f"Connected by {engine}"
        table = recording.table(f"computed, {engine}", name, "1 worker", *(f"{size:,}" for size in WORKERS[1:]))
        for n_rows in ROWS:
            seconds = [cluster.tree_seconds(n_rows, size, engine) for size in WORKERS]
            cells = [
                f"{rounded(each)} ({worker_bytes(n_rows / size, N_FEATURES) / 1e9:,.0f})"
                for each, size in zip(seconds, WORKERS, strict=True)
            ]
            best = int(np.argmin(seconds))
            cells[best] = f"**{cells[best].replace(' ', '** ', 1)}"
            table.add(f"{n_rows / 1e6:,.0f} million rows", *cells)


def rounded(seconds: float) -> str:
    """With three digits."""
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:#.3g}"


def draw(path: Path, cluster: Cluster) -> None:
    from swaprank.rendering.figures import new_axes, save_figure

    axes = new_axes()
    workers: Floats = np.unique(np.round(np.geomspace(1, 1000, 60)))
    for rows, color in zip(ROWS, ("#9ecae1", "#4292c6", "#2171b5", "#08306b"), strict=True):
        for engine, style in zip(ENGINES, ("-", "--"), strict=True):
            seconds = [cluster.tree_seconds(rows, int(size), engine) for size in workers]
            label = f"{rows:,} rows" if style == "-" else None
            axes.plot(workers, seconds, style, color=color, label=label)
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="seconds a tree")
    axes.set_title("solid: sockets; dashed: MPI")
    axes.legend()
    save_figure(axes, path)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=120_000)
    options.add_argument("--counted", type=int, nargs="*", default=[30_000, 120_000, 699_600], help="rows")
    options.add_argument("--trees", type=int, default=8)
    options.add_argument("--leaves", type=int, default=63)
    options.add_argument("--threads", type=int, default=16, help="of each worker of the clusters that are computed")
    options.add_argument("--latency", type=float, default=50e-6, help="seconds")
    options.add_argument("--gigabits", type=float, default=10.0, help="a second")
    options.add_argument("--picture", type=Path)
    options.add_argument("--mpi-worker", type=json.loads, help=argparse.SUPPRESS)
    add_record(options)
    given = options.parse_args(arguments)
    if given.mpi_worker:
        work_by_mpi(Setting(*given.mpi_worker))
        return
    with Recording(given) as recording:
        recording.says(
            f"{given.leaves} leaves, {N_FEATURES} features, 255 bins, {QUERY_DOCUMENTS} documents a query, one thread "
            f"a worker, best of {given.trees} trees; computed for {given.threads} threads a worker, "
            f"{given.latency * 1e6:.0f} µs a step, {given.gigabits:g} Gbit/s"
        )
        count_messages(given, recording)
        work = measured_work(given, recording)
        messages, send = check_model(work, given, recording)
        network = Network(given.latency, given.gigabits * 1e9 / 8, send)
        cluster = Cluster(messages, given.trees, work, network, given.threads)
        compute_growth(cluster, recording)
    if given.picture is not None:
        draw(given.picture, cluster)


if __name__ == "__main__":
    main()
