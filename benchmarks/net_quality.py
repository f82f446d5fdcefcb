"""Claim: on small data sets, nets rank as well as boosted trees: test NDCG@10 and MAP over five folds.

    python benchmarks/net_quality.py FOLDER [--sets mq2008 ohsumed] [--seeds 3] [--learners …]

FOLDER holds the data sets, as for quality.py. Nets use their default parameters except for the hidden units, and keep
the best of 100 epochs by NDCG@10 on vali. "best of six" is the best on vali of 10, 20 or 50 hidden units with a
learning rate of 0.001 or 0.003. SmoothRank uses its defaults, with NDCG@50. The trees are those of quality.py with
--grid: each library's best on vali, over leaves, learning rate and number of trees. Means are over folds and seeds (one
seed for trees).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from quality import LEAVES, METRIC, PEERS, RATES, STAGES, Fold, Setting, files_of, ours, per_query

import swaprank as sr
from swaprank.arrays import Floats

Predict = Callable[[sr.Dataset], Floats]
Learner = Callable[[Fold, int], Predict]


def best_on_vali(fold: Fold, models: Iterable[Predict]) -> Predict:
    return max(models, key=lambda predict: float(per_query(fold.vali, predict(fold.vali)).mean()))


def net(kind: type[Any], **grid: list[Any]) -> Learner:
    """The net that is best on vali, over all combinations of the given parameters."""

    def learn(fold: Fold, seed: int) -> Predict:
        choices = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        rankers = (kind(**choice, random_state=seed) for choice in choices)
        return best_on_vali(fold, [each.fit(fold.train, valid=fold.vali, metrics=METRIC).predict for each in rankers])

    return learn


def smoothrank(fold: Fold, seed: int) -> Predict:
    return sr.SmoothRank(random_state=seed).fit(fold.train, valid=fold.vali).predict


def trees(name: str) -> Learner:
    def learn(fold: Fold, seed: int) -> Predict:
        learner = ours("") if name == "swaprank" else PEERS[name]
        staged = [
            learner(fold.train, Setting(leaves, rate, seed, 1)) for leaves, rate in itertools.product(LEAVES, RATES)
        ]

        def stage(scores: Callable[[sr.Dataset], Floats], row: int) -> Predict:
            return lambda data: scores(data)[row]

        return best_on_vali(fold, [stage(scores, row) for scores in staged for row in range(len(STAGES))])

    return learn


SIX: dict[str, list[Any]] = {"hidden": [(10,), (20,), (50,)], "learning_rate": [0.001, 0.003]}
ALL: dict[str, Learner] = {
    "LambdaRank, linear": net(sr.LambdaRank, hidden=[()]),
    "LambdaRank, 10 hidden units": net(sr.LambdaRank, hidden=[(10,)]),
    "LambdaRank, 50 hidden units": net(sr.LambdaRank, hidden=[(50,)]),
    "LambdaRank, best of six": net(sr.LambdaRank, **SIX),
    "RankNet, linear": net(sr.RankNet, hidden=[()]),
    "RankNet, 10 hidden units": net(sr.RankNet, hidden=[(10,)]),
    "SmoothRank, linear": smoothrank,
    **{f"{name}, trees": trees(name) for name in ("swaprank", "LightGBM", "XGBoost", "CatBoost")},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed"])
    parser.add_argument("--learners", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| set | learner | NDCG@10 | MAP | seconds per model |\n|---|---|---:|---:|---:|")
    for name in options.sets:
        folds = list(files_of(options.folder / name))
        for learner in options.learners:
            seeds = range(1 if learner.endswith("trees") else options.seeds)
            values, start = [], time.perf_counter()
            for fold, seed in itertools.product(folds, seeds):
                scores = ALL[learner](fold, seed)(fold.test)
                values.append([result.mean for result in sr.evaluate(fold.test, scores, ["ndcg@10", "map"]).results])
            ndcg, average = np.mean(values, axis=0)
            each = (time.perf_counter() - start) / len(values)
            print(f"| {name} | {learner} | {ndcg:.4f} | {average:.4f} | {each:.1f} |", flush=True)


if __name__ == "__main__":
    main()
