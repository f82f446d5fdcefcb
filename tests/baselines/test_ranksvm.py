"""RankSVM against sums over explicit pairs, and against scikit-learn's LinearSVC on the differences of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.baselines.hinge_pairs import hessian_queries, hinge_queries, sort_queries, sorted_lists
from swaprank.baselines.pair_shares import Average, label_pairs
from swaprank.models.scaling import units_of
from tests.command_line import here
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI, qid_of

RNG = np.random.default_rng(0)
LOSSES = [(2.0, np.inf), (2.0, 0.5), (10.0, 0.1)]
"""Curvature and width: the squared hinge, and rounded ones."""


def explicit_pairs(labels: Floats, indptr: Ints) -> tuple[Ints, Ints, Ints]:
    """Better document, worse document and query of every pair."""
    found = [
        (i, j, q)
        for q in range(len(indptr) - 1)
        for i in range(indptr[q], indptr[q + 1])
        for j in range(indptr[q], indptr[q + 1])
        if labels[i] > labels[j]
    ]
    i, j, q = np.array(found).T
    return i, j, q


def random_lists(n_labels: int, ties: bool) -> tuple[Floats, Ints, Floats]:
    indptr = np.array([0, 1, 1, 13, 60, 62])
    labels = RNG.integers(0, n_labels, 62).astype(float)
    labels[60:] = 1.0  # no pairs
    scores = RNG.normal(size=62) * 1.5 + 1e3 * np.repeat([0, 1, 2, 3, 4], np.diff(indptr))
    return labels, indptr, np.round(2 * scores) / 2 if ties else scores


@pytest.mark.parametrize(("curvature", "width"), LOSSES)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_labels", [2, 4, 40])
def test_sums_in_n_log_n_are_those_of_all_pairs(n_labels: int, ties: bool, curvature: float, width: float) -> None:
    labels, indptr, scores = random_lists(n_labels, ties)
    level = label_pairs(labels, indptr, np.ones(62), "pairs").level
    lists, totals, grad, product = sorted_lists(62), np.empty((5, 4)), np.empty(62), np.empty(62)
    moves = RNG.normal(size=62)
    sort_queries(level, indptr, scores, 47, 0, 5, lists)
    hinge_queries(lists, indptr, curvature, width, 47, 0, 5, totals, grad)
    hessian_queries(lists, indptr, curvature, width, 47, 0, 5, moves, product)
    i, j, q = explicit_pairs(labels, indptr)
    m = 1 - (scores[i] - scores[j])
    near, far = (m > 0) & (m < width), m >= width
    expected = [np.bincount(q, each, minlength=5) for each in (near * m, near * m**2, far, far * m)]
    np.testing.assert_allclose(totals, np.transpose(expected), atol=1e-9)
    slope = np.where(near, curvature * m, far * (curvature * width if width < np.inf else 0.0))
    np.testing.assert_allclose(grad, np.bincount(j, slope, 62) - np.bincount(i, slope, 62), atol=1e-9)
    bend = curvature * near * (moves[i] - moves[j])
    np.testing.assert_allclose(product, np.bincount(i, bend, 62) - np.bincount(j, bend, 62), atol=1e-9)


@pytest.mark.parametrize("average", ["pairs", "queries"])
def test_levels_and_shares_are_those_of_all_pairs(average: Average) -> None:
    labels, indptr, _ = random_lists(4, ties=False)
    weights = np.repeat([1.0, 1.0, 2.0, 0.5, 1.0], np.diff(indptr))
    pairs = label_pairs(labels, indptr, weights, average)
    _, _, q = explicit_pairs(labels, indptr)
    n_pairs = np.bincount(q, minlength=5)
    of_pair = weights[indptr[q]] / (n_pairs[q] if average == "queries" else 1.0)
    np.testing.assert_allclose(pairs.shares * n_pairs, np.bincount(q, of_pair, minlength=5) / of_pair.sum())
    for query in range(5):
        own = slice(indptr[query], indptr[query + 1])
        np.testing.assert_array_equal(pairs.level[own], np.unique(labels[own], return_inverse=True)[1])
        assert (np.diff(labels[pairs.by_label[own]]) >= 0).all()
    nothing = label_pairs(np.zeros(4), np.array([0, 4]), np.ones(4), average)
    assert (nothing.level == 0).all()
    assert (nothing.shares == 0).all()


def differences(data: sr.Dataset, average: Average) -> tuple[Floats, Floats]:
    """The difference of the standardized features of each pair, and its weight in the mean."""
    labels, indptr = np.array(data.labels), np.array(data.indptr)
    i, j, q = explicit_pairs(labels, indptr)
    X = data.features.astype(float) * units_of(data.features, standardize=True).factor
    u = np.ones(len(q)) if average == "pairs" else 1.0 / np.bincount(q)[q]
    return X[i] - X[j], u / u.sum()


SMALL = TRAIN.subset(range(12))


@pytest.mark.parametrize("average", ["pairs", "queries"])
@pytest.mark.parametrize("strength", [1.0, 1e-4])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_weights_are_those_of_scikit_learns_svm_of_the_differences(
    loss: Any, strength: float, average: Average
) -> None:
    ours = sr.baselines.RankSVM(loss=loss, regularization=strength, average=average).fit(SMALL)
    weights = ours.coef_ / units_of(SMALL.features, standardize=True).factor
    D, u = differences(SMALL, average)
    # LinearSVC wants two classes: half of the pairs are turned around. Its cost is ours / (2 strength).
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    peer = LinearSVC(loss=loss, dual=loss == "hinge", fit_intercept=False, tol=1e-9, max_iter=500_000, random_state=0)
    theirs = peer.fit(D * sign[:, None], sign, sample_weight=u / (2 * strength)).coef_[0]

    def cost(w: Floats) -> float:
        margins = np.maximum(0.0, 1.0 - D @ w)
        return float(u @ (margins**2 if loss == "squared_hinge" else margins) + strength * w @ w)

    assert cost(weights) <= cost(theirs) * (1 + ours.gap_) + 1e-12
    assert cost(theirs) <= cost(weights) * (1 + 1e-6)
    # The cost grows by strength |w - best|² at least.
    assert np.linalg.norm(weights - theirs) <= np.sqrt((ours.gap_ + 1e-9) * cost(weights) / strength)
    if loss == "squared_hinge":
        slopes = -2 * u * np.maximum(0.0, 1.0 - D @ weights)
        gradient = slopes @ D + 2 * strength * weights
        assert np.linalg.norm(gradient) < 1e-3 * np.sqrt(strength)
        assert ours.gap_ == pytest.approx(gradient @ gradient / (4 * strength) / cost(weights), rel=1e-3, abs=1e-14)


def test_the_duality_gap_of_the_hinge_loss_is_an_upper_bound() -> None:
    D, u = differences(SMALL, "pairs")
    factor = units_of(SMALL.features, standardize=True).factor
    for strength in (1.0, 0.01, 1e-5):
        ranker = sr.baselines.RankSVM(loss="hinge", regularization=strength).fit(SMALL)
        w = ranker.coef_ / factor
        primal = u @ np.maximum(0.0, 1.0 - D @ w) + strength * w @ w
        assert 0 <= ranker.gap_ <= 1e-5
        # Any slopes from 0 to u are a point of the dual: those of a rounded corner give a lower bound.
        a = u * np.clip((1.0 - D @ w) / 1e-3, 0.0, 1.0)
        dual = a.sum() - (a @ D) @ (a @ D) / (4 * strength)
        assert primal - dual >= -1e-12
        assert primal - dual <= 0.02 * primal


def test_the_regularization_is_chosen_on_the_watched_set_and_saved(tmp_path: Path) -> None:
    progress: list[sr.rankers.Progress] = []
    strengths = (10.0, 0.1, 1e-3)
    ranker = sr.baselines.RankSVM(regularization=strengths).fit(TRAIN, valid=VALI, callbacks=[progress.append])
    values = ranker.history_["valid"]["ndcg@10"]
    assert [each.round for each in progress] == [1, 2, 3]
    assert ranker.regularization_ == strengths[int(np.argmax(values))]
    one = sr.baselines.RankSVM(regularization=ranker.regularization_).fit(TRAIN, valid=VALI)
    np.testing.assert_allclose(one.coef_, ranker.coef_, rtol=1e-3, atol=1e-4)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    assert isinstance(again, sr.baselines.RankSVM)
    assert (again.regularization_, again.gap_) == (ranker.regularization_, ranker.gap_)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert sr.baselines.RankSVM().fit(TRAIN).regularization_ == 0.1
    with pytest.raises(sr.errors.DataError, match="several values of regularization need a set to choose by"):
        sr.baselines.RankSVM(regularization=strengths).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match="regularization must be above 0"):
        sr.baselines.RankSVM(regularization=0).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match="there is no loss 'hinges'; did you mean 'hinge'"):
        sr.baselines.RankSVM(loss="hinges").fit(TRAIN)  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_weight_of_a_query_is_how_often_it_is_there(loss: Any) -> None:
    part, twice = SMALL.subset(range(4)), np.array([1, 2, 1, 1])
    rows = np.concatenate([np.tile(part.rows(q), n) for q, n in enumerate(twice)])
    qid = np.concatenate([np.repeat(np.arange(n) + 10 * q, len(part.rows(q))) for q, n in enumerate(twice)])
    repeated = sr.Dataset(part.features[rows], part.labels[rows], qid=qid)
    weighted = sr.Dataset(part.features, part.labels, qid=qid_of(part), query_weight=twice)
    ranker = sr.baselines.RankSVM(loss=loss, regularization=0.01, standardize=False)
    np.testing.assert_allclose(ranker.fit(weighted).coef_, ranker.fit(repeated).coef_, rtol=1e-3, atol=1e-4)


def test_the_model_is_identical_for_any_number_of_threads_and_order_of_rows() -> None:
    big = sr.datasets.random_net((700,), n_features=6, n_documents=30, random_state=0)[0]
    shuffled = np.random.default_rng(0).permutation(len(big))
    mixed = sr.Dataset(big.features[shuffled], big.labels[shuffled], qid=qid_of(big)[shuffled])
    fits = [sr.baselines.RankSVM(regularization=0.01, n_threads=n).fit(big).coef_ for n in (1, 2, 3)]
    assert len({fit.tobytes() for fit in fits}) == 1
    np.testing.assert_allclose(
        sr.baselines.RankSVM(regularization=0.01).fit(mixed).coef_, fits[0], rtol=1e-5, atol=1e-7
    )


def test_weights_are_regularized_towards_the_base_ranker() -> None:
    base = sr.LinearRegressionRanker(regularization=1.0).fit(TRAIN)
    held = sr.baselines.RankSVM(regularization=1e6).fit(TRAIN, base_ranker=base)
    np.testing.assert_allclose(held.coef_, base.coef_, atol=1e-4)
    best = sr.baselines.RankSVM(regularization=1e-9).fit(
        VALI, base_ranker=sr.baselines.RankSVM(regularization=0.1).fit(TRAIN), valid=TRAIN
    )
    assert (best.best_round_, best.regularization_, best.gap_) == (0, np.inf, 0.0)


def test_unusual_data() -> None:
    X = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 0.5], [3.0, 5.0, np.nan], [4.0, 5.0, 0.1]])
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.baselines.RankSVM().fit(X, [1, 1, 0, 0], qid=[1, 1, 2, 2])
    real = sr.baselines.RankSVM(loss="hinge").fit(X, [-0.5, 0.25, 0.26, 3.0], qid=[1, 1, 1, 1])
    assert real.coef_[1] == 0.0
    assert (np.diff(real.predict(X)) > 0).all()
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.baselines.RankSVM().fit(X, [0, 1, 0, 1], qid=[1, 2, 3, 4])


def test_on_the_command_line_and_in_other_systems(tmp_path: Path) -> None:
    sr.write_letor(TRAIN, tmp_path / "train.txt")
    sr.write_letor(VALI, tmp_path / "vali.txt")
    arguments = ("train", "train.txt", "--valid", "vali.txt", "--ranker", "ranksvm", "-o", "model.swaprank")
    ended = here(*arguments, "--set", "loss=hinge", folder=tmp_path)
    assert ended.code == 0, ended.err
    ranker = sr.load(tmp_path / "model.swaprank")
    assert sr.certify(ranker, TRAIN, "ndcg@10", epsilon=0.5, delta=0.5, n_weights=2).n_directions > 0
    ranker.export(tmp_path / "model.txt", to="ranklib", missing="zero")
    written = (tmp_path / "model.txt").read_text("utf-8").splitlines()[-1]
    weights = [float(each.partition(":")[2]) for each in written.split()]
    np.testing.assert_allclose(weights[-6:], ranker.model_.feature_weights(), rtol=1e-6)
