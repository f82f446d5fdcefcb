"""Users' own objectives train trees and nets like ours, and their mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from sklearn.base import clone

import swaprank as sr
from swaprank.arrays import Floats, Ints

pytestmark = pytest.mark.slow

TRAIN, TEST = sr.datasets.random_net((30, 15), n_features=5, n_documents=20, random_state=0)
QID = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
WEIGHTED = sr.Dataset(TRAIN.features, TRAIN.labels, qid=QID, sample_weight=np.linspace(0.5, 2, len(TRAIN)))


def ranknet_gradients(labels: Floats, scores: Floats, indptr: Ints) -> tuple[Floats, Floats]:
    """The definition: p - P and p (1 - p) of every pair of different labels."""
    grad, hess = np.zeros(len(labels)), np.zeros(len(labels))
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        better = labels[start:stop, None] > labels[start:stop]
        rho = 1 / (1 + np.exp(scores[start:stop, None] - scores[start:stop]))
        pairs = better * rho
        grad[start:stop] = pairs.sum(axis=0) - pairs.sum(axis=1)
        each = (better | better.T) * rho * (1 - rho)
        hess[start:stop] = each.sum(axis=1)
    return grad, np.maximum(hess, np.abs(grad) / 100)


def ranknet_kernel(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                rho = 1 / (1 + np.exp(scores[i] - scores[j]))
                grad[i] -= rho
                grad[j] += rho
                hess[i] += rho * (1 - rho)
                hess[j] += rho * (1 - rho)
    for i in range(len(labels)):
        hess[i] = max(hess[i], abs(grad[i]) / 100)


OWN = {
    "python": sr.objectives.CustomObjective(gradients=ranknet_gradients),
    "kernel": sr.objectives.CustomObjective(query_kernel=ranknet_kernel),
    "compiled": sr.objectives.CustomObjective(query_kernel=njit(ranknet_kernel)),
}


def failing_kernel(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
    """Zero gradients, except for the query whose first label is 9: its second label says how it fails."""
    grad[:] = 0.0
    hess[:] = 1.0
    if labels[0] == 9:
        if labels[1] == 10:
            raise ValueError("no good")
        if labels[1] == 11:
            grad[3] = np.nan
        if labels[1] == 12:
            grad[3] = np.inf
        if labels[1] == 13:
            hess[3] = -0.5
        if labels[1] == 14:
            hess[3] = np.nan


def failing_gradients(labels: Floats, scores: Floats, indptr: Ints) -> tuple[Floats, Floats]:
    grad, hess = np.zeros(len(labels)), np.ones(len(labels))
    for a, b in zip(indptr[:-1], indptr[1:], strict=True):
        failing_kernel(labels[a:b], scores[a:b], grad[a:b], hess[a:b])
    return grad, hess


FAILING = {
    "kernel": sr.objectives.CustomObjective(query_kernel=failing_kernel, name="mine"),
    "python": sr.objectives.CustomObjective(gradients=failing_gradients, name="mine"),
}


def marked(failure: int) -> sr.Dataset:
    """The training data; query 7 fails."""
    labels = np.array(TRAIN.labels)
    labels[TRAIN.indptr[7] : TRAIN.indptr[7] + 2] = 9, failure
    return sr.Dataset(TRAIN.features, labels, qid=QID)


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("data", [TRAIN, WEIGHTED], ids=["plain", "weighted"])
def test_own_ranknet_has_our_gradients(kind: str, data: sr.Dataset) -> None:
    scores = np.random.default_rng(0).normal(size=len(data))
    expected, found = np.empty((2, len(data))), np.empty((2, len(data)))
    sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1).update(scores, *expected)
    OWN[kind].bind(data, random_state=0, n_threads=2).update(scores, *found)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["python", "kernel"])
def test_own_ranknet_trains_trees_and_nets_as_ours_does(kind: str) -> None:
    own, ours = (
        sr.LambdaMART(objective=objective, n_trees=8, n_leaves=7).fit(WEIGHTED).predict(TEST)
        for objective in (OWN[kind], sr.objectives.RankNetObjective())
    )
    np.testing.assert_allclose(own, ours, rtol=1e-12, atol=1e-12)
    # Nets have weights of single precision.
    options: dict[str, Any] = {"n_epochs": 4, "hidden": (3,)}
    expected = sr.RankNet(**options).fit(WEIGHTED).predict(TEST)
    for make in (sr.RankNet, sr.LambdaRank):
        net = make(objective=OWN[kind], **options).fit(WEIGHTED).predict(TEST)
        np.testing.assert_allclose(net, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(make(objective=OWN[kind], **options).fit(WEIGHTED).predict(TEST), net)


def test_own_squared_error_grows_the_trees_of_mart() -> None:
    def squared(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
        for r in range(len(labels)):
            grad[r], hess[r] = scores[r] - labels[r], 1.0

    for objective in (
        sr.objectives.CustomObjective(query_kernel=squared),
        sr.objectives.CustomObjective(gradients=lambda labels, scores, indptr: (scores - labels, np.ones(len(labels)))),
    ):
        own = sr.MART(objective=objective, n_trees=5, query_fraction=0.5).fit(WEIGHTED)
        ours = sr.MART(objective="squared", n_trees=5, query_fraction=0.5).fit(WEIGHTED)
        np.testing.assert_array_equal(own.predict(TEST), ours.predict(TEST))


@pytest.mark.parametrize("kind", ["python", "kernel"])
def test_model_is_identical_for_any_thread_count(kind: str) -> None:
    rng = np.random.default_rng(0)
    data = sr.Dataset(rng.normal(size=(9000, 4)), rng.integers(0, 3, 9000), qid=np.repeat(np.arange(60), 150))
    found = [
        sr.LambdaMART(objective=OWN[kind], n_trees=3, n_threads=n).fit(data).predict(data).tobytes() for n in (1, 2, 5)
    ]
    assert len(set(found)) == 1


@pytest.mark.parametrize("kind", ["python", "kernel"])
@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (10, "it raised ValueError: no good"),
        (11, "a gradient is nan; it must be a finite number"),
        (12, "a gradient is inf"),
        (13, "a hessian is -0.5; it must be a finite number of 0 or more"),
        (14, "a hessian is nan"),
    ],
)
def test_a_failure_is_named_with_its_query(kind: str, failure: int, words: str) -> None:
    where = "" if failure == 10 and kind == "python" else f" in query {TRAIN.qids[7]}"
    with pytest.raises(sr.errors.ParameterError, match=f"the objective 'mine' failed{where}: {words}"):
        sr.LambdaMART(objective=FAILING[kind], n_trees=2).fit(marked(failure))
    with pytest.raises(
        sr.errors.ParameterError, match=f"the objective 'mine' failed in query {TRAIN.qids[7]}: {words}"
    ):
        sr.LambdaRank(objective=FAILING[kind], n_epochs=1).fit(marked(failure))


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda n: np.zeros(n), r"gradients must return the pair \(grad, hess\), found ndarray"),
        (lambda n: (np.zeros(n),), "found 1 values"),
        (lambda n: (np.zeros(n - 1), np.ones(n)), r"two arrays of shape \(600,\).* found grad of shape \(599,\)"),
        (lambda n: (np.zeros(n), ["a"] * n), "two arrays of numbers"),
    ],
)
def test_wrong_results_are_refused(result: Any, words: str) -> None:
    own = sr.objectives.CustomObjective(gradients=lambda labels, scores, indptr: result(len(labels)))
    with pytest.raises(sr.errors.ParameterError, match=words):
        sr.LambdaMART(objective=own, n_trees=1).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match=r"in query .*: (gradients must return|two arrays)"):
        sr.RankNet(objective=own, n_epochs=1).fit(TRAIN)


def test_arguments_cannot_be_written() -> None:
    def write(labels: Floats, scores: Floats, indptr: Ints) -> tuple[Floats, Floats]:
        labels[0] = 1.0
        return scores, scores

    with pytest.raises(sr.errors.ParameterError, match="it raised ValueError: assignment destination is read-only"):
        sr.LambdaMART(objective=sr.objectives.CustomObjective(gradients=write), n_trees=1).fit(TRAIN)

    def spoil(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
        for r in range(len(labels)):
            grad[r], hess[r] = scores[r] - labels[r], 1.0
        labels[:] = 9.0
        scores[:] = 9.0

    own = sr.LambdaMART(objective=sr.objectives.CustomObjective(query_kernel=spoil), n_trees=3).fit(TRAIN)
    np.testing.assert_array_equal(own.predict(TEST), sr.MART(n_trees=3).fit(TRAIN).predict(TEST))


def beyond(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
    grad[len(labels)] = 1.0


def unknown(labels: Floats, scores: Floats, grad: Floats, hess: Floats) -> None:
    grad[:] = open("x").read()  # noqa: SIM115, PTH123


def test_kernels_that_do_not_compile_or_leave_their_arrays_are_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match=r"in query .*: it raised IndexError"):
        sr.LambdaMART(objective=sr.objectives.CustomObjective(query_kernel=beyond), n_trees=1).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match="query_kernel could not be compiled"):
        sr.LambdaMART(objective=sr.objectives.CustomObjective(query_kernel=unknown), n_trees=1).fit(TRAIN)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "takes either gradients or query_kernel"),
        ({"gradients": ranknet_gradients, "query_kernel": ranknet_kernel}, "takes either"),
        ({"gradients": 3}, "gradients must be a function, found 3"),
        ({"query_kernel": print}, "query_kernel must be a function written with def"),
        ({"gradients": ranknet_gradients, "name": " "}, "name must be a text that is not empty"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match=words):
        sr.objectives.CustomObjective(**options)


@pytest.mark.parametrize("make", [sr.LambdaMART, sr.MART, sr.LambdaRank, sr.RankNet])
def test_saved_by_name_and_cloned(make: Any, tmp_path: Path) -> None:
    rounds = {"n_trees": 2} if make in (sr.LambdaMART, sr.MART) else {"n_epochs": 2}
    ranker = make(objective=sr.objectives.CustomObjective(query_kernel=ranknet_kernel, name="mine"), **rounds).fit(
        TRAIN
    )
    np.testing.assert_array_equal(clone(ranker).fit(TRAIN).predict(TEST), ranker.predict(TEST))
    ranker.save(tmp_path / "model.swaprank")
    loaded = sr.load(tmp_path / "model.swaprank")
    assert loaded.get_params()["objective"] == "mine (own)"
    np.testing.assert_array_equal(loaded.predict(TEST), ranker.predict(TEST))
    with pytest.raises(sr.errors.ParameterError, match=r"the objective mine, which .* set_params\(objective=…\)"):
        loaded.fit(TRAIN)


@pytest.mark.parametrize(
    ("ranker", "words"),
    [
        (
            sr.LambdaMART(objective=sr.objectives.RankNetObjective(), sigma=2.0),
            "sigma=2.0 has no effect on an objective given as",
        ),
        (sr.LambdaMART(objective=sr.objectives.RankNetObjective(), horizon=5), "horizon=5 has no effect"),
        (sr.LambdaRank(objective=sr.objectives.RankNetObjective(), normalize=False), "normalize=False has no effect"),
        (
            sr.LambdaRank(objective=sr.objectives.RankNetObjective(), construction="spring"),
            "construction='spring' has no effect",
        ),
        (sr.RankNet(objective=sr.objectives.RankNetObjective(), ties=True), "ties=True has no effect"),
        (sr.MART(objective=sr.objectives.RankNetObjective(), sigma=3.0), "sigma=3.0 has no effect"),
        (sr.RankNet(objective="ranknett"), "there is no objective 'ranknett'; did you mean 'ranknet'?"),  # type: ignore[arg-type]
        (sr.LambdaRank(objective=3), "there is no objective '3'; known are lambda"),  # type: ignore[arg-type]
        (
            sr.RankNet(objective=sr.objectives.PointwiseObjective(), training="pairs"),
            "training='pairs' goes pair by pair",
        ),
        (sr.LambdaRank(objective=sr.objectives.SmoothBoostingObjective(sr.metric("ndcg"))), "trains trees only"),
    ],
)
def test_parameters_of_the_objective_stay_at_their_defaults(ranker: Any, words: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match=words.replace("?", r"\?")):
        ranker.fit(TRAIN)


@pytest.mark.parametrize(
    "objective",
    [
        sr.objectives.PointwiseObjective("squared"),
        sr.objectives.PointwiseObjective("logistic"),
        sr.objectives.SmoothObjective(sr.metric("ndcg@10"), smoothing_factor=0.5),
        sr.objectives.SmoothObjective(sr.metric("map"), smoothing_factor=0.5),
        sr.objectives.SmoothObjective(sr.metric("map"), "ranks", smoothing_factor=0.2),
    ],
    ids=str,
)
def test_nets_learn_from_every_objective(objective: sr.objectives.Objective) -> None:
    ranker = sr.LambdaRank("ndcg@10", objective=objective, n_epochs=25, learning_rate=0.01, hidden=(5,)).fit(WEIGHTED)
    chance = sr.evaluate(TEST, np.zeros(len(TEST)), "ndcg@10").results[0].mean
    assert sr.evaluate(TEST, ranker.predict(TEST), "ndcg@10").results[0].mean > chance + 0.05


def test_sigma_of_the_objective_is_that_of_pair_probabilities(tmp_path: Path) -> None:
    ranker = sr.RankNet(objective=sr.objectives.RankNetObjective(sigma=2.0), n_epochs=2).fit(TRAIN)
    scores = ranker.predict(TEST)
    expected = 1 / (1 + np.exp(-2 * (scores[0] - scores[1])))
    assert ranker.predict_proba_pair(TEST, 0, 1) == pytest.approx(expected)
    ranker.save(tmp_path / "model.swaprank")
    loaded = sr.load(tmp_path / "model.swaprank")
    assert isinstance(loaded, sr.RankNet)
    assert loaded.predict_proba_pair(TEST, 0, 1) == pytest.approx(expected)
    again = loaded.set_params(objective=sr.objectives.RankNetObjective(sigma=2.0)).fit(TRAIN)
    np.testing.assert_array_equal(again.predict(TEST), scores)
    np.testing.assert_array_equal(sr.RankNet(sigma=2.0, n_epochs=2).fit(TRAIN).predict(TEST), scores)


def test_cross_validated_and_reported(tmp_path: Path) -> None:
    ranker = sr.LambdaMART(objective=sr.objectives.CustomObjective(query_kernel=ranknet_kernel, name="mine"), n_trees=2)
    found = sr.cross_validate(TRAIN, [ranker], n_folds=3, metrics="ndcg@10")
    assert "lambdamart" in str(found).lower()
    sr.report(ranker.fit(TRAIN), TEST).save(tmp_path / "report.html")
    assert "CustomObjective(name=" in (tmp_path / "report.html").read_text("utf-8")
