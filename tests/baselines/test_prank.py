"""PRank and OAP-BPM: the bound on the number of mistakes, a twin in plain Python, quadratic terms, borders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.baselines.prank_learning import GradedDocuments, model_of_products, n_terms, show_documents
from swaprank.models.scaling import units_of
from tests.command_line import here

TRAIN, VALI, TEST = sr.datasets.random_polynomial((30, 20, 20), n_features=6, n_documents=10, random_state=0)


def documents(X: Floats, grades: Any, degree: int = 1) -> GradedDocuments:
    single, d = X.astype(np.float32), X.shape[1]
    single.flags.writeable = False
    return GradedDocuments(single, np.zeros(d, np.float32), np.ones(d), np.zeros(len(X)), np.asarray(grades), degree)


def separable(n_grades: int, gap: float, seed: int) -> tuple[Floats, Ints, float]:
    """Documents on both sides of thresholds that leave a gap, their grades, and the margin of a unit vector (w, b)."""
    rng = np.random.default_rng(seed)
    X, w = rng.uniform(-1, 1, (3000, 4)), rng.normal(size=4)
    w /= np.linalg.norm(w)
    cuts = np.linspace(-0.5, 0.5, n_grades - 1) if n_grades > 2 else np.zeros(1)
    scores = X @ w
    kept = np.abs(scores[:, None] - cuts).min(axis=1) > gap
    X = X[kept].astype(np.float32).astype(np.float64)
    grades = np.searchsorted(cuts, X @ w)
    margin = np.abs((X @ w)[:, None] - cuts).min() / np.sqrt(1 + np.sum(cuts**2))
    return X, grades, float(margin)


@pytest.mark.parametrize(("n_grades", "gap"), [(2, 0.1), (3, 0.05), (5, 0.03)])
def test_mistakes_on_separable_data_are_bounded_however_often_it_is_shown(n_grades: int, gap: float) -> None:
    # [Crammer2002, Theorem 2]: at most (K - 1) (R² + 1) / margin² in all.
    X, grades, margin = separable(n_grades, gap, seed=n_grades)
    bound = (n_grades - 1) * (np.sum(X**2, axis=1).max() + 1) / margin**2
    weights, thresholds, rng, mistakes = np.zeros(4), np.zeros(n_grades - 1), np.random.default_rng(0), [0]
    while len(mistakes) < 3000 and (len(mistakes) == 1 or mistakes[-1] > 0):
        mistakes.append(show_documents(documents(X, grades), rng.permutation(len(X)), weights, thresholds))
    assert 0 < sum(mistakes) <= bound
    assert mistakes[-1] == 0
    assert (np.searchsorted(thresholds, X @ weights) == grades).all()


def naive_prank(X: Floats, grades: Ints, n_grades: int) -> tuple[Floats, Floats]:
    w, b = np.zeros(X.shape[1]), np.zeros(n_grades - 1)
    for x, y in zip(X, grades, strict=True):
        score = w @ x
        tau = np.zeros(n_grades - 1)
        for r in range(n_grades - 1):
            t = -1 if y <= r else 1
            if (score - b[r]) * t <= 0:
                tau[r] = t
        w, b = w + tau.sum() * x, b - tau
    return w, b


def test_a_pass_is_that_of_a_twin_in_plain_python() -> None:
    X, grades = TRAIN.features.astype(np.float64), TRAIN.labels.astype(np.int64)
    weights, thresholds = np.zeros(6), np.zeros(5)
    order = np.random.default_rng(0).permutation(len(X))
    show_documents(documents(X, grades), order, weights, thresholds)
    w, b = naive_prank(X[order], grades[order], 6)
    np.testing.assert_allclose(weights, w, rtol=1e-12)
    np.testing.assert_array_equal(thresholds, b)


@pytest.mark.parametrize("degree", [1, 2])
def test_thresholds_are_in_order_after_every_step(degree: int) -> None:
    shown = documents(TRAIN.features.astype(np.float64), TRAIN.labels.astype(np.int64), degree)
    weights, thresholds, moved = np.zeros(n_terms(6, degree)), np.zeros(5), set()
    for r in np.random.default_rng(1).integers(0, len(TRAIN), 1000):
        show_documents(shown, np.array([r]), weights, thresholds)
        assert (np.diff(thresholds) >= 0).all()
        moved.add(tuple(thresholds))
    assert len(moved) > 100


def test_weights_of_products_are_the_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, 3.0, (50, 5)).astype(np.float32)
    X[:, 3] = 1.0
    units, weights = units_of(X, standardize=True), 100 * rng.normal(size=n_terms(5, 2))
    Z = (X - units.missing.astype(np.float64)) * units.factor
    i, j = np.triu_indices(5)
    expected = np.hstack([Z, Z[:, i] * Z[:, j]]) @ weights
    np.testing.assert_allclose(model_of_products(units, weights).score(X), expected, rtol=1e-5, atol=1e-3)


def test_quadratic_prank_is_prank_on_products_as_features() -> None:
    # Small whole numbers: sums are exact in both, so that the same steps are taken.
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (60, 4)).astype(np.float64)
    i, j = np.triu_indices(4)
    P, grades = np.hstack([X, X[:, i] * X[:, j]]), rng.integers(0, 3, 60)
    order, found = rng.permutation(60), []
    for shown in (documents(X, grades, degree=2), documents(P, grades)):
        weights, thresholds = np.zeros(14), np.zeros(2)
        show_documents(shown, order, weights, thresholds)
        found.append(np.concatenate((weights, thresholds)))
    np.testing.assert_array_equal(found[0], found[1])


def test_quadratic_prank_learns_what_a_line_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 3))
    circle = sr.Dataset(X, np.searchsorted([0.7, 1.2], np.sum(X**2, axis=1)), qid=np.arange(1000) // 20)
    linear, quadratic = (
        sr.baselines.PRank(degree=degree, metric="pairwise", n_epochs=20).fit(circle, valid=circle) for degree in (1, 2)
    )
    assert linear.score(circle) < 0.6
    assert quadratic.score(circle) > 0.95
    assert quadratic.history_["valid"]["pairwise"][quadratic.best_round_ - 1] == quadratic.score(circle)


def test_oap_bpm_is_the_mean_of_its_learners() -> None:
    # Learner by learner: those documents of the common order for which its own draw is below the probability.
    ranker = sr.baselines.OAPBPM(n_learners=5, probability=0.4, n_epochs=2, standardize=False, random_state=3).fit(
        TRAIN
    )
    X, grades = TRAIN.features.astype(np.float64) - TRAIN.features.mean(axis=0, dtype=np.float64), TRAIN.labels
    w, b, n_shown = np.zeros((5, 6)), np.zeros((5, 5)), 0
    for epoch in (1, 2):
        order = np.random.default_rng([3, epoch]).permutation(len(X))
        for learner in range(5):
            is_shown = np.random.default_rng([3, epoch, learner]).random(len(X)) >= 0.6
            own = order[is_shown]
            n_shown += len(own)
            show_documents(documents(X, grades.astype(np.int64)), own, w[learner], b[learner])
    np.testing.assert_allclose(ranker.coef_, w.mean(axis=0), rtol=1e-4)
    assert n_shown / (10 * len(X)) == pytest.approx(0.4, abs=0.05)
    one = sr.baselines.OAPBPM(n_learners=1, probability=1.0, n_epochs=3).fit(TRAIN)
    np.testing.assert_array_equal(one.coef_, sr.baselines.PRank(n_epochs=3).fit(TRAIN).coef_)


@pytest.mark.parametrize(
    "ranker", [sr.baselines.PRank(), sr.baselines.PRank(degree=2), sr.baselines.OAPBPM(n_learners=5)], ids=str
)
def test_it_is_a_ranker_like_the_others(ranker: Any, tmp_path: Path) -> None:
    ranker = ranker.set_params(n_epochs=8, n_threads=1).fit(TRAIN, valid=VALI)
    history = ranker.history_["valid"]["ndcg@10"]
    assert len(history) == 8
    assert ranker.best_round_ == 1 + int(np.argmax(history))
    assert ranker.score(VALI) == max(history)
    path = tmp_path / "model.swaprank"
    ranker.save(path)
    np.testing.assert_array_equal(sr.load(path).predict(TEST), ranker.predict(TEST))
    again = type(ranker)(**ranker.get_params()).set_params(n_threads=3).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert sr.certify(ranker, TEST, epsilon=0.3, delta=0.3, n_weights=2).n_directions == 4


@pytest.mark.slow
def test_the_command_line_trains_it(tmp_path: Path) -> None:
    sr.write_letor(TRAIN, tmp_path / "train.txt")
    ended = here(
        "train", tmp_path / "train.txt", "--ranker", "prank", "--set", "degree=2", "-o", tmp_path / "m.swaprank"
    )
    assert ended.code == 0
    assert sr.load(tmp_path / "m.swaprank").model_.kind == "kernel"


def test_a_weight_is_how_often_a_document_is_shown() -> None:
    # Weights of 0 and 1 with mean 1/2: half of the queries are shown twice, the others never.
    qid = np.repeat(np.arange(30), 10)
    weighted = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid, query_weight=np.arange(30) % 2)
    order = np.random.default_rng([0, 1]).permutation(300)
    twice, weights, thresholds = np.repeat(order[qid[order] % 2 == 1], 2), np.zeros(6), np.zeros(5)
    X = TRAIN.features - TRAIN.features.mean(axis=0, dtype=np.float64)
    show_documents(documents(X, TRAIN.labels.astype(np.int64)), twice, weights, thresholds)
    found = sr.baselines.PRank(n_epochs=1, standardize=False).fit(weighted).coef_
    np.testing.assert_allclose(found, weights, rtol=1e-4)
    equal = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid, query_weight=np.full(30, 1e-300))
    np.testing.assert_array_equal(
        sr.baselines.PRank(n_epochs=2).fit(equal).coef_, sr.baselines.PRank(n_epochs=2).fit(TRAIN).coef_
    )


def test_only_the_order_of_labels_counts_and_the_start_is_the_base() -> None:
    qid = np.repeat(np.arange(30), 10)
    other = sr.Dataset(TRAIN.features, TRAIN.labels**3 / 7 - 1, qid=qid)
    fitted = sr.baselines.PRank(n_epochs=2).fit(TRAIN)
    np.testing.assert_array_equal(fitted.coef_, sr.baselines.PRank(n_epochs=2).fit(other).coef_)
    nothing = sr.Dataset(TRAIN.features, np.ones(300), qid=qid)
    np.testing.assert_allclose(
        sr.baselines.PRank(n_epochs=2).fit(nothing, base_ranker=fitted).coef_, fitted.coef_, rtol=1e-12
    )
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.baselines.PRank(n_epochs=2).fit(nothing)


def test_missing_values_constant_features_and_what_is_refused() -> None:
    X = TRAIN.features.copy()
    X[::7, 2], X[:, 4] = np.nan, 3.0
    qid = np.repeat(np.arange(30), 10)
    with_holes = sr.Dataset(X, TRAIN.labels, qid=qid)
    filled = sr.Dataset(
        np.where(np.isnan(X), np.float32(np.nanmean(X[:, 2], dtype=np.float64)), X), TRAIN.labels, qid=qid
    )
    for degree in (1, 2):
        assert np.isfinite(sr.baselines.PRank(degree=degree, n_epochs=2).fit(with_holes).predict(with_holes)).all()
    found, expected = (
        sr.baselines.PRank(n_epochs=2, standardize=False).fit(data).coef_ for data in (with_holes, filled)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert sr.baselines.PRank(n_epochs=2).fit(with_holes).coef_[4] == 0
    many = sr.Dataset(np.zeros((1001, 1)), np.arange(1001), qid=np.zeros(1001, int))
    with pytest.raises(
        sr.errors.DataError, match=r"found 1,001 different labels\. Round them to 1,000 grades or fewer"
    ):
        sr.baselines.PRank().fit(many)
    with pytest.raises(sr.errors.ParameterError, match="degree must be 1, for features, or 2"):
        sr.baselines.PRank(degree=3).fit(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.DataError, match="2,003,001 products of 2,001 features"):
        sr.baselines.PRank(degree=2).fit(np.zeros((2, 2001)), [0, 1], qid=[1, 1])
    with pytest.raises(AttributeError, match="a kernel machine of 7 weights has no coef_"):
        _ = sr.baselines.PRank(degree=2, n_epochs=1).fit(TRAIN).coef_
    with pytest.raises(sr.errors.ParameterError, match="probability must be a number above 0 to 1"):
        sr.baselines.OAPBPM(probability=0.0).fit(TRAIN)
