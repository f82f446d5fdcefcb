"""KernelRankNet as a ranker; tests/papers/test_burges2005_kernel.py compares it with the equations."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import swaprank as sr
from swaprank.data.pairs import pairs_of_labels

TRAIN, VALI, TEST = sr.datasets.random_polynomial((12, 10, 10), n_features=4, n_documents=15, random_state=0)


def test_the_regularization_is_chosen_on_the_watched_set() -> None:
    ranker = sr.baselines.KernelRankNet(kernel="polynomial", degree=3, gamma=1.0).fit(TRAIN, valid=VALI)
    values = ranker.history_["valid"]["ndcg@10"]
    assert len(values) == len(ranker.auto) == ranker.n_rounds_
    assert ranker.regularization_ == ranker.auto[int(np.argmax(values))]
    assert ranker.score(VALI) == pytest.approx(max(values))
    linear = sr.baselines.RankSVM().fit(TRAIN, valid=VALI)
    assert ranker.score(TEST) > linear.score(TEST) + 0.02


def test_models_are_the_same_for_any_number_of_threads_and_in_files(tmp_path: Path) -> None:
    one, two = (sr.baselines.KernelRankNet(regularization=0.003, n_threads=n).fit(TRAIN).predict(TEST) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    ranker = clone(sr.baselines.KernelRankNet(regularization=0.003, n_landmarks=20)).fit(TRAIN)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(ranker.predict(TEST), again.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert len(ranker.model_.for_export().landmarks) == 20


def test_scattered_rows_learn_as_grouped_ones() -> None:
    order = np.random.default_rng(0).permutation(len(TRAIN))
    qid = np.repeat(np.arange(12), 15)
    scattered = sr.Dataset(TRAIN.features[order], TRAIN.labels[order], qid=qid[order])
    ranker = sr.baselines.KernelRankNet(regularization=0.01, n_landmarks=10**4)
    first = ranker.fit(TRAIN).predict(TEST)
    np.testing.assert_allclose(ranker.fit(scattered).predict(TEST), first, atol=1e-5)


def test_a_query_of_weight_two_counts_as_the_same_query_twice() -> None:
    weights = np.where(np.arange(12) < 6, 2.0, 1.0)
    weighed = sr.Dataset(TRAIN.features, TRAIN.labels, qid=np.repeat(np.arange(12), 15), query_weight=weights)
    twice = [*range(180), *range(90)]
    qid = [*np.repeat(np.arange(12), 15), *np.repeat(np.arange(12, 18), 15)]
    repeated = sr.Dataset(TRAIN.features[twice], TRAIN.labels[twice], qid=qid)
    options: dict[str, Any] = {"regularization": 0.003, "standardize": False, "gamma": 0.25, "n_landmarks": 10**4}
    first, second = (sr.baselines.KernelRankNet(**options).fit(data).predict(TEST) for data in (weighed, repeated))
    np.testing.assert_allclose(first - first.mean(), second - second.mean(), atol=1e-4)


def test_what_it_does_not_take() -> None:
    with pytest.raises(sr.errors.ParameterError, match="regularization must be above 0"):
        sr.baselines.KernelRankNet(regularization=0).fit(TRAIN)
    base = sr.baselines.RankSVM(regularization=1.0).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match="a kernel machine takes no base ranker"):
        sr.baselines.KernelRankNet().fit(TRAIN, base_ranker=base)
    alike = sr.Dataset([[1], [2]], [1, 1], qid=[1, 1])
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.baselines.KernelRankNet(regularization=0.1).fit(alike)


def test_pairs_of_labels_are_those_of_a_comparison_of_all_documents() -> None:
    rng = np.random.default_rng(0)
    indptr = np.concatenate(([0], np.cumsum(rng.integers(1, 12, 20))))
    labels = rng.integers(0, 4, indptr[-1]).astype(float)
    found = pairs_of_labels(labels, indptr)
    for query, (a, b) in enumerate(pairwise(indptr.tolist())):
        own = slice(found.indptr[query], found.indptr[query + 1])
        above, below = np.nonzero(labels[a:b, None] > labels[a:b])
        np.testing.assert_array_equal(found.above[own], above + a)
        np.testing.assert_array_equal(found.below[own], below + a)
    # One relevant document in a long list makes few pairs; a comparison of all with all would take 40 GB.
    many = pairs_of_labels(np.eye(1, 200_000)[0], np.array([0, 200_000]))
    assert len(many.above) == 199_999
