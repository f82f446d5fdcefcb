"""Claim: with few clean queries, pairs beside the lambdas bring LambdaRank near RankNet; real data hardly notice.

    python benchmarks/lambdas_with_pairs.py [FOLDER] [--sets search demo mq2008 ohsumed]
                                            [--seeds 5] [--first-seed 0]

Test NDCG@10 of nets with ten hidden units, the best epoch on vali. "search" are 300 queries of `random_search`, "demo"
the same with the settings of `swaprank demo`; FOLDER holds LETOR sets, as for quality.py. ±: the standard error of the
paired difference from the first net, over data sets, or over the test queries of all folds. `--first-seed 100` takes
other data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from quality import folds_of

import swaprank as sr
from swaprank.arrays import Floats

METRIC = "ndcg@10"
GENERATED: dict[str, dict[str, Any]] = {"search": {}, "demo": {"n_epochs": 30, "log_features": True}}
NETS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "lambdas alone, decay=0.8": (sr.LambdaRank, {"pair_weight": 0.0, "decay": 0.8}),
    **{f"pair_weight={weight:g}": (sr.LambdaRank, {"pair_weight": weight}) for weight in (0.0, 0.3, 1.0)},
    "RankNet": (sr.RankNet, {}),
}


def trials(name: str, folder: Path | None, all_seeds: range) -> Iterator[tuple[tuple[sr.Dataset, ...], list[int]]]:
    """Train, vali and test, and the seeds of the nets."""
    if name in GENERATED:
        for seed in all_seeds:
            parts = sr.datasets.random_search((300, 100, 200), random_state=seed)
            yield parts, [seed if name == "demo" else 0]
    elif folder is not None:
        for fold in folds_of(folder, name):
            yield (fold.train, fold.vali, fold.test), list(all_seeds)


def measured(name: str, net: str, folder: Path | None, all_seeds: range) -> tuple[float, Floats]:
    """The mean over data sets or folds; one value per data set, or per test query of all folds, mean over seeds."""
    (kind, options), means, values = NETS[net], [], []
    for (train, vali, test), seeds in trials(name, folder, all_seeds):
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
    parser.add_argument("--sets", nargs="+", default=["search", "demo", "mq2008", "ohsumed"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    all_seeds = range(options.first_seed, options.first_seed + options.seeds)
    print("| data | net | NDCG@10 | difference |\n|---|---|---:|---:|")
    for name in options.sets:
        if name not in GENERATED and options.folder is None:
            continue
        base = None
        for net in NETS:
            mean, values = measured(name, net, options.folder, all_seeds)
            base = values if base is None else base
            apart = values - base
            error = apart.std(ddof=1) / len(apart) ** 0.5
            print(f"| {name} | {net} | {mean:.4f} | {apart.mean():+.4f} ± {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
