"""Simulated people click as their model says."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.clicks.click_worlds import judged


def is_near(count: Any, n: Any, probability: Any) -> Any:
    """Whether a binomial count is within five standard deviations of what is expected."""
    return np.abs(count - n * probability) <= 5 * np.sqrt(n * probability * (1 - probability)) + 1e-9


@pytest.mark.parametrize("trust", [0.0, 0.4, ([0.9] * 5, [0.5, 0.3, 0.2, 0.1, 0.0])])
def test_position_clicks_have_the_probability_of_their_place_and_document(trust: Any) -> None:
    data = judged(3)
    log, truth = sr.datasets.clicks(
        data, data.column("match"), 30_000, n_shown=5, trust=trust, bias=0.7, random_state=0
    )
    cell = log.document * 5 + log.position - 1
    shown, clicks = np.bincount(cell), np.bincount(cell, log.click)
    document, place = np.divmod(np.arange(len(shown)), 5)
    known = truth.propensities
    expected = known.alpha[place] * truth.relevance[document] + known.beta[place]
    assert is_near(clicks, shown, expected).all()
    np.testing.assert_allclose(known.examination, (1 / np.arange(1, 6)) ** 0.7)


def test_cascades_stop_at_the_first_click() -> None:
    data = judged(5)
    log, truth = sr.datasets.clicks(data, data.column("match"), 5000, model="cascade", random_state=0)
    assert np.add.reduceat(log.click, log.indptr[:-1]).max() == 1
    # The first document is always examined; the second if the first was not clicked.
    first, second = log.position == 1, log.position == 2
    assert is_near(log.click[first].sum(), 5000, truth.relevance[log.document[first]].mean())
    examined = 1 - log.click[first]
    assert examined.mean() == pytest.approx(truth.propensities.examination[1])
    assert (log.click[second] <= examined).all()


def test_people_who_are_never_satisfied_lose_patience() -> None:
    data = judged(5)
    blank = sr.Dataset(data.features, np.zeros(len(data)), qid=np.repeat(data.qids, 12))
    log, truth = sr.datasets.clicks(
        blank, data.column("match"), 50_000, model="dbn", persistence=0.8, noise=1.0, random_state=0
    )
    # With noise 1 every examined document is clicked, and with label 0 none satisfies.
    assert log.click[log.position == 1].all()
    assert is_near(truth.propensities.examination * 50_000, 50_000, 0.8 ** np.arange(10)).all()


def test_pages_show_the_best_documents_in_order() -> None:
    data = judged(8)
    log, truth = sr.datasets.clicks(data, data.column("match"), 100, moves=0, n_shown=4, random_state=0)
    for session in range(log.n_sessions):
        rows = data.rows(int(np.flatnonzero(data.qids == log.qids[log.query[session]])[0]))
        best = rows[np.argsort(-data.column("match")[rows], kind="stable")[:4]]
        assert truth.row[log.document[log.indptr[session] : log.indptr[session + 1]]].tolist() == best.tolist()
    np.testing.assert_array_equal(log.features, data.features[truth.row])
    assert log.summarize().n_moved == 0


def test_long_lists_are_cut_as_short_ones() -> None:
    (data,) = sr.datasets.random_search(3, n_documents=100, random_state=0)
    scores = np.round(data.column("match") / 3)  # with ties
    log, truth = sr.datasets.clicks(data, scores, 20, moves=0, n_shown=7, random_state=0)
    for session in range(log.n_sessions):
        shown = truth.row[log.document[log.indptr[session] : log.indptr[session + 1]]]
        of_query = shown[0] // 100 * 100 + np.arange(100)
        assert sorted(scores[shown], reverse=True) == scores[shown].tolist()
        assert scores[shown].min() >= np.sort(scores[of_query])[-7]


def test_swaps_exchange_one_pair_of_neighbours_in_half_of_the_chosen_sessions() -> None:
    data = judged(4)
    log, _ = sr.datasets.clicks(data, data.column("match"), 4000, moves=0, swaps=0.6, n_shown=4, random_state=0)
    still, _ = sr.datasets.clicks(data, data.column("match"), 4000, moves=0, n_shown=4, random_state=0)
    usual = {
        q: still.pair_docid[still.document[still.indptr[s] : still.indptr[s + 1]]] for s, q in enumerate(still.query)
    }
    pages = log.pair_docid[log.document].reshape(-1, 4)
    moved = pages != np.stack([usual[q] for q in log.query])
    assert set(moved.sum(axis=1).tolist()) == {0, 2}
    assert is_near(moved.any(axis=1).sum(), 4000, 0.3)
    assert is_near(moved[:, 0].sum(), 4000, 0.1)


def test_several_rankers_share_the_sessions() -> None:
    data = judged(2)
    one, two = data.column("match"), -data.column("match")
    log, truth = sr.datasets.clicks(data, [one, two], 1000, moves=0, n_shown=1, random_state=0)
    best = np.isin(truth.row[log.document], [data.rows(q)[np.argmax(one[data.rows(q)])] for q in range(2)])
    assert is_near(best.sum(), 1000, 0.5)


def test_short_lists_are_shown_whole() -> None:
    data = sr.Dataset(np.ones((5, 1)), [0, 1, 0, 1, 2], qid=[1, 1, 2, 2, 2])
    log, _ = sr.datasets.clicks(data, np.arange(5.0), 50, n_shown=3, random_state=0)
    assert np.diff(log.indptr).tolist() == np.where(log.qids[log.query] == 1, 2, 3).tolist()


def test_rankers_and_scores_give_the_same_log_and_seeds_repeat_it() -> None:
    data = judged(20)
    ranker = sr.LinearRegressionRanker().fit(data)
    logs = [sr.datasets.clicks(data, each, 100, random_state=3).log for each in (ranker, ranker.predict(data))]
    other = sr.datasets.clicks(data, ranker, 100, random_state=4).log
    assert logs[0].document.tolist() == logs[1].document.tolist()
    assert logs[0].click.tolist() == logs[1].click.tolist()
    assert logs[0].document.tolist() != other.document.tolist()


@pytest.mark.parametrize(
    "wrong",
    [{"model": "pbm"}, {"bias": -1}, {"bias": [1, 0.5]}, {"trust": 1}, {"noise": 2}, {"moves": -1}, {"n_shown": 0}],
)
def test_impossible_worlds_are_errors(wrong: dict[str, Any]) -> None:
    data = judged(2)
    with pytest.raises(sr.errors.SwaprankError, match=next(iter(wrong)).replace("model", "click model")):
        sr.datasets.clicks(data, data.column("match"), 10, **wrong)
