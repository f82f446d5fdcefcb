from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import swaprank as sr
from tests.command_line import here
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI, qid_of, small

BASED = sr.Dataset(
    TRAIN.features,
    TRAIN.labels,
    qid=qid_of(TRAIN),
    base_score=3.0 * np.random.default_rng(0).normal(size=len(TRAIN)),
)
HOPELESS = sr.Dataset(VALI.features, np.zeros(len(VALI)), qid=qid_of(VALI))


def test_regression_is_least_squares() -> None:
    ranker = sr.LinearRegressionRanker(target="labels", regularization=0).fit(TRAIN)
    expected = LinearRegression().fit(TRAIN.features.astype(float), TRAIN.labels)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-4)
    gains = LinearRegression().fit(TRAIN.features.astype(float), 2**TRAIN.labels - 1)
    np.testing.assert_allclose(
        sr.LinearRegressionRanker(regularization=0).fit(TRAIN).coef_, gains.coef_, rtol=1e-4
    )  # fmt: skip


def test_regression_chooses_shrinks_and_saves(tmp_path: Path) -> None:
    progress: list[sr.rankers.Progress] = []
    ranker = sr.LinearRegressionRanker(overweight=True).fit(TRAIN, valid=VALI, callbacks=[progress.append])
    assert len(progress) == 1
    assert ranker.candidates_[ranker.regularization_] == max(ranker.candidates_.values())
    assert ranker.history_["valid"]["ndcg@10"] == [max(ranker.candidates_.values())]
    assert sr.LinearRegressionRanker(n_folds=4).fit(TRAIN, valid=VALI).candidates_ != ranker.candidates_
    held = sr.LinearRegressionRanker(regularization=1e9).fit(TRAIN, base_ranker=ranker)
    np.testing.assert_allclose(held.coef_, ranker.coef_, rtol=1e-4)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert again.get_params() == ranker.get_params()
    with pytest.raises(sr.errors.ParameterError, match="there is no target 'gain'; did you mean 'gains'"):
        sr.LinearRegressionRanker(target="gain").fit(TRAIN)  # type: ignore[arg-type]


@pytest.mark.parametrize("overweight", [False, True])
@pytest.mark.parametrize("data", [TRAIN, BASED], ids=["no base scores", "base scores"])
def test_the_center_does_not_matter_without_regularization(data: sr.Dataset, overweight: bool) -> None:
    base = sr.LinearRegressionRanker(regularization=1.0).fit(TRAIN)
    free = sr.LinearRegressionRanker(regularization=0, overweight=overweight)
    np.testing.assert_allclose(free.fit(data, base_ranker=base).coef_, free.fit(data).coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [sr.LambdaRank, sr.RankNet])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_net_without_hidden_units_is_a_linear_base(kind: Any, standardize: bool) -> None:
    net = kind(hidden=(), n_epochs=3, standardize=standardize).fit(TRAIN)
    held = sr.LinearRegressionRanker(regularization=1e9).fit(TRAIN, base_ranker=net)
    ours, theirs = held.predict(TEST), net.predict(TEST)
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=1e-4 * np.ptp(theirs))
    smooth = small(regularization=1e9).fit(TRAIN, base_ranker=net)
    assert np.corrcoef(smooth.predict(TEST), theirs)[0, 1] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("ranker", ["smoothrank", "linear_regression"])
def test_a_linear_net_is_a_base_on_the_command_line(tmp_path: Path, ranker: str) -> None:
    net = sr.LambdaRank(hidden=(), n_epochs=3).fit(TRAIN)
    net.save(tmp_path / "net.swaprank")
    sr.write_letor(TRAIN, tmp_path / "train.txt")
    arguments = ("train", "train.txt", "--ranker", ranker, "--base-ranker", "net.swaprank", "-o", "model.swaprank")
    ended = here(*arguments, "--set", "regularization=1e9", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert np.corrcoef(sr.load(tmp_path / "model.swaprank").predict(TEST), net.predict(TEST))[0, 1] == pytest.approx(
        1, abs=1e-5
    )


@pytest.mark.parametrize(
    ("base", "found"),
    [
        (
            lambda: sr.LambdaRank(hidden=(3,), n_epochs=1).fit(TRAIN),
            ": the model is not linear in the features, but a net with hidden layers (3,).",
        ),
        (
            lambda: sr.LambdaRank(hidden=(), n_epochs=1, log_features=True).fit(TRAIN),
            ": the model is not linear in the features, but a net with logarithms of features.",
        ),
        (
            lambda: small(features="kernel_pca", n_landmarks=6, annealing=(1.0,)).fit(TRAIN),
            ": the model is not linear in the features, but a kernel machine of 6 weights.",
        ),
        (
            lambda: small(hidden=(2,), annealing=(1.0,)).fit(TRAIN),
            ": the model is not linear in the features, but a net with hidden layers (2,).",
        ),
        (sr.LinearRegressionRanker, ", found LinearRegressionRanker that is not fitted."),
        (lambda: sr.MART(n_trees=1).fit(TRAIN), ": the model is not linear in the features, but 1 trees."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_linear_rankers_are_linear_bases(base: Callable[[], Any], found: str) -> None:
    made = base()
    for ranker in (sr.LinearRegressionRanker(regularization=1.0), small()):
        with pytest.raises(sr.errors.ParameterError) as caught:
            ranker.fit(TRAIN, base_ranker=made)
        assert str(caught.value) == f"base_ranker must be a fitted linear ranker{found}"


def test_a_failed_fit_leaves_the_regression_as_it_was() -> None:
    ranker = sr.LinearRegressionRanker(regularization=(1.0, 0.1)).fit(TRAIN)
    before = ranker.regularization_, ranker.candidates_, ranker.predict(TEST).tolist()

    def fail(progress: sr.rankers.Progress) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ranker.set_params(regularization=(100.0, 50.0)).fit(VALI, callbacks=[fail])
    assert (ranker.regularization_, ranker.candidates_, ranker.predict(TEST).tolist()) == before


CHOOSERS = [
    sr.LinearRegressionRanker(),
    small(regularization="auto", n_folds=None),
    small(best_step=True, n_folds=None),
]


@pytest.mark.slow
@pytest.mark.parametrize("ranker", CHOOSERS)
def test_nothing_is_chosen_by_a_metric_that_is_the_same_for_every_order(ranker: Any) -> None:
    with pytest.raises(
        sr.errors.DataError, match=r"cannot choose by ndcg.* on 'valid', which is the same for every order"
    ):
        ranker.fit(TRAIN, valid=HOPELESS)
    with pytest.raises(sr.errors.DataError, match="there is nothing to learn from: "):
        ranker.fit(HOPELESS)
    with_folds = ranker.set_params(n_folds=2).fit(TRAIN, valid=HOPELESS)
    assert len(set(with_folds.candidates_.values())) != 1
    for plain in (sr.LinearRegressionRanker(regularization=1.0), small()):
        assert np.isfinite(plain.fit(TRAIN, valid=HOPELESS).predict(TEST)).all()
        with pytest.raises(sr.errors.DataError, match="there is nothing to learn from: "):
            plain.fit(HOPELESS)


def test_strengths_may_be_an_array() -> None:
    strengths: Any = np.logspace(-1, 1, 3), np.array(2.0)
    several, one = (sr.LinearRegressionRanker(regularization=each).fit(TRAIN) for each in strengths)
    assert list(several.candidates_) == pytest.approx([10.0, 1.0, 0.1])
    assert several.regularization_ == max(several.candidates_, key=several.candidates_.__getitem__)
    assert (one.regularization_, one.candidates_) == (2.0, {})
