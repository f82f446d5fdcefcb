"""Claim: two workers take at most 1.3 times as long as two threads, and less than LightGBM and XGBoost on two workers.

    python benchmarks/cluster_training.py [--queries 5830] [--trees 30] [--workers 2]

All libraries train on the same parts, which the workers of one Dask cluster of this machine have, with one thread a
worker: 63 leaves, 255 bins, the same learning rate. The seconds of a tree are those of a long training without those of
a short one, so that reading, binning and forming the group are not in them; they are in the second column.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask import array as da
from dask import delayed
from distributed import Client, LocalCluster, wait
from lightgbm import DaskLGBMRanker
from recording import Recording, add_record
from training import generated
from training_peers import Judged, Setting, lightgbm_options
from xgboost import dask as xgboost_dask

import swaprank as sr

SHORT = 5
"""Trees of the short training."""
RATE, BINS = 0.1, 255


def judged_part(number: int, n_queries: int, n_features: int) -> Judged:
    """The part of a worker."""
    return generated(n_queries, n_features, number + 1)


def dataset_of(part: Judged, number: int) -> sr.Dataset:
    qid = np.repeat(np.arange(len(part.sizes)) + 10_000_000 * number, part.sizes)
    return sr.Dataset(part.X, part.y, qid=qid)


def ours(**parameters: Any) -> sr.LambdaMART:
    return sr.LambdaMART("ndcg@10", n_leaves=63, learning_rate=RATE, max_bins=BINS, random_state=0, **parameters)


def fits_of(client: Client, options: argparse.Namespace) -> dict[str, Callable[[int], object]]:
    """Each library's training with a number of trees."""
    per_worker = options.queries // options.workers
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    parts = [
        client.submit(judged_part, number, per_worker, options.features, workers=[worker], pure=False)
        for number, worker in enumerate(workers)
    ]
    wait(parts)
    own = [
        client.submit(dataset_of, part, number, workers=[workers[number]], pure=False)
        for number, part in enumerate(parts)
    ]
    wait(own)
    # On this process, for the run with threads.
    data = [part.result() for part in parts]
    together = Judged(*(np.concatenate([getattr(part, name) for part in data]) for name in ("X", "y", "sizes")))
    alone = dataset_of(together, 0)
    rows = [len(part.y) for part in data]
    del data, together
    X, y, sizes, qid = arrays_of(parts, rows, options.features)
    setting = Setting(n_trees=0, n_leaves=63, n_threads=1)
    lightgbm = {name: value for name, value in lightgbm_options(setting).items() if name != "num_threads"}

    def with_lightgbm(n_trees: int, **more: Any) -> object:
        ranker = DaskLGBMRanker(client=client, n_estimators=n_trees, tree_learner="data", **{**lightgbm, **more})
        return ranker.fit(X, y, group=sizes)

    def with_xgboost(n_trees: int) -> object:
        ranker = xgboost_dask.DaskXGBRanker(
            n_estimators=n_trees,
            objective="rank:ndcg",
            lambdarank_pair_method="topk",
            tree_method="hist",
            grow_policy="lossguide",
            max_leaves=63,
            max_depth=0,
            max_bin=BINS,
            learning_rate=RATE,
            # Otherwise it wants data frames, to bring queries together; here, they are.
            allow_group_split=True,
        )
        ranker.client = client
        return ranker.fit(X, y, qid=qid)

    return {
        "swaprank": lambda n: ours(n_trees=n).fit(sr.Parts(own)),
        "swaprank, one process with as many threads": lambda n: ours(n_trees=n, n_threads=options.workers).fit(alone),
        "swaprank, all documents": lambda n: ours(n_trees=n, document_fraction=1.0).fit(sr.Parts(own)),
        "swaprank, all documents, one process with as many threads": lambda n: ours(
            n_trees=n, document_fraction=1.0, n_threads=options.workers
        ).fit(alone),
        "LightGBM": with_lightgbm,
        "LightGBM, GOSS": lambda n: with_lightgbm(n, data_sample_strategy="goss"),
        "XGBoost": with_xgboost,
    }


def arrays_of(parts: list[Any], rows: list[int], n_features: int) -> tuple[Any, Any, Any, Any]:
    """Features, labels, group sizes and query ids as Dask arrays of one chunk a part."""

    def joined(take: Callable[[Judged, int], Any], dtype: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
        chunks = [
            da.from_delayed(delayed(take)(part, number), shape=shape, dtype=dtype)
            for number, (part, shape) in enumerate(zip(parts, shapes, strict=True))
        ]
        return da.concatenate(chunks).persist()

    lengths = [(n,) for n in rows]
    n_queries = [(len(part.sizes),) for part in (each.result() for each in parts)]
    return (
        joined(lambda part, _: part.X, np.float32, [(n, n_features) for n in rows]),
        joined(lambda part, _: part.y, np.int32, lengths),
        joined(lambda part, _: part.sizes, np.int64, n_queries),
        joined(lambda part, at: np.repeat(np.arange(len(part.sizes)) + at * 10**7, part.sizes), np.int64, lengths),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=5830, help="of some 120 documents each")
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2)
    add_record(parser)
    options = parser.parse_args()
    with (
        Recording(options, "lightgbm", "xgboost", "distributed") as recording,
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        fits = fits_of(client, options)
        recording.says(
            f"about {options.queries * 120:,} generated documents x {options.features} features, {options.workers} "
            f"workers of one thread; 63 leaves, {BINS} bins, {options.trees} trees, best of {options.runs}"
        )
        best = {name: {SHORT: np.inf, options.trees: np.inf} for name in fits}
        for turn in range(options.runs):
            for name, fit in fits.items():
                if turn == 0:
                    fit(2)  # loads and compiles
                for n_trees in best[name]:
                    start = time.perf_counter()
                    fit(n_trees)
                    best[name][n_trees] = min(best[name][n_trees], time.perf_counter() - start)
        table = recording.table("training", "", "Seconds a tree", "Relative", "Seconds of the training")
        a_tree = {name: (each[options.trees] - each[SHORT]) / (options.trees - SHORT) for name, each in best.items()}
        for name, seconds in a_tree.items():
            table.add(name, f"{seconds:.3f}", f"{seconds / a_tree['swaprank']:.2f}", f"{best[name][options.trees]:.1f}")


if __name__ == "__main__":
    main()
