"""Estimated position bias is that of the simulation, and a log that cannot tell it says so."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.bias.harvesting import harvested_examination
from swaprank.clicks.logs.click_counts import ClickCounts, bootstrapped, count_rows
from tests.clicks.click_worlds import judged

pytestmark = pytest.mark.slow


def some_counts(seed: int = 0) -> tuple[ClickCounts, Any]:
    data = judged(10)
    log, _ = sr.datasets.clicks(data, data.column("match"), 2000, n_shown=4, random_state=seed)
    return count_rows(log.document, log.position, log.click, log.session, log.n_sessions)


def naive_cost(logs: Floats, counts: ClickCounts) -> float:
    """Minus the conditional log likelihood: of all clicks on a document, which share is at which position?"""
    theta, cost = np.exp(np.append(0.0, logs)), 0.0
    for unit in range(len(counts.unit)):
        cells = slice(counts.indptr[unit], counts.indptr[unit + 1])
        expected = counts.shown[cells] * theta[counts.position[cells]]
        cost -= float(counts.clicks[cells] @ np.log(expected / expected.sum()))
    return cost


def test_counts_are_those_of_a_loop() -> None:
    data = judged(4)
    log, _ = sr.datasets.clicks(data, data.column("match"), 300, n_shown=4, random_state=0)
    counts, rows = count_rows(log.document, log.position, log.click, log.session, log.n_sessions)
    found = {
        (int(unit), int(counts.position[cell])): (counts.shown[cell], counts.clicks[cell])
        for number, unit in enumerate(counts.unit)
        for cell in range(counts.indptr[number], counts.indptr[number + 1])
    }
    wanted: dict[tuple[int, int], tuple[float, float]] = {}
    for document, position, click in zip(log.document.tolist(), log.position.tolist(), log.click.tolist(), strict=True):
        shown, clicks = wanted.get((document, position - 1), (0.0, 0.0))
        wanted[document, position - 1] = shown + 1, clicks + click
    assert found == wanted

    def shown_and_clicks(each: ClickCounts) -> Floats:
        return np.concatenate((each.shown, each.clicks))

    # All rows of a session have the weight of the session, which is 1 on average with variance 1.
    resamples = np.stack(bootstrapped(counts, rows, shown_and_clicks, 1000, np.random.default_rng(0), 1))
    totals = resamples[:, : len(counts.shown)].sum(axis=1)
    assert (totals % 4 == 0).all()
    assert totals.mean() == pytest.approx(1200, abs=5 * 4 * np.sqrt(300 / 1000))
    assert totals.std() == pytest.approx(4 * np.sqrt(300), rel=0.15)


def test_harvesting_maximizes_the_likelihood() -> None:
    counts, _ = some_counts()
    found = harvested_examination(counts, np.ones(4))
    best = minimize(naive_cost, np.zeros(3), (counts,), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found, np.exp(np.append(0.0, best.x)), rtol=1e-4)
    # From anywhere, the same maximum.
    np.testing.assert_allclose(harvested_examination(counts, np.array([1.0, 50.0, 1e-4, 3.0])), found, rtol=1e-8)


@pytest.mark.parametrize("method", ["harvest", "swaps", "regression"])
@pytest.mark.parametrize("bias", [0.5, 1.5])
def test_estimates_approach_the_truth(method: Any, bias: float) -> None:
    data = judged(60)
    log, truth = sr.datasets.clicks(
        data, data.column("match"), 60_000, n_shown=5, bias=bias, moves=0.4, swaps=0.5, random_state=0
    )
    found = sr.clicks.position_bias(log, method, n_resamples=0)
    # Trees are not exactly right about the relevance.
    np.testing.assert_allclose(found.examination, truth.propensities.examination, rtol=0.1)
    assert found.low is None


def test_harvesting_does_not_need_to_know_the_relevance() -> None:
    """The production ranker is nearly perfect, so that click rates alone exaggerate the bias."""
    data = judged(60)
    log, truth = sr.datasets.clicks(data, data.labels + 0.01 * data.column("match"), 60_000, n_shown=5, random_state=0)
    known = truth.propensities.examination
    rate = np.array(log.summarize().click_rate)
    assert (rate[1:] / rate[0] < 0.8 * known[1:]).all()
    found = sr.clicks.position_bias(log)
    assert found.low is not None
    assert found.high is not None
    np.testing.assert_allclose(found.examination, known, rtol=0.1)


@pytest.mark.parametrize("method", ["harvest", "swaps"])
def test_intervals_contain_the_truth_as_often_as_they_say(method: Any) -> None:
    data, inside = judged(20), []
    for seed in range(60):
        log, truth = sr.datasets.clicks(
            data, data.column("match"), 2000, n_shown=4, moves=0.4, swaps=0.5, random_state=seed
        )
        found = sr.clicks.position_bias(log, method, n_resamples=60, random_state=seed)
        known = truth.propensities.examination[1:]
        assert found.low is not None
        assert found.high is not None
        inside += ((found.low[1:] <= known) & (known <= found.high[1:])).tolist()
    # 180 intervals, three of each log related: 95% give or take three standard deviations, and a little bias.
    assert 0.88 <= np.mean(inside) <= 1.0
    widths = np.log(found.high[1:] / found.low[1:])  # type: ignore[index]
    assert (widths > 0.05).all()


def test_trust_bias_is_found() -> None:
    data = judged(80)
    log, truth = sr.datasets.clicks(
        data, data.column("match"), 200_000, n_shown=4, trust=0.5, moves=0.5, random_state=0
    )
    found, known = sr.clicks.position_bias(log, "trust", n_resamples=0), truth.propensities

    def determined(bias: sr.clicks.Propensities) -> Floats:
        """What clicks tell: alpha and beta up to the origin and the unit of relevance."""
        slope = bias.alpha / bias.alpha[0]
        return np.concatenate((slope, bias.beta - slope * bias.beta[0]))

    np.testing.assert_allclose(determined(found), determined(known), atol=0.03)
    # Without trust bias in the model, the examination of the lower positions seems smaller than it is.
    plain = sr.clicks.position_bias(log, n_resamples=0)
    assert (plain.examination[1:] < 0.9 * known.examination[1:]).all()
    assert found.beta.min() == pytest.approx(0, abs=1e-12)
    assert found.examination[0] == pytest.approx(1)


def test_without_trust_bias_none_is_found() -> None:
    data = judged(80)
    log, truth = sr.datasets.clicks(data, data.column("match"), 100_000, n_shown=4, random_state=0)
    found = sr.clicks.position_bias(log, "trust")
    assert found.beta.max() < 0.06
    assert found.low is not None
    np.testing.assert_allclose(found.examination, truth.propensities.examination, rtol=0.1)


def test_grades_tell_the_same_as_clicks() -> None:
    data = judged(30)
    log, truth = sr.datasets.clicks(data, data.column("match"), 50_000, n_shown=4, random_state=0)
    dwell = log.click * np.random.default_rng(0).uniform(0.2, 1, log.n_rows)
    graded = sr.clicks.ClickLog(
        session=log.session, qid=log.pair_query[log.document], docid=log.document, position=log.position, click=dwell
    )
    found = sr.clicks.position_bias(graded, n_resamples=0)
    np.testing.assert_allclose(found.examination, truth.propensities.examination, rtol=0.1)


@pytest.mark.parametrize("method", ["harvest", "swaps", "trust"])
def test_a_log_in_which_nothing_moved_cannot_tell(method: Any) -> None:
    data = judged(20)
    log, _ = sr.datasets.clicks(data, data.column("match"), 5000, moves=0, random_state=0)
    with pytest.raises(
        sr.errors.DataError, match=r"cannot tell the position bias: no .* shown .* and clicked\. Log more"
    ):
        sr.clicks.position_bias(log, method)


def test_positions_that_no_document_connects_are_named() -> None:
    """Documents moved between positions 1 and 2, and between 3 and 4, but not from the first two to the others."""
    rows = [
        (session, "q", document, position, 1)
        for session in range(4)
        for document, position in zip("abcd", (1, 2, 3, 4) if session % 2 else (2, 1, 4, 3), strict=True)
    ]
    session, qid, docid, position, click = zip(*rows, strict=True)
    log = sr.clicks.ClickLog(session=session, qid=qid, docid=docid, position=position, click=click)
    with pytest.raises(sr.errors.DataError, match=r"at position 3, 4 relative to position 1: .*max_position=2"):
        sr.clicks.position_bias(log)
    assert sr.clicks.position_bias(log, max_position=2).examination.tolist() == pytest.approx([1, 1])


def test_a_position_without_clicks_cannot_be_told() -> None:
    """Documents move between all positions, but nobody ever clicks at position 3: the best estimate would be 0."""
    rows = [
        (session, "q", document, (shift + session) % 3 + 1)
        for session in range(30)
        for shift, document in enumerate("abc")
    ]
    session, qid, docid, position = map(list, zip(*rows, strict=True))
    click = [float(place < 3) for place in position]
    log = sr.clicks.ClickLog(session=session, qid=qid, docid=docid, position=position, click=click)
    with pytest.raises(sr.errors.DataError, match="at position 3 relative"):
        sr.clicks.position_bias(log)
    with pytest.raises(sr.errors.DataError, match="needs features"):
        sr.clicks.position_bias(log, "regression")


def test_threads_change_nothing() -> None:
    data = judged(20)
    log, _ = sr.datasets.clicks(data, data.column("match"), 2000, n_shown=4, random_state=0)
    one, two = (sr.clicks.position_bias(log, n_threads=n, n_resamples=20).to_dict() for n in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "em"}, "there is no method 'em'"),
        ({"max_position": 1}, "max_position must be from 2 to 4"),
        ({"n_resamples": 3}, "at least 20"),
    ],
)
def test_impossible_options_are_errors(options: dict[str, Any], message: str) -> None:
    data = judged(5)
    log, _ = sr.datasets.clicks(data, data.column("match"), 50, n_shown=4, random_state=0)
    with pytest.raises(sr.errors.ParameterError, match=message):
        sr.clicks.position_bias(log, **options)


def test_gaps_between_positions_are_named() -> None:
    log = sr.clicks.ClickLog(
        session=[1, 1, 1, 2, 2, 2],
        qid=[7] * 6,
        docid=[1, 2, 3, 2, 1, 3],
        position=[1, 2, 4] * 2,
        click=[1, 0, 1, 1, 0, 0],
    )
    with pytest.raises(sr.errors.DataError, match="no document was shown at position 3, but some were further down"):
        sr.clicks.position_bias(log)
