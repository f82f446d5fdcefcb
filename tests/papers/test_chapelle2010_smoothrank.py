"""SmoothRank as in [Chapelle2010]: start, objective, gradient, annealing and choice of lambda beside plain loops."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.linear.annealing import Ascent
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.objectives.smooth import SmoothObjective
from swaprank.rankers.smoothrank import ANNEALING
from tests.papers import naive_chapelle2010_smoothrank as naive

LAMBDAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)


def as_in_the_paper(**changes: Any) -> sr.SmoothRank:
    """Section 7: NDCG@50, ten lambdas; 4.4.1: least squares as w0; 4.4: conjugate gradients to the minimum."""
    return sr.papers.smoothrank2010(**changes)


def data(n_queries: int = 6, n_documents: int = 7, seed: int = 0) -> sr.Dataset:
    """Labels 0 to 2 that depend on three features from 0 to 1, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_queries * n_documents, 3)).astype(np.float32)
    labels = np.digitize(X @ [1.0, 0.5, -0.5] + 0.3 * rng.normal(size=len(X)), [0.4, 0.8])
    return sr.Dataset(X, labels, qid=np.repeat(np.arange(n_queries), n_documents))


def queries(given: sr.Dataset) -> list[naive.Query]:
    X = given.features.astype(np.float64)
    return [(X[a:b], given.labels[a:b].tolist()) for a, b in zip(given.indptr[:-1], given.indptr[1:], strict=True)]


def ascent(given: sr.Dataset, w0: Floats, lam: float, metric: str = "ndcg@50") -> Ascent:
    smooth = SmoothObjective(sr.metric(metric)).bind(given, random_state=0, n_threads=1)
    return Ascent(LinearScoreFunction(given.features, np.ones(len(w0))), smooth, w0, lam)


def test_the_annealing_is_that_of_section_4() -> None:
    """Section 4.4.2: sigma from 2^6, divided by 2, to 2^-6."""
    assert as_in_the_paper().annealing == tuple(2.0**p for p in range(6, -7, -1)) == ANNEALING
    assert as_in_the_paper().optimizer == "cg"


def test_the_start_is_plain_least_squares() -> None:
    train = data(20, 15)
    held = as_in_the_paper(regularization=1e12, annealing=(64.0,)).fit(train)
    np.testing.assert_allclose(held.coef_, naive.start(queries(train)), atol=1e-9)
    other = as_in_the_paper(regularization=1e12, annealing=(64.0,), standardize=True).fit(train)
    gains = [naive.gain(label) for label in train.labels]
    np.testing.assert_allclose(other.coef_ * np.std(gains), held.coef_, atol=1e-9)


def test_another_ranker_as_the_start() -> None:
    """Section 4.4.1: a RankSVM as w0, in the unit of the gains."""
    train = data(20, 15)
    svm = sr.baselines.RankSVM(regularization=0.1).fit(train)
    held = as_in_the_paper(regularization=1e12, annealing=(64.0,)).fit(train, base_ranker=svm)
    gains, scores = np.array([naive.gain(label) for label in train.labels]), svm.predict(train)
    slope = np.polyfit(scores, gains, 1)[0]
    np.testing.assert_allclose(held.coef_, slope * svm.coef_, atol=1e-9)


def test_the_pairwise_start_is_a_ranksvm() -> None:
    """Without folds, as one query has none, its regularization is 1; with folds it is a mean over several."""
    train = data(1, 60)
    held = as_in_the_paper(start="pairwise", standardize=True, regularization=1e12, annealing=(64.0,)).fit(train)
    svm = sr.baselines.RankSVM(regularization=1.0).fit(train)
    directions = [weights / np.linalg.norm(weights) for weights in (held.coef_, svm.coef_)]
    np.testing.assert_allclose(directions[0], directions[1], atol=1e-4)


