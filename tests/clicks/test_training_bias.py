"""The bias to train with: none if the log says nothing, and the truth if it says enough; never worse than none."""

import warnings
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.learning.training_bias import bias_for_training, bias_of_moves
from tests.clicks.people import click_log, make_world

pytestmark = pytest.mark.slow
METRIC = "dcg@10(gain=linear)"
SETTINGS: dict[str, Any] = {"metric": METRIC, "n_trees": 40, "n_leaves": 7, "n_threads": 1}
STEEP = np.arange(1, 7) ** -1.5


def misleading_log(n_sessions: int, seed: int, people: Any = "position") -> tuple[sr.clicks.ClickLog, sr.Dataset]:
    """A production ranker that follows a third, useless feature, which naive training therefore learns."""
    world, test = make_world(60, quality=0.2, seed=seed), make_world(60, quality=0.2, seed=seed + 50)
    rng = np.random.default_rng(seed)
    for each in (world, test):
        useless = rng.standard_normal(each.rankings.shape[1:])
        scores = useless + 0.4 * rng.standard_normal(each.rankings.shape)
        each.rankings[:] = np.argsort(-scores, axis=2)
        each.features[..., 2] = useless
    log = click_log(world, n_sessions, people=people, examination=STEEP, seed=seed, features=True)
    relevance = test.mean_relevance
    features = test.features.reshape(relevance.size, -1)
    return log, sr.Dataset(features, relevance.ravel(), group=[relevance.shape[1]] * len(relevance))


def quality(data: sr.Dataset, test: sr.Dataset) -> Floats:
    scores = sr.LambdaMART(**SETTINGS).fit(data).predict(test)
    return sr.evaluate(test, scores, "ndcg@5(gain=linear)").results[0].per_query


@pytest.mark.parametrize("people", ["position", "cascade", "dbn"])
def test_training_is_never_worse_than_on_click_rates(people: Any) -> None:
    flat, gains = sr.clicks.Propensities(np.ones(6)), {}
    for n_sessions in (60, 500, 5000):
        differences = []
        for seed in range(3):
            log, test = misleading_log(n_sessions, seed, people)
            differences.append(quality(sr.clicks.unbiased(log), test) - quality(sr.clicks.unbiased(log, flat), test))
        each = np.concatenate(differences)
        gains[n_sessions] = each.mean(), each.std() / np.sqrt(len(each))
    assert gains[60][0] >= -2 * gains[60][1]
    assert gains[500][0] >= -gains[500][1]
    assert gains[5000][0] > 3 * gains[5000][1] > 0


def test_held_out_queries_choose_between_corrected_labels_and_click_rates() -> None:
    log, _ = misleading_log(5000, 0)
    trained = sr.clicks.train(sr.LambdaMART(**SETTINGS), log)
    assert "changed places" in trained.propensities.method
    np.testing.assert_allclose(trained.propensities.examination, STEEP, rtol=0.25)
    # A production ranker that knows far more than the features say: click rates repeat what it knows.
    lost, chosen = [], []
    for seed in range(4):
        mild = np.arange(1, 7) ** -0.5
        log = click_log(make_world(100, quality=0.9, seed=seed), 500, examination=mild, seed=seed, features=True)
        relevance = (test_world := make_world(100, seed=seed + 50)).mean_relevance
        features = test_world.features.reshape(relevance.size, -1)
        test = sr.Dataset(features, relevance.ravel(), group=[relevance.shape[1]] * len(relevance))
        trained = sr.clicks.train(sr.LambdaMART(**SETTINGS), log)
        scores = trained.ranker.predict(test)
        ours = sr.evaluate(test, scores, "ndcg@5(gain=linear)").results[0].per_query
        naive = quality(sr.clicks.unbiased(log, sr.clicks.Propensities(np.ones(6))), test)
        lost.append(np.mean(quality(sr.clicks.unbiased(log), test) - naive))
        chosen.append(np.mean(ours - naive))
        assert (chosen[-1] == 0) == ("held-out queries" in trained.propensities.method)
    assert np.mean(lost) < -0.005
    assert np.mean(chosen) > 0.5 * np.mean(lost)


def test_the_bias_grows_from_none_to_the_truth() -> None:
    world = make_world(60, seed=0)
    logs = {n: click_log(world, n, examination=STEEP, seed=0) for n in (30, 500, 50_000)}
    assert bias_of_moves(logs[30]) is None
    assert bias_for_training(logs[30]).examination.tolist() == [1] * 6
    assert "too small to tell" in str(bias_for_training(logs[30]))
    off = [np.abs(np.log(bias_for_training(log).examination / STEEP)).max() for log in logs.values()]
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.15
    unmoved = click_log(make_world(60, n_rankings=1), 500)
    assert bias_of_moves(unmoved) is None


def test_propensities_that_contradict_the_log_are_warned_of() -> None:
    log, _ = misleading_log(3000, 0)
    ranker = sr.LambdaMART(METRIC, n_trees=2)
    with pytest.warns(sr.errors.SwaprankWarning, match=r"contradict the log: they say 0\.\d+ at position \d"):
        sr.clicks.train(ranker, log, sr.clicks.Propensities(np.arange(1, 7) ** -0.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Right, and a little wrong; click rates on purpose; too few sessions to say anything.
        sr.clicks.train(ranker, log, sr.clicks.Propensities(STEEP))
        sr.clicks.train(ranker, log, sr.clicks.Propensities(np.arange(1, 7) ** -1.4))
        sr.clicks.train(ranker, log, sr.clicks.Propensities(np.ones(6)))
        sr.clicks.train(ranker, log.subset(slice(0, 30)), sr.clicks.Propensities(np.arange(1, 7) ** -0.3))
