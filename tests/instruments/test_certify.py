"""Moved parameters give the same scores as models with those parameters; certificates state the right result."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import swaprank as sr
from swaprank.instruments.certify import count_directions, random_direction
from swaprank.models.perturbation import Perturbation
from swaprank.rankers.ranker import Ranker

pytestmark = pytest.mark.slow


def mixed_up() -> sr.Dataset:
    """Shuffled rows, features on different scales, missing values, base scores."""
    (data,) = sr.datasets.random_net((30,), n_features=4, n_documents=12, random_state=0)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data))
    X = data.features * np.array([1, 100, 0.01, 1], np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    base = rng.normal(size=len(data))
    return sr.Dataset(X[order], data.labels[order], qid=np.repeat(np.arange(30), 12)[order], base_score=base)


RANKERS: dict[str, Ranker] = {
    "linear net": sr.LambdaRank("ndcg", hidden=(), n_epochs=3),
    "net": sr.LambdaRank("ndcg", hidden=(5,), n_epochs=3, log_features=(1,)),
    "deep net": sr.RankNet(hidden=(4, 3), activation="relu", n_epochs=3),
    "regression": sr.LinearRegressionRanker(regularization=0.1),
    "smooth": sr.SmoothRank("ndcg", regularization=0.1, annealing=(1.0,), max_iterations=5),
    "kernel": sr.SmoothRank(
        "ndcg", regularization=0.1, annealing=(1.0,), max_iterations=5, features="kernel_pca", n_landmarks=10
    ),
    "smooth net": sr.SmoothRank("ndcg", regularization=0.1, annealing=(1.0,), max_iterations=5, hidden=(3,)),
    "forest": sr.LambdaMART("ndcg", n_trees=4, n_leaves=5, min_docs_in_leaf=3),
}


def perturbed(ranker: Ranker, data: sr.Dataset) -> Perturbation:
    rows = np.arange(len(data)) if data.order is None else np.array(data.order)
    return ranker.model_.perturb(data.features, rows, base_of(data))


def base_of(data: sr.Dataset) -> np.ndarray:
    assert data.base_score is not None
    return np.array(data.by_query(data.base_score))


def one_chunk(directions: Sequence[Sequence[float]]) -> list[tuple[int, np.ndarray]]:
    return [(0, np.array(directions))]


@pytest.mark.parametrize("name", RANKERS)
def test_scores_along_a_direction_are_those_of_the_moved_ranker(name: str) -> None:
    data = mixed_up()
    parameters = perturbed(RANKERS[name].fit(data), data)
    steps = (0.001, 0.5)
    directions = [random_direction(parameters.n_parameters, (0, 0, at)).tolist() for at in range(2)]
    seen = set()
    for direction, step, scores in parameters.scores_along(24, 60, iter(one_chunk(directions)), steps):
        moved = parameters.moved(steps[step] * np.array(directions[direction]))
        expected = (data.by_query(moved.score(data.features)) + base_of(data))[24:60]
        # The means of features move all scores alike.
        assert_allclose(scores - scores.mean(), expected - expected.mean(), rtol=1e-4, atol=1e-4)
        seen.add((direction, step))
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("hidden", [(3,), (3, 2)])
def test_a_weight_alone_gives_the_scores_of_all_its_products(hidden: tuple[int, ...]) -> None:
    """A direction of one weight or bias is computed without the products of all inputs, to the same bits."""
    data = mixed_up()
    parameters = perturbed(sr.LambdaRank("ndcg", hidden=hidden, n_epochs=2).fit(data), data)
    n = parameters.n_parameters
    for weight in range(n):
        alone, with_zero = np.eye(n)[weight], np.eye(n)[weight]
        # A second weight that changes nothing in single precision makes the direction one of many weights.
        with_zero[weight - 1 if weight else 1] = 1e-40
        found, expected = (
            next(iter(parameters.scores_along(0, 40, iter(one_chunk([way])), (0.5,))))[2] for way in (alone, with_zero)
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["regression", "net", "forest"])
def test_curves_are_the_metrics_of_moved_rankers(name: str) -> None:
    data = mixed_up()
    ranker = RANKERS[name].fit(data)
    found = sr.certify(ranker, data, "ndcg@5", epsilon=0.5, steps=(0.3, 2.0), n_weights=2)
    assert found.n_directions == 7
    assert found.value == pytest.approx(ranker.set_params(metric="ndcg@5").score(data))
    parameters = perturbed(ranker, data)
    bound = sr.metric("ndcg@5").bind(data.by_query(data.labels), data.indptr)

    def after(way: np.ndarray) -> float:
        return bound.mean(data.by_query(parameters.moved(way).score(data.features)) + base_of(data))

    for at in range(7):
        way = random_direction(parameters.n_parameters, (0, 0, at))
        assert_allclose(found.curves[at], [after(0.3 * way), after(2.0 * way)], atol=2e-3)
    for at, weight in enumerate(found.weights):
        axis = np.eye(parameters.n_parameters)[weight]
        assert_allclose(found.weight_curves[at, :, 1], [after(2 * axis), after(-2 * axis)], atol=2e-3)


def test_459_directions_and_the_statement_in_words() -> None:
    assert count_directions(0.01, 0.01) == 459
    assert count_directions(0.05, 0.01) == 90
    data = mixed_up()
    failed = sr.certify(sr.RankNet(hidden=(), n_epochs=0).fit(data), data, "ndcg", epsilon=0.05)
    assert not failed.passed
    assert f"{failed.n_rising} of 90 random directions raise it" in str(failed)
    assert "Not a local optimum: direction" in failed.verdict()
    at = int(failed.curves.max(axis=1).argmax())
    assert_array_equal(failed.direction, random_direction(4, (0, 0, at)))
    passed = sr.certify(failed.ranker, data, "ndcg", epsilon=0.05, polish=True)
    assert passed.passed
    assert passed.n_weights_rising == 0
    assert passed.value > failed.value
    assert list(passed.values) == sorted(passed.values)
    assert passed.ranker.set_params(metric="ndcg").score(data) == pytest.approx(passed.value)
    assert "A local optimum, with 99% confidence: if at least 5% of all directions" in str(passed)


@pytest.mark.parametrize(
    ("metric", "n_queries", "n_documents", "n_epochs"),
    [("ndcg", 300, 25, 100), ("ndcg@10", 300, 25, 100), ("map(rel=2)", 300, 25, 100), ("mrr(rel=2)", 600, 50, 150)],
)
@pytest.mark.parametrize("hidden", [(), (10,)])
def test_a_random_net_fails_and_a_trained_one_passes(
    metric: str, n_queries: int, n_documents: int, n_epochs: int, hidden: tuple[int, ...]
) -> None:
    """A small version of [Donmez2009]: 40 features instead of 300, fewer queries, and 44 directions.

    MRR needs more documents: it changes with one of them per query, so that it is slow to converge.
    """
    (train,) = sr.datasets.random_polynomial(
        (n_queries,), n_features=40, n_documents=n_documents, levels=(0.6, 0.2, 0.12, 0.06, 0.02), random_state=0
    )
    lambdas: dict[str, Any] = {"hidden": hidden, "pair_weight": 0.0, "decay": 0.8, "random_state": 1}
    random = sr.LambdaRank(metric, **lambdas, n_epochs=0).fit(train)
    trained = sr.LambdaRank(metric, **lambdas, n_epochs=n_epochs).fit(train)
    assert not sr.certify(random, train, epsilon=0.1, n_weights=0).passed
    # Each weight of a linear net alone, too.
    found = sr.certify(trained, train, epsilon=0.1, n_weights=0 if hidden else None)
    assert found.passed
    assert len(found.weights) == (0 if hidden else 40)
    assert found.n_weights_rising == 0


@pytest.mark.parametrize("name", ["regression", "net", "kernel", "forest"])
def test_polishing_gives_a_better_ranker_that_can_be_saved(name: str, tmp_path: Path) -> None:
    data = mixed_up()
    ranker = RANKERS[name].fit(data)
    before = sr.certify(ranker, data, "ndcg@5", epsilon=0.2, n_weights=3)
    after = sr.certify(ranker, data, "ndcg@5", epsilon=0.2, n_weights=3, polish=True)
    assert not before.passed
    assert after.values[0] == before.value < after.value == after.values[-1]
    assert list(after.values) == sorted(after.values)
    after.ranker.save(tmp_path / "better.swaprank")
    again = sr.load(tmp_path / "better.swaprank")
    bound = sr.metric("ndcg@5").bind(data.by_query(data.labels), data.indptr)
    assert bound.mean(data.by_query(again.predict(data))) == pytest.approx(after.value)
    assert f"Polished in {len(after.values) - 1} rounds, from {before.value:.6f}" in str(after)


def test_the_direction_that_it_names_improves_the_ranker() -> None:
    data = mixed_up()
    ranker = sr.LinearRegressionRanker(regularization=0.1).fit(data)
    found = sr.certify(ranker, data, "ndcg", epsilon=0.1, steps="both")
    assert len(found.steps) == 20
    at = int(found.curves.max(axis=1).argmax())
    step = found.steps[found.curves[at].argmax()]
    moved = perturbed(ranker, data).moved(step * found.direction)
    scores = data.by_query(moved.score(data.features)) + base_of(data)
    value = sr.metric("ndcg").mean(data.by_query(data.labels), scores, data.indptr)
    assert value == pytest.approx(found.curves.max(), abs=1e-6)
    assert value > found.value


def test_lists_that_have_no_order_and_features_that_say_nothing() -> None:
    """Queries with one document, without a relevant document, or with equal documents cannot rise."""
    X = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [7.0, 7.0], [7.0, 7.0]])
    data = sr.Dataset(X, [2, 0, 0, 1, 0], qid=[1, 2, 2, 3, 3])
    found = sr.certify(
        sr.LinearRegressionRanker(regularization=0.1).fit(data), data, "ndcg", epsilon=0.1, n_weights=None
    )
    assert found.passed
    assert found.n_weights_rising == 0
    assert (found.curves == found.value).all()
    assert len(found.weights) == 2


def test_a_weight_that_rises_alone_is_told_where_no_direction_does() -> None:
    data = mixed_up()
    found = sr.certify(RANKERS["regression"].fit(data), data, "ndcg", epsilon=0.3, n_weights=2)
    below, above = np.full_like(found.curves, found.value - 1), np.full_like(found.weight_curves, found.value + 1)
    seen = replace(found, curves=below, weight_curves=above)
    assert seen.passed
    assert seen.n_weights_rising == 2
    assert "some parameters raise it alone" in seen.verdict()


def test_any_number_of_threads_and_the_seed() -> None:
    data = mixed_up()
    ranker = RANKERS["net"].fit(data)
    one, two, other = (
        sr.certify(ranker, data, epsilon=0.3, steps="fine", n_threads=n_threads, random_state=seed)
        for n_threads, seed in ((1, 0), (2, 0), (2, 1))
    )
    assert_array_equal(one.curves, two.curves)
    assert_array_equal(one.weight_curves, two.weight_curves)
    assert (one.curves != other.curves).any()


def test_progress_is_told_and_queries_may_be_left_out() -> None:
    data = sr.Dataset(np.random.default_rng(0).normal(size=(40, 2)), [0, 1] * 10 + [0] * 20, qid=np.arange(40) // 4)
    ranker = sr.LinearRegressionRanker(regularization=0.1).fit(data)
    calls: list[tuple[int, int]] = []
    found = sr.certify(
        ranker, data, "ndcg(empty=skip)", epsilon=0.5, n_weights=0, progress=lambda done, n: calls.append((done, n))
    )
    assert found.n_queries == 5
    assert calls[-1][0] == calls[-1][1]
    assert "One parameter at a time" not in str(found)


def test_a_ranker_whose_weights_do_not_matter_is_not_praised() -> None:
    data = sr.Dataset(np.ones((6, 2)), [0, 1, 2, 0, 1, 2], qid=[1, 1, 1, 2, 2, 2])
    found = sr.certify(sr.LambdaRank(hidden=(), n_epochs=1).fit(data), data, "ndcg", epsilon=0.5)
    assert found.passed
    assert "No tested step changes ndcg" in str(found)


def test_what_cannot_be_certified_is_refused() -> None:
    data = mixed_up()
    ranker = RANKERS["regression"].fit(data)
    both = sr.combine(ranker, ranker, data)
    with pytest.raises(sr.errors.ParameterError, match="the parameters of such a model cannot be perturbed"):
        sr.certify(both, data)
    with pytest.raises(sr.errors.ParameterError, match="the model has no trees"):
        sr.certify(sr.MART(n_trees=0).fit(data), data)
    with pytest.raises(sr.errors.ParameterError, match="steps must be wide, fine, both or numbers above 0"):
        sr.certify(ranker, data, steps=(0.0, 1.0))
    with pytest.raises(sr.errors.ParameterError, match="there are no steps 'fin'; did you mean 'fine'"):
        sr.certify(ranker, data, steps="fin")
    with pytest.raises(sr.errors.ParameterError, match="epsilon must be below 1"):
        sr.certify(ranker, data, epsilon=1.0)
    with pytest.raises(sr.errors.ParameterError, match="delta must be a number above 0"):
        sr.certify(ranker, data, delta=0)
    with pytest.raises(sr.errors.ParameterError, match="polish must be True or False"):
        sr.certify(ranker, data, polish=1)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.DataError, match="no query has a relevant document"):
        sr.certify(ranker, sr.Dataset(data.features[:2], [0, 0], qid=[1, 1]), "map")


def test_curves_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data = mixed_up()
    sr.certify(RANKERS["regression"].fit(data), data, epsilon=0.5, n_weights=0).draw(tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
