"""Claim: training for the metric pays where a model is too small for the data, and with many queries.

    python benchmarks/objectives_by_size.py [--models linear "10 hidden" trees] [--data search polynomial]
                                            [--queries 300 1000 3000] [--seeds 3]

RankNet and LambdaRank, MART and LambdaMART: test NDCG@10 on generated data with default parameters; the round is the
best on vali. Means are over data sets; the difference from the first of its kind has its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

import swaprank as sr

METRIC = "ndcg@10"
DATA: dict[str, Callable[[int, int], tuple[sr.Dataset, ...]]] = {
    "search": lambda n, seed: sr.datasets.random_search((n, 500, 2000), random_state=seed),
    "few relevant": lambda n, seed: sr.datasets.random_search(
        (n, 100, 500), n_documents=100, levels=(0.9, 0.06, 0.03, 0.01), random_state=seed
    ),
    "polynomial": lambda n, seed: sr.datasets.random_polynomial(
        (n, 500, 2000), n_features=20, n_documents=30, levels=5, random_state=seed
    ),
}
LOSSES = {
    "RankNet": sr.RankNet(METRIC),
    "LambdaRank": sr.LambdaRank(METRIC),
    "LambdaRank, pair_weight=0": sr.LambdaRank(METRIC, pair_weight=0.0),
    "LambdaRank, pair_weight=0, decay=0.8": sr.LambdaRank(METRIC, pair_weight=0.0, decay=0.8),
}
SIZE: dict[str, Any] = {"n_trees": 300, "n_leaves": 15, "early_stopping_rounds": None}
TREES = {
    "MART": sr.MART(METRIC, **SIZE),
    "MART, symmetric trees": sr.MART(METRIC, grow_policy="symmetric", split_noise=1.0, **SIZE),
    "LambdaMART": sr.LambdaMART(METRIC, **SIZE),
}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "linear": (LOSSES, {"hidden": ()}),
    "10 hidden": (LOSSES, {"hidden": (10,)}),
    "trees": (TREES, {}),
}


def measured(ranker: Any, parts: tuple[sr.Dataset, ...]) -> tuple[float, float]:
    """The metric on train and test."""
    train, vali, test = parts
    ranker.fit(train, valid=vali, metrics=METRIC)
    found = [sr.evaluate(data, ranker.predict(data), METRIC).results[0].mean for data in (train, test)]
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--queries", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print("| data | queries | model | ranker | train | test | test, difference |")
    print("|---|---:|---|---|---:|---:|---:|")
    for name in args.data:
        for n_queries in args.queries:
            sets = [DATA[name](n_queries, seed) for seed in range(args.seeds)]
            for model in args.models:
                rankers, options = MODELS[model]
                logs = {"log_features": name == "search"} if options else {}
                base = None
                for title, ranker in rankers.items():
                    made = [clone(ranker).set_params(**options, **logs, random_state=seed) for seed in range(len(sets))]
                    each = np.array([measured(one, parts) for one, parts in zip(made, sets, strict=True)])
                    base = each[:, 1] if base is None else base
                    apart, (train, test) = each[:, 1] - base, each.mean(axis=0)
                    error = apart.std(ddof=1) / len(sets) ** 0.5 if len(sets) > 1 else np.nan
                    line = f"| {name} | {n_queries:,} | {model} | {title} | {train:.4f} | {test:.4f} |"
                    print(f"{line} {apart.mean():+.4f} ± {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
