"""Sums of objectives of different labels, and labels drawn at random."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.errors import DataError, ParameterError
from swaprank.objectives import Goal, LambdaRankObjective, Objective, RankNetObjective, WeightedSum, stochastic_labels
from swaprank.objectives.goals import parse_goals
from swaprank.objectives.query_gradients import query_gradients

LINEAR = sr.metric("ndcg@5(gain=linear, empty=skip)")
RANKNET = RankNetObjective(hessian_floor=0.0)


def make_data(n_queries: int = 6, seed: int = 0) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    n = n_queries * 7
    X = np.column_stack([rng.normal(size=n), 100 * rng.random(n), rng.integers(0, 3, n)])
    qid = rng.permutation(np.repeat(np.arange(n_queries), 7))
    return sr.Dataset(X, rng.integers(0, 4, n), qid=qid, feature_names=["bm25", "revenue", "fresh"])


def gradients(objective: Objective, data: sr.Dataset, scores: np.ndarray, n_threads: int = 1) -> np.ndarray:
    grad, hess = np.empty(len(data)), np.empty(len(data))
    objective.bind(data, random_state=0, n_threads=n_threads).update(scores, grad, hess)
    return np.array([grad, hess])


@pytest.mark.parametrize("objective", [RANKNET, LambdaRankObjective(sr.metric("ndcg@3(gain=linear)"))])
def test_is_the_weighted_sum_of_the_single_ones(objective: Objective) -> None:
    data, scores = make_data(), np.random.default_rng(1).normal(size=42)
    total = WeightedSum([objective] * 3, [0.5, 2.0, 0.25], [None, "revenue", "fresh"], balanced=False)
    parts = [data, *(data.replace(labels=data.column(name)) for name in ("revenue", "fresh"))]
    expected = sum(
        weight * gradients(objective, each, scores) for weight, each in zip([0.5, 2.0, 0.25], parts, strict=True)
    )
    np.testing.assert_allclose(gradients(total, data, scores), expected, rtol=1e-12, atol=1e-15)


def test_gradient_equals_numeric_differences_of_the_summed_costs() -> None:
    data, scores = make_data(2), np.random.default_rng(1).normal(size=14)
    labels = [data.by_query(data.labels), data.by_query(data.column("revenue").astype(float))]

    def cost(s: np.ndarray) -> float:
        total = 0.0
        for weight, y in zip((1.0, 0.3), labels, strict=True):
            for start, stop in zip(data.indptr[:-1], data.indptr[1:], strict=True):
                for i in range(start, stop):
                    for j in range(start, stop):
                        total += weight * np.log1p(np.exp(s[j] - s[i])) if y[i] > y[j] else 0.0
        return total

    found = gradients(WeightedSum([RANKNET] * 2, [1.0, 0.3], [None, "revenue"], balanced=False), data, scores)[0]
    steps = 1e-5 * np.eye(len(scores))
    numeric = [(cost(scores + step) - cost(scores - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-8)


def test_balanced_weights_do_not_depend_on_the_unit_of_labels() -> None:
    data, scores = make_data(), np.random.default_rng(1).normal(size=42)
    cents = data.replace(features=data.features * np.array([1, 64, 1], np.float32))
    dcg = LambdaRankObjective(sr.metric("dcg@3(gain=linear)"), normalize=False)
    both = WeightedSum([LambdaRankObjective(sr.metric("ndcg")), dcg], [1.0, 0.5], [None, "revenue"])
    np.testing.assert_allclose(gradients(both, data, scores), gradients(both, cents, scores), rtol=1e-12)


def test_a_weight_of_zero_leaves_the_objective_out() -> None:
    data, scores = make_data(), np.random.default_rng(1).normal(size=42)
    alone = gradients(RANKNET, data, scores)
    both = [RANKNET, LambdaRankObjective(sr.metric("ndcg"))]
    np.testing.assert_array_equal(gradients(WeightedSum(both, [1, 0], [None, "revenue"]), data, scores), alone)
    np.testing.assert_array_equal(gradients(WeightedSum(both[::-1], [0, 7], ["fresh", None]), data, scores), alone)


def test_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    data = sr.Dataset(rng.random((9000, 2)), rng.integers(0, 3, 9000), group=[3000] * 3, feature_names=["a", "b"])
    total, scores = WeightedSum([RANKNET] * 2, [1, 2], [None, "b"]), rng.normal(size=9000)
    np.testing.assert_array_equal(gradients(total, data, scores, 1), gradients(total, data, scores, 3))


def test_the_kernel_of_nets_is_the_same_sum() -> None:
    data, scores = make_data(), np.random.default_rng(1).normal(size=42)
    total = WeightedSum([RANKNET] * 2, [2.0, 0.5], [None, "revenue"])
    bound, found = total.bind(data, random_state=0, n_threads=1), np.empty((2, 42))
    query_gradients(bound.kernel_arrays(), bound.indptr, scores, 0, data.n_queries, *found)
    np.testing.assert_allclose(found, gradients(total, data, scores), rtol=1e-12, atol=1e-15)


@pytest.mark.slow
def test_trains_a_net() -> None:
    data = make_data(20)
    objective = WeightedSum([RankNetObjective()] * 2, [1.0, 5.0], [None, "revenue"])
    ranker = sr.LambdaRank(objective=objective, n_epochs=20, random_state=0).fit(data)
    revenue = data.replace(labels=data.column("revenue"))
    assert sr.evaluate(revenue, ranker.predict(data), "pairwise").results[0].mean > 0.9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@5", Goal(sr.metric("ndcg@5"))),
        ("0.3 ndcg@5(gain=linear, empty=skip) of net margin", Goal(LINEAR, "net margin", 0.3)),
        ("2 * map of b", Goal(sr.metric("map"), "b", 2.0)),
        ("dcg@5(gain=linear) of price>=1e1", Goal(sr.metric("dcg@5(gain=linear)"), "price", at_least=10.0)),
        ("map >= 99.5% of bm25", Goal(sr.metric("map"), None, at_least=0.995, reference="bm25")),
    ],
)  # fmt: skip
def test_goals_from_text(text: str, expected: Goal) -> None:
    assert Goal.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a goal"),
        ("0.3 map >= 2", "one of them"),
        ("1.2.3 map of b", "not a number"),
        ("map of b; map of b >= 0.5", "two goals"),
        (7, "a text or a list of texts"),
        ([7], "is not a goal"),
    ],
)
def test_errors_of_goals(text: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_goals(text or [text])


def test_errors_of_columns() -> None:
    data = make_data()
    with pytest.raises(DataError, match=r"needs 'revenues', which is no side column .* did you mean 'revenue'"):
        Goal.parse("map of revenues").bind(data)


def test_stochastic_labels_are_of_one_column_in_each_query() -> None:
    data = make_data(400)
    drawn = stochastic_labels(data, {"revenue": 0.5, "fresh": 0.2}, random_state=3)
    columns: dict[str, Any] = {"label": data.labels, "revenue": data.column("revenue"), "fresh": data.column("fresh")}
    counts = dict.fromkeys(columns, 0)
    for query in range(data.n_queries):
        rows = data.rows(query)
        same = [name for name, values in columns.items() if (values[rows] == drawn.labels[rows]).all()]
        assert len(same) == 1
        counts[same[0]] += 1
    assert abs(counts["revenue"] - 200) < 40
    assert abs(counts["fresh"] - 80) < 32
    some = data.subset(slice(100, 200))
    again = stochastic_labels(some, {"revenue": 0.5, "fresh": 0.2}, random_state=3)
    np.testing.assert_array_equal(again.labels, drawn.subset(slice(100, 200)).labels)
    with pytest.raises(ParameterError, match="at most 1"):
        stochastic_labels(data, {"revenue": 0.9, "fresh": 0.2})
