"""LambdaMART and MART grow the trees of [Burges2010, sections 5 to 7]: the same splits, and the same leaf values."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import swaprank as sr
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.models.forest import Forest
from tests.papers import naive_burges2010_trees as naive

SIZES = (12, 9, 15, 4, 11, 13, 8)
N_LEAVES = [6, 3, 8, 5]


def as_in_the_paper(kind: Any, **changes: Any) -> Any:
    """LambdaMART or MART with the settings of the paper."""
    make: Any = sr.papers.lambdamart2010 if kind is sr.LambdaMART else sr.papers.mart2010
    return make(**{"n_trees": len(N_LEAVES), "n_leaves": N_LEAVES, **changes})


def random_data(seed: int, with_base: bool) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, 6, n)  # many documents on every threshold
    X[:, 3] = np.round(X[:, 0] * 2)  # splits that another feature has, too
    signal = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(size=n)
    labels = np.clip(np.round(signal), 0, 4)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    return sr.Dataset(X, labels, qid=qid, base_score=rng.normal(size=n) / 2 if with_base else None)


def start_of(data: sr.Dataset) -> NDArray[np.float64]:
    return np.zeros(len(data)) if data.base_score is None else np.array(data.base_score)


def documents_of(tree: Forest, X: NDArray[Any]) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """The documents at the left child of every node, and in every leaf."""
    at: dict[int, NDArray[Any]] = {0 if len(tree.feature) else -1: np.arange(len(X))}
    left_sides = []
    for node in range(len(tree.feature)):
        here = at.pop(node)
        goes_left = X[here, tree.feature[node]] <= tree.threshold[node]
        at[int(tree.left[node])], at[int(tree.right[node])] = here[goes_left], here[~goes_left]
        left_sides.append(frozenset(here[goes_left].tolist()))
    return left_sides, [frozenset(at[~leaf].tolist()) for leaf in range(len(tree.leaf_value))]


def check_same(ranker: Any, data: sr.Dataset, expected: naive.Boosted) -> None:
    X = np.asarray(data.features)
    assert ranker.n_trees_ == len(expected.trees)
    for number, (tree, values) in enumerate(zip(expected.trees, expected.values, strict=True)):
        ours = ranker.model_.part(number, number + 1)
        left_sides, leaves = documents_of(ours, X)
        assert ours.feature.tolist() == tree.features, f"tree {number}"
        assert left_sides == tree.left_sides, f"tree {number}"
        assert leaves == tree.leaves
        np.testing.assert_allclose(ours.leaf_value, values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(data), expected.scores, rtol=1e-9, atol=1e-12)


MEASURES: dict[str, naive.Measure | None] = {
    "ndcg@5": lambda labels: naive.ndcg(labels, 5),
    "ndcg": lambda labels: naive.ndcg(labels, len(labels)),
    "err": lambda labels: naive.err(labels, 4.0),
    "ranknet": None,
}


def lambdas(data: sr.Dataset, metric: str, sigma: float) -> Any:
    queries = [np.arange(a, b) for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True)]
    place = np.empty(len(data), np.int64)
    place[seeded_tie_order(data.places, 0)] = np.arange(len(data))
    return naive.lambda_responses(np.asarray(data.labels), queries, place.tolist(), MEASURES[metric], sigma)


@pytest.mark.parametrize("with_base", [False, True], ids=["from_0", "from_a_base_model"])
@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_lambdamart(seed: int, metric: str, with_base: bool) -> None:
    data = random_data(seed, with_base)
    sigma = (1.0, 2.0)[seed % 2]
    if metric == "ranknet":  # section 2: RankNet on boosted trees
        objective = sr.objectives.RankNetObjective(sigma, hessian_floor=0.0)
        default = {"normalize": True, "hessian_floor": 0.01}
        ranker = as_in_the_paper(sr.LambdaMART, objective=objective, learning_rate=0.2, **default)
    else:
        given = {"metric": metric, "horizon": sr.metric(metric).k, "sigma": sigma}
        ranker = as_in_the_paper(sr.LambdaMART, **given, learning_rate=0.2)
    expected = naive.boost(
        data.features.astype(np.float64), start_of(data), lambdas(data, metric, sigma), N_LEAVES, 0.2
    )
    check_same(ranker.fit(data), data, expected)


@pytest.mark.parametrize("with_base", [False, True], ids=["from_0", "from_a_base_model"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "balanced_logistic"])
@pytest.mark.parametrize("seed", range(4))
def test_mart(seed: int, loss: str, with_base: bool) -> None:
    data = random_data(10 + seed, with_base)
    sigma = (1.0, 0.5)[seed % 2] if loss != "squared" else 1.0
    labels = np.asarray(data.labels)
    responses = (
        naive.squared_responses(labels)
        if loss == "squared"
        else naive.logistic_responses(np.where(labels > 0, 1.0, -1.0), sigma, balanced=loss == "balanced_logistic")
    )
    ranker = as_in_the_paper(sr.MART, objective=loss, sigma=sigma, learning_rate=0.3).fit(data)
    check_same(ranker, data, naive.boost(data.features.astype(np.float64), start_of(data), responses, N_LEAVES, 0.3))


@pytest.mark.parametrize("seed", range(4))
def test_newton_splits_are_those_of_the_largest_newton_gain(seed: int) -> None:
    data = random_data(20 + seed, with_base=True)
    settings = {"metric": "ndcg@5", "horizon": 5, "learning_rate": 0.2, "split": "newton"}
    expected = naive.boost(
        data.features.astype(np.float64),
        start_of(data),
        lambdas(data, "ndcg@5", 1.0),
        N_LEAVES,
        0.2,
        newton_splits=True,
    )
    ranker = as_in_the_paper(sr.LambdaMART, **settings).fit(data)
    check_same(ranker, data, expected)
    other = as_in_the_paper(sr.LambdaMART, **settings | {"split": "least_squares"}).fit(data)
    assert not np.array_equal(other.predict(data), ranker.predict(data))
