"""The functions that `training.py` compares: each library trains, bins and scores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import catboost
import lightgbm
import numpy as np
import xgboost

import swaprank as sr
from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.trees.binning import make_bins

RATE = 0.1
BINS = 255


class Judged(NamedTuple):
    """Documents, grouped by query."""

    X: Features
    y: AnyArray
    sizes: Ints

    def dataset(self) -> sr.Dataset:
        """The documents as a swaprank data set."""
        return sr.Dataset(self.X, self.y, qid=np.repeat(np.arange(len(self.sizes)), self.sizes))


class Setting(NamedTuple):
    """The parameters that all libraries share."""

    n_trees: int
    n_leaves: int
    n_threads: int


Staged = Callable[[Features, int], Iterator[Floats]]
"""Scores after every so many trees."""
Fit = Callable[[Judged, Setting, Callable[[], object]], Staged]
"""Trains a model, calls the callback after every tree, and returns the model's scores by stages."""
Bin = Callable[[Judged, Setting], object]


def by_stages(n_trees: int, predict: Callable[[Features, int, int], Floats]) -> Staged:
    """Scores by stages from a function that sums the trees from first to last; a constant does not change a ranking."""

    def staged(X: Features, every: int) -> Iterator[Floats]:
        scores = np.zeros(len(X))
        for first in range(0, n_trees - every + 1, every):
            scores = scores + predict(X, first, first + every)
            yield scores

    return staged


def ours(metric: str | sr.metrics.Metric = "ndcg@10", **parameters: Any) -> Fit:
    def fit(data: Judged, setting: Setting, after_tree: Callable[[], object]) -> Staged:
        ranker = sr.LambdaMART(
            metric,
            n_trees=setting.n_trees,
            n_leaves=setting.n_leaves,
            n_threads=setting.n_threads,
            learning_rate=RATE,
            max_bins=BINS,
            **parameters,
        )
        ranker.fit(data.dataset(), callbacks=[lambda _: after_tree()])
        return lambda X, every: (scores for _, scores in ranker.staged_predict(X, every))

    return fit


def bin_ours(data: Judged, setting: Setting) -> object:
    return make_bins(data.dataset(), BINS, setting.n_threads)


def lightgbm_options(setting: Setting) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "num_leaves": setting.n_leaves,
        "learning_rate": RATE,
        "max_bin": BINS,
        "num_threads": setting.n_threads,
        "verbose": -1,
    }


def bin_lightgbm(data: Judged, setting: Setting, **more: Any) -> Any:
    return lightgbm.Dataset(data.X, data.y, group=data.sizes, params=lightgbm_options(setting) | more).construct()


def with_lightgbm(**more: Any) -> Fit:
    def fit(data: Judged, setting: Setting, after_tree: Callable[[], object]) -> Staged:
        train = bin_lightgbm(data, setting, **more)
        booster = lightgbm.Booster(lightgbm_options(setting) | more, train)
        for _ in range(setting.n_trees):
            booster.update()
            after_tree()
        return by_stages(
            setting.n_trees,
            lambda X, first, last: np.asarray(booster.predict(X, start_iteration=first, num_iteration=last - first)),
        )

    return fit


def bin_xgboost(data: Judged, setting: Setting) -> Any:
    return xgboost.QuantileDMatrix(
        data.X, data.y, group=data.sizes, max_bin=BINS, nthread=setting.n_threads, missing=np.nan
    )


def fit_xgboost(data: Judged, setting: Setting, after_tree: Callable[[], object]) -> Staged:
    options = {
        "objective": "rank:ndcg",
        "lambdarank_pair_method": "topk",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": setting.n_leaves,
        "max_depth": 0,
        "max_bin": BINS,
        "eta": RATE,
        "nthread": setting.n_threads,
    }
    train = bin_xgboost(data, setting)
    booster = xgboost.Booster(options, [train])
    for number in range(setting.n_trees):
        booster.update(train, number)
        after_tree()
    return by_stages(
        setting.n_trees,
        lambda X, first, last: booster.inplace_predict(X, iteration_range=(first, last), predict_type="margin"),
    )


def bin_catboost(data: Judged, setting: Setting) -> Any:
    # CatBoost counts borders, one less than bins.
    pool = catboost.Pool(data.X, data.y, group_id=np.repeat(np.arange(len(data.sizes)), data.sizes))
    pool.quantize(border_count=BINS - 1)
    return pool


class AfterIteration(NamedTuple):
    """A callback as CatBoost expects it."""

    after_tree: Callable[[], object]

    def after_iteration(self, info: object) -> bool:
        """Continue training."""
        self.after_tree()
        return True


def with_catboost(loss: str, symmetric: bool = False) -> Fit:
    """CatBoost leaf by leaf, or with its symmetric trees of the largest depth that has no more leaves."""

    def fit(data: Judged, setting: Setting, after_tree: Callable[[], object]) -> Staged:
        leafwise = {"grow_policy": "Lossguide", "max_leaves": setting.n_leaves}
        options = {
            "loss_function": loss,
            **({"depth": (setting.n_leaves + 1).bit_length() - 1} if symmetric else leafwise),
            "iterations": setting.n_trees,
            "learning_rate": RATE,
            "thread_count": setting.n_threads,
            "metric_period": setting.n_trees,
            "allow_writing_files": False,
            "verbose": False,
        }
        pool = bin_catboost(data, setting)
        model = catboost.CatBoost(options).fit(pool, callbacks=[AfterIteration(after_tree)])
        return by_stages(setting.n_trees, lambda X, first, last: model.predict(X, ntree_start=first, ntree_end=last))

    return fit


class Timed(NamedTuple):
    """Seconds of every tree, and the scores by stages."""

    trees: list[float]
    staged: Staged


def in_turns(fits: dict[str, Fit], data: Judged, settings: dict[str, Setting]) -> dict[str, Timed]:
    """Train all models, each in its own thread that waits for its turn after every tree."""
    go = {name: threading.Semaphore(0) for name in fits}
    done = threading.Semaphore(0)
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    ended: set[str] = set()
    rng = np.random.default_rng(0)

    def run(name: str) -> Staged:
        def after_tree() -> None:
            done.release()
            go[name].acquire()

        go[name].acquire()
        try:
            return fits[name](data, settings[name], after_tree)
        finally:
            ended.add(name)
            done.release()

    with ThreadPoolExecutor(len(fits)) as pool:
        running = {name: pool.submit(run, name) for name in fits}
        while len(ended) < len(fits):
            for name in rng.permutation([name for name in fits if name not in ended]).tolist():
                start = time.perf_counter()
                go[name].release()
                done.acquire()
                if name not in ended:  # One more turn after the last tree ends the fit.
                    seconds[name].append(time.perf_counter() - start)
        return {name: Timed(seconds[name], running[name].result()) for name in fits}
