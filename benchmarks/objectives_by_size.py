"""Claim: training for the metric pays where a model is too small for the data, and with many queries.

    python benchmarks/objectives_by_size.py [--models linear "10 hidden" trees] [--data search polynomial]
                                            [--queries 300 1000 3000] [--seeds 3]

RankNet and LambdaRank, MART and LambdaMART: test NDCG@10 on generated data with default parameters; the round is the
best on vali. Means are over data sets; the difference from the first of its kind has its standard error, over sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from recording import Recording, add_record
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


def measured(ranker: Any, parts: tuple[sr.Dataset, ...]) -> float:
    """The metric on test."""
    train, vali, test = parts
    ranker.fit(train, valid=vali, metrics=METRIC)
    return sr.evaluate(test, ranker.predict(test), METRIC).results[0].mean


def report(recording: Recording, name: str, n_queries: int, options: argparse.Namespace) -> None:
    table = recording.table(
        f"{name}, {n_queries}", f"{name}, {n_queries:,} training queries", "Test NDCG@10", "Difference from the first"
    )
    sets = [DATA[name](n_queries, seed) for seed in range(options.seeds)]
    for model in options.models:
        rankers, parameters = MODELS[model]
        logs = {"log_features": name == "search"} if parameters else {}
        base = None
        for title, ranker in rankers.items():
            made = [clone(ranker).set_params(**parameters, **logs, random_state=seed) for seed in range(len(sets))]
            found = np.array([measured(one, parts) for one, parts in zip(made, sets, strict=True)])
            base = found if base is None else base
            apart = found - base
            error = apart.std(ddof=1) / len(sets) ** 0.5 if len(sets) > 1 else np.nan
            difference = f"{apart.mean():+.4f} ± {error:.4f}" if found is not base else ""
            table.add(f"{model}: {title}", f"{found.mean():.4f}", difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--queries", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--seeds", type=int, default=3)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        recording.says(f"Means of {options.seeds} data sets, standard errors of differences")
        for name in options.data:
            for n_queries in options.queries:
                report(recording, name, n_queries, options)


if __name__ == "__main__":
    main()
