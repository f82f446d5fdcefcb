"""Preferences are those of a loop over sessions, right on average wherever documents stand, and RankNet learns them."""

import numpy as np
import pytest

import swaprank as sr
from tests.clicks.click_worlds import judged
from tests.clicks.people import click_log, make_world, scores_of_pairs


def naive_wins(log: sr.clicks.ClickLog, bias: sr.clicks.Propensities) -> dict[tuple[int, int], tuple[float, float]]:
    """The wins of each document over each other one, and the clicks behind them."""
    wins: dict[tuple[int, int], tuple[float, float]] = {}
    for start, stop in zip(log.indptr[:-1], log.indptr[1:], strict=True):
        for one in range(start, stop):
            for other in range(start, stop):
                if one != other:
                    gain = log.click[one] - bias.beta[log.position[one] - 1]
                    pair = int(log.document[one]), int(log.document[other])
                    won, clicks = wins.get(pair, (0.0, 0.0))
                    won += gain * bias.alpha[log.position[other] - 1]
                    wins[pair] = won, clicks + log.click[one]
    return wins


@pytest.mark.parametrize("trust", [0.0, 0.3])
def test_probabilities_are_those_that_a_loop_counts(trust: float) -> None:
    data = judged(3)
    log, truth = sr.datasets.clicks(data, data.column("match"), 200, moves=1, trust=trust, random_state=0)
    wins = naive_wins(log, truth.propensities)
    found = sr.clicks.preferences(log, truth.propensities, prior=0.5)
    assert found.pairs is not None
    assert found.docid is not None
    name = {docid: number for number, docid in enumerate(log.pair_docid.tolist())}
    seen = set()
    for above, below, probability, weight in zip(*(each.tolist() for each in found.pairs), strict=True):
        assert weight == 1
        first, second = name[found.docid[above]], name[found.docid[below]]
        (won, clicks), (lost, more) = wins[first, second], wins[second, first]
        won, lost = max(won, 0.0), max(lost, 0.0)
        imaginary = 0.5 * (won + lost) / (clicks + more)
        assert probability == pytest.approx((won + imaginary) / (won + lost + 2 * imaginary))
        assert probability >= 0.5
        seen.add(frozenset((first, second)))
    clicked = {frozenset(pair) for pair, (_, clicks) in wins.items() if clicks > 0}
    assert seen <= clicked
    assert len(seen) > 0.8 * len(clicked)
    assert len(seen) == len(found.pairs.above)


def test_wins_do_not_depend_on_who_stands_above() -> None:
    world = make_world(15, 5, n_rankings=3, quality=0.0, seed=3)
    theta = np.array([1.0, 0.5, 0.3, 0.2])
    log = click_log(world, 30_000, n_shown=4, examination=theta, seed=1, features=True)
    found = sr.clicks.preferences(log, sr.clicks.Propensities(theta))
    assert found.pairs is not None
    relevance = scores_of_pairs(log, world.mean_relevance)
    above, below = relevance[found.pairs.above], relevance[found.pairs.below]
    # All documents were shown, so that rows are pairs of the log.
    assert len(found) == log.n_pairs
    truth = above / (above + below)
    errors = np.abs(found.pairs.probability - truth)
    assert np.quantile(errors, 0.95) < 0.1
    # With click rates instead, who stands above wins.
    flat = sr.clicks.preferences(log, sr.clicks.Propensities(np.ones(4))).pairs
    assert flat is not None
    wrong = np.abs(flat.probability - relevance[flat.above] / (relevance[flat.above] + relevance[flat.below]))
    assert errors.mean() < 0.5 * wrong.mean()


@pytest.mark.parametrize("people", ["position", "cascade", "dbn"])
def test_ranknet_ranks_like_relevance_if_most_documents_moved(people: str) -> None:
    world, other = (make_world(60, quality=0.3, seed=seed) for seed in (0, 1))
    log = click_log(world, 6000, people=people, seed=0, features=True)  # type: ignore[arg-type]
    summary = log.summarize()
    assert summary.n_moved > 0.8 * summary.n_documents
    relevance = other.mean_relevance
    shape = (relevance.size, -1)
    test = sr.Dataset(other.features.reshape(shape), relevance.ravel(), group=[relevance.shape[1]] * len(relevance))
    ranker = sr.RankNet(hidden=(), n_epochs=10, random_state=0).fit(sr.clicks.preferences(log))

    def quality(scores: object) -> float:
        return sr.evaluate(test, scores, "ndcg@5(gain=linear)").results[0].mean

    production = np.empty(relevance.shape)
    np.put_along_axis(production, other.rankings[0], -np.arange(relevance.shape[1])[None, :] * 1.0, axis=1)
    best = quality(test.features[:, 0] + test.features[:, 1])
    assert quality(production.ravel()) < quality(ranker.predict(test)) - 0.1
    assert quality(ranker.predict(test)) > best - 0.02


def test_logs_without_preferences_are_errors() -> None:
    log = sr.clicks.ClickLog(session=[1, 1], qid=[1, 1], docid=[1, 2], position=[1, 2], click=[0, 0], X=np.ones((2, 1)))
    with pytest.raises(sr.errors.DataError, match="no preferences"):
        sr.clicks.preferences(log)
    with pytest.raises(sr.errors.ParameterError, match="prior"):
        sr.clicks.preferences(log, prior=0)
