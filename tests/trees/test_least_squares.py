"""Least-squares splits with weights, missing values, samples, regularization and nothing to learn.

tests/papers/ compares whole trainings with plain ones.
"""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.models.forest import Forest
from swaprank.trees.boosting import Booster
from tests.trees.test_growing import Fixed, grown, naive_best, random_problem, rules


@pytest.mark.parametrize("min_docs", [1, 40])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_split_counts_documents_and_not_hessians(seed: int, min_docs: int) -> None:
    X, grad, hess = random_problem(seed)
    gain, feature, cut, missing_left = naive_best(X, grad, np.ones(len(X)), min_docs, l2=0.0)
    tree = grown(X, grad, 100 * hess, n_leaves=2, min_docs_in_leaf=min_docs, split="least_squares")  # type: ignore[arg-type]
    assert (tree.feature[0], tree.missing_left[0]) == (feature, missing_left)
    assert tree.threshold[0] == np.float32(cut)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-5)
    left = np.where(np.isnan(X[:, feature]), missing_left, X[:, feature] <= cut)
    assert tree.leaf_value[0] == pytest.approx(-grad[left].sum() / (100 * hess[left]).sum(), rel=1e-12)


def split_once(data: sr.Dataset, grad: Any, hess: Any, **changes: Any) -> Forest:
    booster = Booster(data, np.zeros(len(data)), rules(**{"split": "least_squares", "n_leaves": 2, **changes}), 0, 1)
    return booster.add_tree(Fixed(grad, hess), 1, 1.0).forest


def test_a_weight_counts_as_so_many_documents() -> None:
    rng = np.random.default_rng(0)
    X, y, weight = rng.integers(0, 9, (60, 3)), rng.normal(size=60), rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = sr.Dataset(X, np.zeros(60), qid=np.zeros(60), sample_weight=weight)
    repeated = sr.Dataset(X[rows], np.zeros(len(rows)), qid=np.zeros(len(rows)))
    one = split_once(weighted, weight * y, weight.astype(float))
    other = split_once(repeated, y[rows], np.ones(len(rows)))
    assert (one.feature[0], one.threshold[0]) == (other.feature[0], other.threshold[0])
    assert one.gain[0] == pytest.approx(other.gain[0], rel=1e-5)


def test_regularization_is_converted_to_documents() -> None:
    """A smoothing of 5 documents, or an l2 of 5 mean hessians: 5 is added to the count of each side."""
    X, grad, hess = random_problem(3)
    data = sr.Dataset(X, np.zeros(len(X)), qid=np.zeros(len(X)))
    gain, *_ = naive_best(X, grad, np.ones(len(X)), 1, l2=5.0)
    for changes in ({"leaf_smoothing": 5.0}, {"l2": 5.0 * float(hess.mean())}):
        assert split_once(data, grad, hess, **changes).gain[0] == pytest.approx(gain, rel=1e-5)


def test_a_sample_finds_the_same_strong_split() -> None:
    rng = np.random.default_rng(1)
    X, hess = rng.normal(size=(4000, 3)), rng.random(4000)
    grad = np.where(X[:, 1] > 0.5, 1.0, -0.5) + rng.normal(size=4000) / 2
    data = sr.Dataset(X, np.zeros(4000), qid=np.arange(4000) // 10)
    tree = split_once(data, grad, hess, document_fraction=0.3)
    assert tree.feature[0] == 1
    assert tree.threshold[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("split", ["newton", "least_squares"])
@pytest.mark.parametrize("hess", [0.0, 1.0])
def test_without_gradients_there_are_no_splits(split: str, hess: float) -> None:
    data = sr.Dataset(np.arange(20.0)[:, None], np.zeros(20), qid=np.arange(20) // 5)
    assert split_once(data, np.zeros(20), np.full(20, hess), split=split).leaf_value.tolist() == [0.0]


def test_a_leaf_without_hessian_has_the_value_0() -> None:
    X = np.arange(8.0)[:, None]
    data = sr.Dataset(X, np.zeros(8), qid=np.zeros(8))
    tree = split_once(data, np.where(X[:, 0] > 3, 1.0, -1.0), np.where(X[:, 0] > 3, 2.0, 0.0))
    assert tree.leaf_value.tolist() == [0.0, -0.5]


def test_no_other_split() -> None:
    data = sr.Dataset(np.arange(8.0)[:, None], np.zeros(8), qid=np.zeros(8))
    with pytest.raises(sr.errors.ParameterError, match="there is no split 'gini'; known are least_squares, newton"):
        sr.MART(split="gini").fit(data)  # type: ignore[arg-type]
