"""Claim: on few clean queries, all pairs beside the lambdas bring LambdaRank near RankNet; on MQ2008 they do not pay.

    python benchmarks/lambdas_with_pairs.py [FOLDER] [--seeds 5] [--sets README demo mq2008 ohsumed]

Test NDCG@10 of nets with ten hidden units, the best epoch on vali. "README" are 300 queries of `random_search`, "demo"
the same with the settings of `swaprank demo`; FOLDER holds LETOR sets, as for quality.py. A weight w adds RankNet's
gradients to the lambdas, scaled in each query so that the sum of their hessians is w times that of the lambdas. ±: the
standard error of the paired difference from LambdaRank's defaults, over data sets, or over the test queries of all
folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from quality import folds_of

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.kernels import kernel
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import BoundKernelObjective, Objective
from swaprank.objectives.query_gradients import gradients_of, query_gradients
from swaprank.objectives.ranknet_objective import RankNetObjective

METRIC = "ndcg@10"
GENERATED: dict[str, dict[str, Any]] = {"README": {}, "demo": {"n_epochs": 30, "log_features": True}}


class BothArrays(NamedTuple):
    """The arrays of lambdas and of all pairs, and room for the gradients of the pairs."""

    lambdas: Any
    pairs: Any
    weight: float
    grad: Floats
    hess: Floats


@gradients_of(BothArrays)
@kernel
def both_queries(
    arrays: BothArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    query_gradients(arrays.lambdas, indptr, scores, first, last, grad, hess)
    query_gradients(arrays.pairs, indptr, scores, first, last, arrays.grad, arrays.hess)
    for query in range(first, last):
        own, other = 0.0, 0.0
        for r in range(indptr[query], indptr[query + 1]):
            own += hess[r]
            other += arrays.hess[r]
        factor = arrays.weight * own / other if other > 0.0 else 0.0
        for r in range(indptr[query], indptr[query + 1]):
            grad[r] += factor * arrays.grad[r]
            hess[r] += factor * arrays.hess[r]


@dataclass(frozen=True)
class LambdasWithPairs(Objective):
    """LambdaRank's objective plus RankNet's."""

    weight: float

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        lambdas = LambdaRankObjective(sr.metric(METRIC)).bind(data, random_state=random_state, n_threads=n_threads)
        pairs = RankNetObjective().bind(data, random_state=random_state, n_threads=n_threads)
        room = np.zeros((2, len(data)))
        return replace(lambdas, arrays=BothArrays(lambdas.arrays, pairs.arrays, self.weight, *room))


NETS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "LambdaRank": (sr.LambdaRank, {}),
    "LambdaRank, decay=1": (sr.LambdaRank, {"decay": 1.0}),
    **{
        f"LambdaRank, decay=1, pairs of weight {w:g}": (
            sr.LambdaRank, {"decay": 1.0, "objective": LambdasWithPairs(w)},
        )
        for w in (0.3, 1.0)
    },
    "RankNet": (sr.RankNet, {}),
}  # fmt: skip


def trials(name: str, folder: Path | None, n_seeds: int) -> Iterator[tuple[tuple[sr.Dataset, ...], list[int]]]:
    """Train, vali and test, and the seeds of the nets."""
    if name in GENERATED:
        for seed in range(n_seeds):
            parts = sr.datasets.random_search((300, 100, 200), random_state=seed)
            yield parts, [seed if name == "demo" else 0]
    elif folder is not None:
        for fold in folds_of(folder / name):
            yield (fold.train, fold.vali, fold.test), list(range(n_seeds))


def measured(name: str, net: str, folder: Path | None, n_seeds: int) -> tuple[float, Floats]:
    """The mean over data sets or folds; one value per data set, or per test query of all folds, mean over seeds."""
    (kind, options), means, values = NETS[net], [], []
    for (train, vali, test), seeds in trials(name, folder, n_seeds):
        found = []
        for seed in seeds:
            ranker = kind(METRIC, hidden=(10,), random_state=seed, **GENERATED.get(name, {}), **options)
            scores = ranker.fit(train, valid=vali, metrics=METRIC).predict(test)
            found.append(sr.evaluate(test, scores, METRIC)[METRIC].per_query)
        each = np.mean(found, axis=0)
        each = each[~np.isnan(each)]  # queries without a relevant document
        means.append(each.mean())
        values.append(np.atleast_1d(each.mean() if name in GENERATED else each))
    return float(np.mean(means)), np.concatenate(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", default=["README", "demo", "mq2008", "ohsumed"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| data | net | NDCG@10 | difference |\n|---|---|---:|---:|")
    for name in options.sets:
        if name not in GENERATED and options.folder is None:
            continue
        base = None
        for net in NETS:
            mean, values = measured(name, net, options.folder, options.seeds)
            base = values if base is None else base
            apart = values - base
            error = apart.std(ddof=1) / len(apart) ** 0.5
            print(f"| {name} | {net} | {mean:.4f} | {apart.mean():+.4f} ± {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
