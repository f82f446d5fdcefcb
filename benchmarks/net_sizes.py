"""Claim: LambdaRank is ahead of RankNet if the net is too small for the data; if not, RankNet is, with few queries.

    python benchmarks/net_sizes.py [--data search polynomial] [--queries 300 1000 3000] [--seeds 3]

Test NDCG@10 on generated data with default parameters, the best of 100 epochs on vali. Means are over data sets; the
difference from RankNet has its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import swaprank as sr

METRIC = "ndcg@10"
DATA: dict[str, Callable[[int, int], tuple[sr.Dataset, ...]]] = {
    "search": lambda n, seed: sr.datasets.random_search((n, 500, 2000), random_state=seed),
    "polynomial": lambda n, seed: sr.datasets.random_polynomial(
        (n, 500, 2000), n_features=20, n_documents=30, levels=5, random_state=seed
    ),
}
RANKERS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "RankNet": (sr.RankNet, {}),
    "LambdaRank": (sr.LambdaRank, {}),
    "LambdaRank, decay_probability=0.3": (sr.LambdaRank, {"decay_probability": 0.3}),
    "LambdaRank, decay=1": (sr.LambdaRank, {"decay": 1.0}),
}


def measured(ranker: Any, parts: tuple[sr.Dataset, ...]) -> tuple[float, float]:
    """The metric on train and test."""
    train, vali, test = parts
    ranker.fit(train, valid=vali, metrics=METRIC)
    found = [sr.evaluate(data, ranker.predict(data), METRIC).results[0].mean for data in (train, test)]
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--queries", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print("| data | queries | hidden | ranker | train | test | test, difference from RankNet |")
    print("|---|---:|---|---|---:|---:|---:|")
    for name in args.data:
        for n_queries in args.queries:
            sets = [DATA[name](n_queries, seed) for seed in range(args.seeds)]
            for hidden in ((), (10,)):
                base = None
                for title, (kind, options) in RANKERS.items():
                    common = {"metric": METRIC, "hidden": hidden, "log_features": name == "search"}
                    each = np.array(
                        [
                            measured(kind(**common, **options, random_state=seed), parts)
                            for seed, parts in enumerate(sets)
                        ]
                    )
                    base = each[:, 1] if base is None else base
                    apart, (train, test) = each[:, 1] - base, each.mean(axis=0)
                    error = apart.std(ddof=1) / len(sets) ** 0.5 if len(sets) > 1 else np.nan
                    line = f"| {name} | {n_queries:,} | {hidden} | {title} | {train:.4f} | {test:.4f} |"
                    print(f"{line} {apart.mean():+.4f} ± {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
