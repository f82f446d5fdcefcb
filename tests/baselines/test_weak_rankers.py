"""RankBoost and FRank: weak rankers by brute force, weights of pairs pair by pair, published bounds round by round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Bools, Floats, Ints
from swaprank.baselines import weak_rankers
from swaprank.baselines.frank import FidelityWeights
from swaprank.baselines.pair_shares import Average
from swaprank.baselines.rankboost import ExponentialWeights
from swaprank.baselines.weak_rankers import best_weak_ranker, half_log_odds
from swaprank.trees.binning import make_bins
from tests.baselines.test_ranksvm import explicit_pairs
from tests.interruption import interrupted_fit, pressed_at_call
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI, qid_of

DATA = TRAIN.subset(range(15))
ROUNDS = 25


def pair_shares(data: sr.Dataset, average: Average) -> tuple[Ints, Ints, Floats]:
    i, j, q = explicit_pairs(np.array(data.labels), np.array(data.indptr))
    share = np.ones(len(q)) if average == "pairs" else 1.0 / np.bincount(q)[q]
    return i, j, share / share.sum()


def exponential(lead: Floats) -> tuple[Floats, Floats]:
    return np.exp(-lead), np.exp(-lead)


def fidelity(lead: Floats) -> tuple[Floats, Floats]:
    p = 1.0 / (1.0 + np.exp(-lead))
    return 1.0 - np.sqrt(p), np.exp(lead / 2) / (1.0 + np.exp(lead)) ** 1.5


@pytest.mark.parametrize("average", ["pairs", "queries"])
@pytest.mark.parametrize(("kind", "formula"), [(ExponentialWeights, exponential), (FidelityWeights, fidelity)])
def test_potentials_are_sums_over_pairs(kind: Any, formula: Any, average: Average) -> None:
    scores = np.random.default_rng(0).normal(size=len(DATA)) * 3
    i, j, share = pair_shares(DATA, average)
    loss, weight = formula(scores[i] - scores[j])
    weighed = kind(DATA, average, n_threads=1).at(scores)
    assert weighed.loss == pytest.approx(share @ loss)
    assert weighed.total == pytest.approx(share @ weight)
    expected = np.bincount(i, share * weight, len(DATA)) - np.bincount(j, share * weight, len(DATA))
    np.testing.assert_allclose(weighed.potentials, expected, rtol=1e-9, atol=1e-15)


def test_no_range_of_scores_overflows() -> None:
    scores = np.where(np.arange(len(DATA)) % 2, 400.0, -400.0)
    for kind in (ExponentialWeights, FidelityWeights):
        weighed = kind(DATA, "pairs", 1).at(scores)
        assert np.isfinite([weighed.loss, weighed.total, *weighed.potentials]).all()
    assert half_log_odds(0.0, 0.5) == -half_log_odds(0.5, 0.0) == -7.0


@pytest.mark.parametrize("missing", [False, True])
def test_the_weak_ranker_is_the_best_of_all(missing: bool) -> None:
    rng = np.random.default_rng(1)
    for seed in range(20):
        X = rng.integers(0, 6, size=(40, 3)).astype(np.float32)
        X[:, 2] = 1.0  # constant, or known against missing
        if missing:
            X[rng.random(X.shape) < 0.3] = np.nan
        potentials = rng.normal(size=40)
        potentials -= potentials.mean()
        bins = make_bins(sr.Dataset(X, np.zeros(40), qid=np.full(40, seed)), 255, 1)
        found = best_weak_ranker(bins, potentials, n_threads=2)

        def candidates(X: Any = X) -> list[Bools]:
            known = [X[:, f] > cut for f in range(3) for cut in (*range(-1, 6), np.inf)]
            return [*known, *((X[:, f] > cut) | np.isnan(X[:, f]) for f in range(3) for cut in (*range(-1, 6), np.inf))]

        worth = [abs(potentials[each].sum()) for each in candidates()]
        assert abs(found.worth) == pytest.approx(max(worth))
        assert potentials[found(bins)].sum() == pytest.approx(found.worth)


def stages(ranker: Any, data: sr.Dataset) -> list[Floats]:
    return [np.zeros(len(data)), *(scores for _, scores in ranker.staged_predict(data))]


@pytest.fixture(scope="module")
def rankboost() -> sr.baselines.RankBoost:
    return sr.baselines.RankBoost(n_rounds=ROUNDS).fit(DATA)


@pytest.fixture(scope="module")
def frank() -> sr.baselines.FRank:
    return sr.baselines.FRank(n_rounds=ROUNDS).fit(DATA)


def test_the_loss_of_rankboost_bounds_wrong_pairs_and_falls_as_published(rankboost: sr.baselines.RankBoost) -> None:
    i, j, share = pair_shares(DATA, "pairs")
    bound, scores = 1.0, stages(rankboost, DATA)
    assert rankboost.n_rounds_ == ROUNDS
    for t in range(ROUNDS):
        before, after = scores[t], scores[t + 1]
        D = share * np.exp(-(before[i] - before[j]))
        D /= D.sum()
        alpha = rankboost.model_.leaf_value[2 * t + 1]
        h = (after - before) / alpha
        assert np.allclose(h * (1 - h), 0.0, atol=1e-9)
        r = D @ (h[i] - h[j])
        assert alpha == pytest.approx(0.5 * np.log((1 + r) / (1 - r)))
        Z = D @ np.exp(-alpha * (h[i] - h[j]))
        assert np.sqrt(1 - r**2) + 1e-12 >= Z
        bound *= Z
        # Theorem 1: the product of all Z bounds the share of wrong pairs. It is the loss.
        assert rankboost.losses_[t + 1] == pytest.approx(bound)
        assert share @ (after[i] <= after[j]) <= bound + 1e-12


def test_the_loss_of_frank_falls_by_its_guarantee_in_every_round(frank: sr.baselines.FRank) -> None:
    i, j, share = pair_shares(DATA, "queries")
    scores = stages(frank, DATA)
    for t in range(ROUNDS):
        before, after = scores[t], scores[t + 1]
        (loss, W), (new_loss, _) = (fidelity(each[i] - each[j]) for each in (before, after))
        alpha = frank.model_.leaf_value[2 * t + 1]
        h = np.round((after - before) / alpha)
        right, wrong = (share * W) @ (h[i] > h[j]), (share * W) @ (h[i] < h[j])
        assert alpha == pytest.approx(0.5 * np.log(right / wrong))
        assert frank.losses_[t + 1] == pytest.approx(share @ new_loss)
        assert share @ loss - share @ new_loss >= 0.5 * (np.sqrt(right) - np.sqrt(wrong)) ** 2 - 1e-12
        assert frank.model_.gain[t] == pytest.approx(share @ loss - share @ new_loss)


@pytest.mark.parametrize("kind", [sr.baselines.RankBoost, sr.baselines.FRank])
def test_it_learns_keeps_the_best_round_and_saves(kind: Any, tmp_path: Path) -> None:
    ranker = kind(n_rounds=60).fit(TRAIN, valid=VALI)
    values = ranker.history_["valid"]["ndcg@10"]
    assert ranker.n_trees_ == ranker.best_round_ == int(np.argmax(values)) + 1
    assert ranker.score(TEST) > 0.1 + kind(n_rounds=0).fit(TRAIN).score(TEST)
    assert ranker.score(VALI) == pytest.approx(max(values))
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert isinstance(again, kind)
    assert again.losses_ == ranker.losses_
    stopped = kind(n_rounds=60, early_stopping_rounds=3).fit(TRAIN, valid=VALI)
    assert stopped.n_rounds_ <= stopped.best_round_ + 3


@pytest.mark.parametrize("kind", [sr.baselines.RankBoost, sr.baselines.FRank])
def test_the_model_is_identical_for_any_number_of_threads_and_order_of_rows(kind: Any) -> None:
    big = sr.datasets.random_net((300,), n_features=20, n_documents=30, random_state=0)[0]
    fits = [kind(n_rounds=8, n_threads=n).fit(big).predict(big) for n in (1, 2, 3)]
    assert len({fit.tobytes() for fit in fits}) == 1
    rows = np.random.default_rng(0).permutation(len(big))
    mixed = kind(n_rounds=8).fit(big.features[rows], big.labels[rows], qid=qid_of(big)[rows])
    np.testing.assert_allclose(mixed.predict(big), fits[0], rtol=1e-6)


@pytest.mark.parametrize("moment", [3, 4])
@pytest.mark.parametrize("name", ["best_weak_ranker", "as_tree"])
def test_ctrl_c_keeps_the_rounds_so_far(name: str, moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_rankers, name, pressed_at_call(moment, getattr(weak_rankers, name)))
    ranker = interrupted_fit(sr.baselines.RankBoost(n_rounds=1000), DATA)
    assert 1 <= ranker.n_trees_ == ranker.n_rounds_ == len(ranker.losses_) - 1 < 6
    monkeypatch.undo()
    whole = sr.baselines.RankBoost(n_rounds=ranker.n_trees_).fit(DATA)
    np.testing.assert_array_equal(ranker.predict(TEST), whole.predict(TEST))


@pytest.mark.parametrize("kind", [sr.baselines.RankBoost, sr.baselines.FRank])
def test_training_continues_from_a_base_ranker(kind: Any) -> None:
    whole, half = kind(n_rounds=10).fit(DATA), kind(n_rounds=5).fit(DATA)
    continued = kind(n_rounds=5).fit(DATA, base_ranker=half)
    np.testing.assert_allclose(continued.predict(TEST), whole.predict(TEST), rtol=1e-9)
    from_scores = kind(n_rounds=5).fit(
        DATA.features, DATA.labels, qid=qid_of(DATA), base_score=half.predict(DATA)
    )  # fmt: skip
    np.testing.assert_allclose(from_scores.predict(TEST) + half.predict(TEST), whole.predict(TEST), rtol=1e-9)


@pytest.mark.parametrize("kind", [sr.baselines.RankBoost, sr.baselines.FRank])
def test_unusual_data(kind: Any) -> None:
    X = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 0.5], [3.0, 5.0, np.nan], [4.0, 5.0, 0.1]])
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        kind().fit(X, [1, 1, 0, 0], qid=[1, 1, 2, 2])
    real = kind(n_rounds=10).fit(X, [-0.5, 0.25, 0.26, 3.0], qid=[1, 1, 1, 1])
    assert (np.diff(real.predict(X)) >= 0).all()
    assert (real.model_.feature != 1).all()
    separable = kind(n_rounds=2000).fit(X[:2], [0, 1], qid=[1, 1])
    assert np.isfinite(separable.predict(X)).all()
    gap = kind(n_rounds=1).fit(X[:, 2:], [0, 1, 0, 1], qid=[1, 1, 1, 1])
    assert gap.predict(np.array([[np.nan], [0.3]])).argmax() == 1
    with pytest.raises(sr.errors.ParameterError, match="there is no average 'pair'; did you mean 'pairs'"):
        kind(average="pair").fit(DATA)
    with pytest.raises(sr.errors.DataError, match="learns from numbers"):
        kind().fit(X, [0, 1, 0, 1], qid=[1, 1, 1, 1], categorical_features=[1])


def test_the_weight_of_a_query_is_how_often_it_is_there() -> None:
    part = DATA.subset(range(4))
    rows = np.concatenate([np.arange(len(part)), part.rows(1)])
    qid = np.concatenate([qid_of(part), np.full(len(part.rows(1)), 99)])
    weighted = sr.Dataset(part.features, part.labels, qid=qid_of(part), query_weight=[1, 2, 1, 1])
    for ranker in (sr.baselines.RankBoost(n_rounds=10), sr.baselines.FRank(n_rounds=10)):
        repeated = ranker.fit(part.features[rows], part.labels[rows], qid=qid).predict(TEST)
        np.testing.assert_allclose(ranker.fit(weighted).predict(TEST), repeated, rtol=1e-6, atol=1e-9)
