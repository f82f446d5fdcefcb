"""The same model, byte for byte, from values, from bins and from a file of bins; and the scores of binned data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.data import cuts

pytestmark = pytest.mark.slow

N_ROWS = 1200
N_FEATURES = 18


def data_set(seed: int, first_query: int = 0, *, weights: bool = False) -> sr.Dataset:
    """Numbers with missing values, few values, a constant, and categories: few, and more than a byte has."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    X[:, 2] = rng.integers(0, 5, N_ROWS)
    X[:, 4] = 1
    X[rng.random(X.shape) < 0.04] = np.nan
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(N_FEATURES)])
    shop = rng.integers(0, 400, N_ROWS)
    frame["brand"] = np.array(["nike", "puma", "asics", None, "fila"], dtype=object)[shop % 5]
    frame["shop"] = [f"shop {each}" for each in shop]
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) / 2 + (shop % 5 == 1) - np.isnan(X[:, 1]) + shop / 200
    labels = np.digitize(signal + rng.normal(size=N_ROWS), [0, 2, 3.5])
    qid = first_query + np.arange(N_ROWS) // 15
    return sr.Dataset(frame, labels, qid=qid, sample_weight=rng.random(N_ROWS) if weights else None)


TRAIN, VALI = data_set(0, weights=True), data_set(1, 1000)


class Blocks:
    """A data set in blocks that end within queries."""

    def __init__(self, data: sr.Dataset, size: int) -> None:
        self.data, self.size = data, size

    def __iter__(self) -> Iterator[sr.Dataset]:
        qid = np.repeat(self.data.qids, np.diff(self.data.indptr))
        names = self.data.feature_names
        for start in range(0, len(self.data), self.size):
            rows = slice(start, start + self.size)
            columns: dict[str, Any] = {name: self.data.column(name)[rows] for name in names}
            for name, texts in self.data.categories.items():
                columns[name] = [None if np.isnan(code) else texts[int(code)] for code in columns[name]]
            weights = self.data.sample_weight
            yield sr.Dataset(
                pd.DataFrame(columns),
                self.data.labels[rows],
                qid=qid[rows],
                sample_weight=None if weights is None else weights[rows],
            )


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 500)


def model_bytes(ranker: sr.Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def own_metric() -> sr.metrics.Metric:
    return sr.metrics.CumulativeMetric(
        gain=lambda label: label * label, discount=lambda rank: 1.0 / rank, k=5, name="gains"
    )


RANKERS: dict[str, Any] = {
    "ndcg@10": lambda: sr.LambdaMART(metric="ndcg@10", n_trees=8, n_leaves=12),
    "map": lambda: sr.LambdaMART(metric="map", n_trees=6, n_leaves=12, feature_fraction=0.7, document_fraction=0.6),
    "own metric": lambda: sr.LambdaMART(metric=own_metric(), n_trees=5, n_leaves=8),
    "mart": lambda: sr.MART(n_trees=6, n_leaves=12),
    "random forest": lambda: sr.baselines.RandomForest(n_trees=4),
    "few bins": lambda: sr.LambdaMART(n_trees=5, n_leaves=8, max_bins=20),
}


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("name", list(RANKERS))
def test_the_model_is_the_same_from_values_bins_blocks_and_files(name: str, tmp_path: Path) -> None:
    make = RANKERS[name]
    max_bins = make().max_bins
    expected = make().fit(TRAIN, valid=VALI)
    content = model_bytes(expected, tmp_path)
    binned = TRAIN.binned(max_bins=max_bins)
    vali = VALI.binned(like=binned)
    assert model_bytes(make().fit(binned, valid=vali), tmp_path) == content
    blocks = sr.data.bin_blocks(Blocks(TRAIN, 77), max_bins=max_bins, path=tmp_path / "train.bins")
    vali = sr.data.bin_blocks(Blocks(VALI, 500), like=blocks)
    ranker = make().fit(blocks, valid=vali)
    assert model_bytes(ranker, tmp_path) == content
    assert model_bytes(make().fit(sr.read(tmp_path / "train.bins"), valid=VALI), tmp_path) == content
    np.testing.assert_array_equal(ranker.predict(vali), expected.predict(VALI))
    np.testing.assert_array_equal(ranker.predict_stage(vali, 2), expected.predict_stage(VALI, 2))
    assert ranker.score(vali) == expected.score(VALI)


def test_contributions_of_bins_are_those_of_values() -> None:
    numbers, vali = (data.with_features([f"f{k}" for k in range(N_FEATURES)]) for data in (TRAIN, VALI))
    binned = numbers.binned()
    ranker = sr.LambdaMART(n_trees=5, n_leaves=8).fit(binned)
    np.testing.assert_array_equal(ranker.contributions(vali.binned(like=binned)), ranker.contributions(vali))


def test_rows_of_queries_may_be_scattered_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(300, 3)), rng.integers(0, 3, 300), rng.integers(0, 20, 300)
    data = sr.Dataset(X, y, qid=qid)
    assert data.order is not None
    binned = data.binned()
    binned.save_bins(tmp_path / "scattered.bins")
    content = model_bytes(sr.MART(n_trees=3).fit(data), tmp_path)
    for each in (binned, sr.read(tmp_path / "scattered.bins")):
        ranker = sr.MART(n_trees=3).fit(each)
        assert model_bytes(ranker, tmp_path) == content
        np.testing.assert_array_equal(ranker.predict(each), ranker.predict(data))