@pytest.mark.parametrize("k", [2, 50])
@pytest.mark.parametrize("sigma", [0.02, 1.0, 64.0])
def test_the_objective_and_its_gradient(sigma: float, k: int) -> None:
    """Eq. 13; ours is divided by the number of queries, which changes no minimum."""
    train, rng = data(), np.random.default_rng(1)
    w, w0 = rng.normal(size=3), rng.normal(size=3)
    climb = ascent(train, w0, 0.3, f"ndcg@{k}")
    value, slope = climb.cost(w, climb.smoothed(sigma))
    expected, expected_slope = naive.objective(w, w0, 0.3, queries(train), sigma, k)
    assert value * train.n_queries == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(slope * train.n_queries, expected_slope, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [3.0, 0.3])
def test_the_annealing_ends_at_the_same_optimum(lam: float) -> None:
    """Algorithm 1, until steps are too rugged for two line searches to stop at the same local minimum."""
    train = data(3, 5)
    sigmas = tuple(4.0**p for p in range(3, -2, -1))
    ours = as_in_the_paper(regularization=lam, annealing=sigmas).fit(train).coef_
    theirs = naive.smoothrank(queries(train), lam, 50, sigmas)
    w0 = naive.start(queries(train))
    values = [naive.objective(w, w0, lam, queries(train), sigmas[-1], 50)[0] for w in (ours, theirs)]
    assert values[0] == pytest.approx(values[1], abs=1e-8)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_lambda_is_the_best_on_the_validation_set_and_the_model_one_fit() -> None:
    train, vali = data(20, 15, seed=2), data(12, 15, seed=3)
    strengths, sigmas = (100.0, 1.0, 0.01), (16.0, 1.0, 0.1)
    chosen = as_in_the_paper(regularization=strengths, annealing=sigmas).fit(train, valid=vali)
    alone = {each: as_in_the_paper(regularization=each, annealing=sigmas).fit(train) for each in strengths}
    values = {each: ranker.score(vali) for each, ranker in alone.items()}
    assert chosen.candidates_ == pytest.approx(values)
    assert chosen.regularization_ == max(values, key=values.__getitem__)
    np.testing.assert_array_equal(chosen.coef_, alone[chosen.regularization_].coef_)
    assert sorted(chosen.shares_.values()) == [0.0, 0.0, 1.0]
    # Without a validation set, folds choose, and the model is the fit to all queries.
    by_folds = as_in_the_paper(regularization=strengths, annealing=sigmas, n_folds=3).fit(train)
    np.testing.assert_array_equal(by_folds.coef_, alone[by_folds.regularization_].coef_)


def test_the_unit_of_the_labels_is_that_of_the_smoothing() -> None:
    """Gains as they are: with gains c times as large, factors are c² times as large and lambda 1 / c² [Lemma 1]."""
    train, c = data(15, 12, seed=4), 4.0
    times = as_in_the_paper(metric="ndcg@50(gain=0/4/12)", regularization=1.0 / c**2, annealing=(c**2 * 8.0, c**2))
    plain = as_in_the_paper(metric="ndcg@50(gain=0/1/3)", regularization=1.0, annealing=(8.0, 1.0))
    np.testing.assert_allclose(times.fit(train).coef_, c * plain.fit(train).coef_, rtol=1e-4)


@pytest.mark.parametrize("c", [0.25, 9.0])
def test_lemma_1_lambda_and_sigma_are_redundant_where_w0_is_0(c: float) -> None:
    train, w, w0 = data(), np.array([0.4, -1.0, 0.7]), np.zeros(3)
    first, second = ascent(train, w0, 0.2), ascent(train, w0, 0.2 * c)
    value, _ = first.cost(w, first.smoothed(1.5))
    other, _ = second.cost(w / np.sqrt(c), second.smoothed(1.5 / c))
    assert value == pytest.approx(other, abs=1e-12)


def test_at_a_large_sigma_the_minimum_is_w0_from_any_start() -> None:
    """Section 5.3."""
    train, w0 = data(), np.array([0.4, -1.0, 0.7])
    climb = Ascent(**{**vars(ascent(train, w0, 0.1)), "max_iterations": 1000})
    np.testing.assert_allclose(climb.climb(np.array([3.0, 2.0, -5.0]), 1e7), w0, atol=1e-4)


def test_least_squares_is_no_start_of_a_net() -> None:
    with pytest.raises(sr.errors.ParameterError, match="start='least_squares' is for linear models"):
        sr.SmoothRank(hidden=(3,), start="least_squares").fit(data())
