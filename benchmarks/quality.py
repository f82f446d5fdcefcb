"""Claim: on real data sets, with models chosen on vali from equal grids, no library has a higher test NDCG@10.

    python benchmarks/quality.py FOLDER [--sets mq2008 ohsumed mslr-sample] [--seeds 1] [--learners …]

FOLDER holds mq2008 and ohsumed (Fold1 to Fold5, each with train.txt, vali.txt and test.txt) and mslr-sample (train.txt
and test.txt; every fifth training query is used as vali). Every library gets the same grid of six models: trees of 7,
15 or 31 leaves (CatBoost, whose trees are symmetric: depth 3, 4 or 5) and a learning rate of 0.05 or 0.1; up to 500
trees, with early stopping after 50 trees without a better NDCG@10 on vali. All other parameters are the library's
defaults. The model with the best NDCG@10 on vali is measured on test, for each fold. swaprank measures all of them by
its standard convention: gain 2^label - 1, and 0 for queries without a relevant document. Means are over folds and
seeds. The difference to the first learner is over all test queries. A difference within two standard errors is not
significant.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import catboost
import lightgbm
import numpy as np
import xgboost

import swaprank as sr
from swaprank.arrays import Floats

METRIC = sr.metric("ndcg@10")
LEAVES = (7, 15, 31)
RATES = (0.05, 0.1)


class Fold(NamedTuple):
    """Training, validation and test data."""

    train: sr.Dataset
    vali: sr.Dataset
    test: sr.Dataset


class Grid(NamedTuple):
    """The parameters of one model of the grid, and those that all models share."""

    n_leaves: int
    learning_rate: float
    n_trees: int
    patience: int
    seed: int
    n_threads: int


Predict = Callable[[sr.Dataset], Floats]
Learner = Callable[[Fold, Grid], Predict]


def swaprank_learner(**parameters: Any) -> Learner:
    def learn(fold: Fold, grid: Grid) -> Predict:
        ranker = sr.LambdaMART(
            n_trees=grid.n_trees,
            n_leaves=grid.n_leaves,
            learning_rate=grid.learning_rate,
            early_stopping_rounds=grid.patience,
            random_state=grid.seed,
            n_threads=grid.n_threads,
            **parameters,
        )
        return ranker.fit(fold.train, valid=fold.vali, metrics=METRIC).predict

    return learn


def learn_lightgbm(fold: Fold, grid: Grid) -> Predict:
    options = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "num_leaves": grid.n_leaves,
        "learning_rate": grid.learning_rate,
        "seed": grid.seed,
        "num_threads": grid.n_threads,
        "verbose": -1,
    }
    train, vali = (
        lightgbm.Dataset(data.features, data.labels, group=np.diff(data.indptr)) for data in (fold.train, fold.vali)
    )
    stop = lightgbm.early_stopping(grid.patience, verbose=False)
    booster = lightgbm.train(options, train, grid.n_trees, valid_sets=[vali], callbacks=[stop])
    return lambda data: np.asarray(booster.predict(data.features, num_iteration=booster.best_iteration))


def learn_xgboost(fold: Fold, grid: Grid) -> Predict:
    options = {
        "objective": "rank:ndcg",
        "eval_metric": "ndcg@10",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": grid.n_leaves,
        "max_depth": 0,
        "eta": grid.learning_rate,
        "seed": grid.seed,
        "nthread": grid.n_threads,
    }
    train, vali = (
        xgboost.DMatrix(data.features, data.labels, group=np.diff(data.indptr)) for data in (fold.train, fold.vali)
    )
    booster = xgboost.train(
        options,
        train,
        grid.n_trees,
        evals=[(vali, "vali")],
        early_stopping_rounds=grid.patience,
        verbose_eval=False,
    )
    best = (0, booster.best_iteration + 1)
    return lambda data: np.asarray(booster.predict(xgboost.DMatrix(data.features), iteration_range=best))


def learn_catboost(fold: Fold, grid: Grid) -> Predict:
    options = {
        "loss_function": "YetiRank",
        "eval_metric": "NDCG:top=10;type=Exp",
        "iterations": grid.n_trees,
        "depth": int(np.log2(grid.n_leaves + 1)),
        "learning_rate": grid.learning_rate,
        "early_stopping_rounds": grid.patience,
        "random_seed": grid.seed,
        "thread_count": grid.n_threads,
        "allow_writing_files": False,
        "verbose": False,
    }
    train, vali = (
        catboost.Pool(data.features, data.labels, group_id=np.repeat(np.arange(data.n_queries), np.diff(data.indptr)))
        for data in (fold.train, fold.vali)
    )
    model = catboost.CatBoost(options).fit(train, eval_set=vali, use_best_model=True)
    return lambda data: np.asarray(model.predict(data.features))


LEARNERS: dict[str, Learner] = {
    "swaprank": swaprank_learner(),
    "swaprank, as in the paper": swaprank_learner(normalize=False),
    "LightGBM": learn_lightgbm,
    "XGBoost": learn_xgboost,
    "CatBoost": learn_catboost,
}


def folds_of(folder: Path) -> Iterator[Fold]:
    if not (folder / "Fold1").is_dir():
        train, test = sr.read_letor(folder / "train.txt"), sr.read_letor(folder / "test.txt")
        held_out = np.arange(train.n_queries) % 5 == 4
        yield Fold(train.subset(~held_out), train.subset(held_out), test)
    for number in range(1, 6):
        part = folder / f"Fold{number}"
        if part.is_dir():
            # These files are grouped by query, as the other libraries need them.
            yield Fold(*(sr.read_letor(part / f"{name}.txt") for name in Fold._fields))


def per_query(data: sr.Dataset, scores: Floats) -> Floats:
    return METRIC.per_query(data.labels, scores, data.indptr)


def chosen_on_vali(learner: Learner, fold: Fold, grid: list[Grid]) -> Floats:
    """NDCG@10 of each test query for the model of the grid that is best on vali."""
    best, found = -np.inf, np.empty(0)
    for point in grid:
        predict = learner(fold, point)
        value = float(per_query(fold.vali, predict(fold.vali)).mean())
        if value > best:
            best, found = value, per_query(fold.test, predict(fold.test))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed", "mslr-sample"])
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--patience", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    versions = ", ".join(f"{name} {version(name)}" for name in ("swaprank", "lightgbm", "xgboost", "catboost"))
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}; {options.seeds} seeds.\n")
    print("| set | learner | test NDCG@10 | range over seeds | difference | standard error | seconds |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in options.sets:
        folds = list(folds_of(options.folder / name))
        ours: Floats | None = None
        for learner in options.learners:
            start = time.perf_counter()
            by_seed = []
            for seed in range(options.seeds):
                grid = [
                    Grid(leaves, rate, options.trees, options.patience, seed, options.threads)
                    for leaves, rate in itertools.product(LEAVES, RATES)
                ]
                by_seed.append([chosen_on_vali(LEARNERS[learner], fold, grid) for fold in folds])
            seconds = time.perf_counter() - start
            means = [float(np.mean([fold.mean() for fold in seed])) for seed in by_seed]
            queries = np.mean([np.concatenate(seed) for seed in by_seed], axis=0)
            ours = queries if ours is None else ours
            difference = queries - ours
            error = difference.std() / np.sqrt(len(difference))
            spread = f"{min(means):.4f} to {max(means):.4f}"
            print(
                f"| {name} | {learner} | {np.mean(means):.4f} | {spread} | {difference.mean():+.4f} | {error:.4f} "
                f"| {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