def test_training_goes_on_from_a_base_ranker(tmp_path: Path) -> None:
    binned = TRAIN.binned()
    base = sr.LambdaMART(n_trees=3, n_leaves=8).fit(TRAIN)
    on = sr.LambdaMART(n_trees=3, n_leaves=8).fit(TRAIN, base_ranker=base, valid=VALI)
    again = sr.LambdaMART(n_trees=3, n_leaves=8).fit(binned, base_ranker=base, valid=VALI.binned(like=binned))
    assert model_bytes(on, tmp_path) == model_bytes(again, tmp_path)
    other = sr.LambdaMART(n_trees=3, n_leaves=8).fit(VALI)
    with pytest.raises(sr.errors.DataError, match="binned with other cuts"):
        sr.LambdaMART(n_trees=3).fit(binned.with_features(binned.feature_names), base_ranker=other)


def test_early_stopping_goes_by_binned_validation_data() -> None:
    binned = TRAIN.binned()
    options: dict[str, Any] = {"n_trees": 40, "learning_rate": 0.5, "early_stopping_rounds": 3}
    a = sr.LambdaMART(**options).fit(TRAIN, valid=VALI)
    b = sr.LambdaMART(**options).fit(binned, valid=VALI.binned(like=binned))
    assert a.n_rounds_ < 40
    assert (a.n_rounds_, a.best_round_, a.history_) == (b.n_rounds_, b.best_round_, b.history_)


def test_other_cuts_and_other_bins_are_refused() -> None:
    binned = TRAIN.binned()
    with pytest.raises(sr.errors.DataError, match="the set 'valid' was binned with other cuts than the training data"):
        sr.LambdaMART(n_trees=2).fit(binned, valid=VALI.binned())
    with pytest.raises(
        sr.errors.DataError, match="binned with max_bins=255, but the ranker has max_bins=64: set max_bins=255"
    ):
        sr.LambdaMART(n_trees=2, max_bins=64).fit(binned)
    ranker = sr.LambdaMART(n_trees=2).fit(TRAIN)
    with pytest.raises(sr.errors.DataError, match=r"the threshold .* of feature 'f\d+' is none of them"):
        ranker.predict(VALI.binned())
    with pytest.raises(sr.errors.DataError, match="bin the data again with features"):
        ranker.predict(TRAIN.with_features(["f1", "f0"]).binned().with_features(["f0", "f1"]))


def test_what_needs_values_says_so() -> None:
    numbers = TRAIN.with_features([f"f{k}" for k in range(N_FEATURES) if k != 4])
    filled = sr.Dataset(np.nan_to_num(numbers.features), numbers.labels, qid=np.arange(N_ROWS) // 15)
    binned, message = filled.binned(), "the data set has bins, not values"
    linear = sr.LinearRegressionRanker().fit(filled)
    for refused in (
        lambda: sr.RankNet(n_epochs=1).fit(binned),
        lambda: sr.LinearRegressionRanker().fit(binned),
        lambda: sr.SmoothRank(max_iterations=1).fit(binned),
        lambda: linear.predict(binned),
        lambda: sr.certify(linear, binned, "ndcg@10"),
        lambda: binned.column(0),
        lambda: binned.features,
        lambda: sr.MART(n_trees=2).fit(filled).permutation_importances(binned),
    ):
        with pytest.raises(sr.errors.DataError, match=message):
            refused()


def test_leaf_values_are_refitted_to_bins() -> None:
    ranker = sr.LambdaMART(n_trees=3).fit(TRAIN)
    other = TRAIN.replace(labels=TRAIN.labels[::-1])
    values, bins = (ranker.refit(data, decay_rate=0.5).model_.leaf_value for data in (other, other.binned()))
    np.testing.assert_array_equal(values, bins)
    assert (values != ranker.model_.leaf_value).any()


def test_categories_of_bins_cannot_become_numbers() -> None:
    binned, plain = TRAIN.binned(), TRAIN.with_features(["f0", "f1"])
    names = list(TRAIN.feature_names)
    numbers = sr.Dataset(np.zeros((4, 20)), [0, 1, 0, 1], qid=[1, 1, 2, 2], feature_names=names)
    ranker = sr.MART(n_trees=1).fit(numbers)
    with pytest.raises(sr.errors.DataError, match="holds categories such as 'asics', but for MART it is a number"):
        ranker.predict(binned)
    table = pd.DataFrame({"f0": ["a", "b"], "f1": [1, 2]})
    ranker = sr.MART(n_trees=1, min_docs_in_leaf=1).fit(sr.Dataset(table, [0, 1], qid=[1, 1]))
    with pytest.raises(sr.errors.DataError, match="'f0' was binned as a number, but for MART it is categorical"):
        ranker.predict(plain.binned())
