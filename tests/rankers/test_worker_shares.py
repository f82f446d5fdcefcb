"""The same model, byte for byte, from one process or from several workers with any split of the queries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.collective import Collective
from swaprank.data import cuts
from swaprank.rankers.training import TrainableRanker
from tests.workers import run_workers

pytestmark = pytest.mark.slow


def some_data(n_queries: int, seed: int, order: Any = slice(None)) -> sr.Dataset:
    """Missing values, categories, weights; the queries in any order."""
    (data,) = sr.datasets.random_search((n_queries,), n_documents=30, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.array(data.features)
    X[rng.random(X.shape) < 0.1] = np.nan
    X = np.column_stack((X, rng.zipf(1.3, len(X)) % 120, rng.integers(0, 5, len(X))))
    rows = np.arange(len(X)).reshape(-1, 30)[order].ravel()
    return sr.Dataset(
        X[rows],
        data.labels[rows],
        qid=[f"q{row // 30}" for row in rows],
        sample_weight=rng.random(len(X))[rows],
        feature_names=[*data.feature_names, "shop", "color"],
        categorical_features=["shop", "color"],
    )


TRAIN, VALI = some_data(90, 0), some_data(40, 1)


def gain(labels: Any) -> float:
    total = 0.0
    for rank in range(len(labels)):
        total += labels[rank] / (rank + 2.0) ** 2
    return total


RANKERS: dict[str, Callable[[], TrainableRanker]] = {
    "ndcg@10": lambda: sr.LambdaMART("ndcg@10", n_trees=6, n_leaves=9),
    "map": lambda: sr.LambdaMART("map", n_trees=6, n_leaves=9, max_bins=30, min_docs_in_leaf=60),
    "sampled": lambda: sr.LambdaMART(
        "ndcg", n_trees=6, n_leaves=9, document_fraction=0.4, query_fraction=0.7, feature_fraction=0.6, random_state=3
    ),
    "monotone": lambda: sr.LambdaMART(
        "err", n_trees=5, n_leaves=9, monotone_constraints={"match": 1}, min_docs_in_leaf=40, score_noise=0.0
    ),
    "own metric": lambda: sr.LambdaMART(sr.metrics.CustomMetric(evaluate=gain, name="gain"), n_trees=3, n_leaves=7),
    "least squares": lambda: sr.LambdaMART(
        "ndcg@10",
        n_trees=6,
        n_leaves=(9, 4, 12),
        split="least_squares",
        hessian_floor=0.0,
        document_fraction=0.5,
        monotone_constraints={"match": 1},
    ),
    "MART": lambda: sr.MART(objective="squared", n_trees=6, n_leaves=9),
    "balanced": lambda: sr.MART(objective="balanced_logistic", n_trees=4, n_leaves=9, early_stopping_rounds=2),
    "forest": lambda: sr.baselines.RandomForest(n_trees=4, n_leaves=20),
}


def saved(ranker: TrainableRanker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def split(data: sr.Dataset, size: int, seed: int) -> list[sr.Dataset]:
    owner = np.random.default_rng(seed).permutation(data.n_queries) % size
    if size > 2:
        owner[owner == 2] = 0
        owner[0] = 2  # one worker has a single query
    return [data.subset(owner == rank) for rank in range(size)]


def trained(name: str, size: int, seed: int = 0, n_threads: int = 1, **more: Any) -> list[TrainableRanker]:
    train, vali = split(TRAIN, size, seed), split(VALI, size, seed + 1)

    def work(collective: Collective) -> TrainableRanker:
        ranker = RANKERS[name]().set_params(n_threads=n_threads)
        own = {} if collective.rank else more
        return ranker.fit_shard(train[collective.rank], {"valid": vali[collective.rank]}, collective, **own)

    return run_workers(work, size)


@pytest.mark.parametrize("name", RANKERS)
def test_any_number_of_workers_trains_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 500)
    alone = saved(RANKERS[name]().set_params(n_threads=2).fit(TRAIN, valid=VALI), tmp_path)
    for size in (2, 3, 4):
        rankers = trained(name, size, seed=size, n_threads=1 + size % 2)
        assert [saved(ranker, tmp_path) == alone for ranker in rankers] == [True] * size


def test_threads_of_workers_grow_the_same_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.trees.boosting._VALUES_TO_SHARE", 0)
    alone = saved(RANKERS["map"]().fit(TRAIN, valid=VALI), tmp_path)
    for n_threads in (2, 3):
        assert {saved(ranker, tmp_path) for ranker in trained("map", 2, n_threads=n_threads)} == {alone}


@pytest.mark.parametrize(
    "options",
    [
        {"n_trees": 6, "grow_policy": "symmetric", "min_docs_in_leaf": 30, "document_fraction": 0.5},
        {"n_trees": 50, "learning_rate": 0.3},
    ],
    ids=["symmetric", "tried"],
)
def test_symmetric_trees_and_their_trial_do_not_depend_on_workers(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swaprank.trees.boosting._VALUES_TO_SHARE", 0)
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 500)
    numbers = TRAIN.with_features([name for name in TRAIN.feature_names if name not in TRAIN.categories])
    alone = saved(sr.LambdaMART(n_leaves=13, n_threads=1, **options).fit(numbers), tmp_path)
    for size in (2, 3):
        parts = split(numbers, size, size)

        def work(collective: Collective, parts: list[sr.Dataset] = parts) -> TrainableRanker:
            return sr.LambdaMART(n_leaves=13, n_threads=2, **options).fit_shard(parts[collective.rank], {}, collective)

        assert {saved(ranker.set_params(n_threads=1), tmp_path) for ranker in run_workers(work, size)} == {alone}


def test_the_order_of_queries_does_not_matter(tmp_path: Path) -> None:
    other = some_data(90, 0, np.random.default_rng(5).permutation(90))
    for name in ("ndcg@10", "sampled"):
        fitted = [RANKERS[name]().fit(data, valid=VALI) for data in (TRAIN, other)]
        assert saved(fitted[0], tmp_path) == saved(fitted[1], tmp_path)


def test_a_callback_of_the_first_worker_stops_all() -> None:
    seen: list[int] = []

    def stop(progress: sr.rankers.Progress) -> bool:
        seen.append(progress.round)
        return progress.round == 3

    rankers = trained("MART", 3, callbacks=[stop])
    assert seen == [1, 2, 3]
    assert [ranker.n_rounds_ for ranker in rankers] == [3, 3, 3]


def test_a_random_seed_is_drawn_once() -> None:
    def work(collective: Collective) -> int:
        ranker = sr.MART(n_trees=1, random_state=None)
        return ranker.fit_shard(TRAIN.subset([collective.rank, 7]), {}, collective).random_state_

    assert len(set(run_workers(work, 3))) == 1


def test_a_sum_that_fails_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Collective):
        rank, size, n_left = 0, 2, 30

        def add(self, values: Any) -> None:
            self.n_left -= 1
            if self.n_left < 0:
                raise sr.errors.SwaprankError("worker 1 is gone")

    for n_threads in (1, 2):
        monkeypatch.setattr("swaprank.trees.boosting._VALUES_TO_SHARE", 0)
        with pytest.raises(sr.errors.SwaprankError, match="worker 1 is gone"):
            RANKERS["MART"]().set_params(n_threads=n_threads).fit_shard(TRAIN, {}, Failing())


def test_what_cannot_be_trained_together_says_so() -> None:
    class Two(Collective):
        rank, size = 0, 2

        def add(self, values: Any) -> None:
            return

    with pytest.raises(sr.errors.ParameterError, match="RankNet has no training on a cluster"):
        sr.RankNet().fit_shard(TRAIN.with_features(["match"]), {}, Two())
    with pytest.raises(sr.errors.ParameterError, match="cannot be trained on a cluster"):
        sr.LambdaMART("ndcg@5", objective="smooth", n_trees=2).fit_shard(TRAIN, {}, Two())
