"""Estimates from logs are right on average, their intervals hold what they promise, and doubts are said."""

from typing import get_args

import numpy as np
import pytest

import swaprank as sr
from swaprank.clicks.evaluation.log_values import check_countable, log_value
from swaprank.clicks.evaluation.log_variance import LogView, expect
from swaprank.clicks.evaluation.ranked_pairs import RankedPairs, feature_of_pairs, new_ranks
from swaprank.clicks.learning.relevance_estimates import Estimator, relevance_of_pairs, row_shares
from tests.clicks.click_worlds import judged, true_relevance, true_values

pytestmark = pytest.mark.slow

METRICS = ["dcg@5(gain=linear)", "p@3", "mrr", "success@3"]


def short(metric: str) -> str:
    return metric.partition("(")[0]


@pytest.fixture(scope="module")
def world() -> sr.Dataset:
    return judged(30)


@pytest.mark.parametrize("trust", [0.0, 0.3])
@pytest.mark.parametrize("estimator", ["self_normalized", "ips"])
def test_estimates_are_right_on_average_and_intervals_cover(
    world: sr.Dataset, estimator: Estimator, trust: float
) -> None:
    """benchmarks/click_evaluation_coverage.py repeats this often enough for a bar of 92 to 98%."""
    new = world.column("authority").astype(float)
    truth = true_values(world, new)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in METRICS}
    for seed in range(60):
        log, known = sr.datasets.clicks(world, world.column("match"), 2500, moves=1, trust=trust, random_state=seed)
        estimates = sr.clicks.evaluate(
            log, new, METRICS, propensities=known.propensities, data=world, estimator=estimator
        )
        for name, row in zip(METRICS, estimates, strict=True):
            found[name].append((row.mean, row.low <= truth[short(name)] <= row.high, row.high - row.low))
    for name, rows in found.items():
        means, covered, widths = np.array(rows, dtype=float).T
        # What cascades are off by is small beside their noise.
        little = 0.0 if name in METRICS[:2] else 0.25 * means.std()
        assert abs(means.mean() - truth[short(name)]) < 4 * means.std() / np.sqrt(len(means)) + little, name
        assert covered.mean() > 0.85, name  # 51 of 60: three standard deviations below 95%
        assert widths.mean() / 3.92 == pytest.approx(means.std(), rel=0.3), name


def test_intervals_contain_the_uncertainty_of_the_position_bias(world: sr.Dataset) -> None:
    new = world.column("authority").astype(float)
    truth = true_values(world, new)
    rows = []
    for seed in range(60):
        log, _ = sr.datasets.clicks(world, world.column("match"), 2500, moves=1, random_state=seed)
        (row,) = sr.clicks.evaluate(log, new, "dcg@5(gain=linear)", data=world)
        rows.append((row.mean, row.low <= truth["dcg@5"] <= row.high, row.high - row.low))
    means, covered, widths = np.array(rows, dtype=float).T
    assert covered.mean() > 0.85
    assert widths.mean() / 3.92 == pytest.approx(means.std(), rel=0.3)


def test_derivatives_are_those_of_the_estimate(world: sr.Dataset) -> None:
    """Numeric against analytic: the relevance of one pair, and the logarithm of one propensity."""
    log, known = sr.datasets.clicks(world, world.column("match"), 400, moves=1, random_state=1)
    indptr = np.array(log.pair_indptr)
    ranks = new_ranks(np.random.default_rng(0).random(log.n_pairs), indptr, np.arange(log.n_pairs))
    ranked, step, sessions = RankedPairs(ranks, np.diff(indptr)), 1e-5, np.bincount(log.query)
    for name in METRICS:
        metric = check_countable(sr.metric(name))
        for estimator in get_args(Estimator):
            shares = row_shares(log, known.propensities, estimator)
            expected = expect(LogView(log, shares, None, "sessions"), [ranked]).relevance
            start = log_value(log, shares, ranked, metric, expected)
            bumped = expected.copy()
            bumped[7] += step
            found, _ = relevance_of_pairs(log, shares)
            moved = log_value(log, shares, ranked, metric, bumped)
            # What the value is at the expected relevance, without the step to the estimates.
            change = (moved.values.sum() - moved.slopes @ (found - bumped)) - (
                start.values.sum() - start.slopes @ (found - expected)
            )
            assert change / step == pytest.approx(start.slopes[7], rel=1e-3, abs=1e-7)
            examination = known.propensities.examination.copy()
            examination[2] *= np.exp(step)
            other = row_shares(log, sr.clicks.Propensities(examination), estimator)
            moved = log_value(log, other, ranked, metric, expected)
            change = np.sum(sessions * (moved.values - start.values)) / log.n_sessions
            assert change / step == pytest.approx(start.by_position[2], rel=1e-3, abs=1e-7)


def test_the_shown_ranking_is_estimated_as_its_clicks(world: sr.Dataset) -> None:
    """If every session shows the same list, dcg with the propensities as discounts is the number of clicks."""
    log, known = sr.datasets.clicks(world, world.column("match"), 3000, moves=0, random_state=0)
    theta = known.propensities.examination
    clicks = sr.metrics.CumulativeMetric(
        gain=lambda label: label, discount=lambda rank: theta[rank - 1] if rank <= 10 else 0.0, normalize=False, k=10
    )
    shown = feature_of_pairs(log, "match")
    result = sr.clicks.evaluate(log, shown, clicks, propensities=known.propensities)
    assert result.results[0].mean == pytest.approx(log.click.sum() / log.n_sessions)


def test_the_better_of_two_rankings_is_found(world: sr.Dataset) -> None:
    log, known = sr.datasets.clicks(world, world.column("match"), 4000, moves=1, random_state=3)
    systems = {"authority": world.column("authority"), "ideal": true_relevance(world), "match": world.column("match")}
    comparison = sr.clicks.compare(log, systems, ["dcg@5(gain=linear)", "mrr"], data=world)
    truth = {name: true_values(world, np.asarray(scores, float)) for name, scores in systems.items()}
    for row in comparison:
        name = short(row.metric)
        true_difference = truth[row.system][name] - truth["authority"][name]
        assert abs(row.difference - true_difference) < 2 * (row.high - row.low)
    ideal = next(iter(comparison))
    assert ideal.system == "ideal"
    assert ideal.low > 0
    assert ideal.p < 0.001
    assert "ideal is better than authority" in str(comparison)
    own = sr.clicks.compare(log, {"a": known.relevance, "b": known.relevance}, "p@5")
    assert "no difference" in own.differences[0].sentence()


def test_doubts_are_said_by_evaluate_and_by_compare(world: sr.Dataset) -> None:
    log, known = sr.datasets.clicks(world, world.column("match"), 60, n_shown=3, moves=0, random_state=0)
    reverse, bias = -world.column("match"), known.propensities
    (row,) = sr.clicks.evaluate(log, reverse, "p@5", propensities=bias, data=world)
    assert not row.is_supported
    assert row.coverage < 0.2
    assert "does not support an answer" in row.sentence()
    assert "never showed" in row.sentence()
    systems = {"match": world.column("match"), "reverse": reverse}
    comparison = sr.clicks.compare(log, systems, "p@5", propensities=bias, data=world)
    (difference,) = comparison
    assert set(row.doubts()) <= set(difference.doubts)
    assert not difference.is_significant
    assert np.isnan(difference.p)
    assert "does not support an answer" in str(comparison)
    assert " better " not in str(comparison)
    (clipped,) = sr.clicks.evaluate(log, known.relevance, "p@5", propensities=bias, estimator="ips", clip=0.4)
    assert clipped.clipped == pytest.approx(1 / 3)
    assert "too low" in clipped.sentence()
    with pytest.raises(sr.errors.DataError, match="cannot tell the position bias"):
        sr.clicks.evaluate(log, known.relevance)


@pytest.mark.parametrize("metric", ["ndcg@10", "map", "recall@5", "bpref"])
def test_metrics_that_clicks_cannot_tell_are_refused(world: sr.Dataset, metric: str) -> None:
    log, known = sr.datasets.clicks(world, world.column("match"), 20, random_state=0)
    with pytest.raises(sr.errors.MetricError, match="use a sum"):
        sr.clicks.evaluate(log, known.relevance, metric, propensities=known.propensities)
    with pytest.raises(sr.errors.MetricError, match=r"write 'dcg@10\(gain=linear\)'"):
        sr.clicks.evaluate(log, known.relevance, "dcg@10", propensities=known.propensities)


def test_rankers_score_the_documents_of_a_log(world: sr.Dataset) -> None:
    log, known = sr.datasets.clicks(world, world.column("match"), 2000, moves=1, random_state=0)
    ranker = sr.LinearRegressionRanker().fit(world)
    by_ranker = sr.clicks.evaluate(log, ranker, "p@5", propensities=known.propensities)
    by_scores = sr.clicks.evaluate(log, ranker.predict(world)[known.row], "p@5", propensities=known.propensities)
    assert by_ranker.to_dict() == by_scores.to_dict()


def test_the_order_of_rows_does_not_matter(world: sr.Dataset) -> None:
    log, known = sr.datasets.clicks(world, world.column("match"), 300, moves=1, random_state=0)
    order = np.random.default_rng(0).permutation(log.n_rows)
    shuffled = sr.clicks.ClickLog(
        session=log.session[order],
        qid=log.qids[log.query[log.session]][order],
        docid=log.pair_docid[log.document][order],
        position=log.position[order],
        click=log.click[order],
    )
    assert shuffled.pair_docid.tolist() != log.pair_docid.tolist()
    for name in METRICS:
        first, second = (
            sr.clicks.evaluate(each, np.zeros(each.n_pairs), name, propensities=known.propensities)[name]
            for each in (log, shuffled)
        )
        assert first.mean == pytest.approx(second.mean, rel=1e-12)
        assert first.high == pytest.approx(second.high, rel=1e-12)


@pytest.mark.parametrize("click_rate", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("trust", [0.0, 0.3])
def test_no_estimate_has_more_effective_clicks_than_the_log(click_rate: float, trust: float) -> None:
    rng = np.random.default_rng(0)
    log = sr.clicks.ClickLog(
        session=np.repeat(np.arange(20), 5),
        qid=np.repeat(np.arange(20) % 2, 5),
        docid=np.tile(np.arange(5), 20),
        position=np.tile(np.arange(1, 6), 20),
        click=(rng.random(100) < click_rate).astype(float),
    )
    theta, plus = 1 / np.arange(1, 6), np.ones(5)
    bias = sr.clicks.Propensities(theta, epsilon_plus=plus, epsilon_minus=trust * theta)
    for row in sr.clicks.evaluate(log, rng.random(10), METRICS, propensities=bias):
        # What is expected is drawn a little toward other documents.
        assert 0 <= row.n_effective <= 1.1 * log.click.sum() + 1
        assert row.low <= row.mean <= row.high
        if click_rate == 0:
            assert row.low == 0
            assert row.high >= 0.9
            assert not row.is_supported
    systems = {"a": rng.random(10), "b": rng.random(10)}
    (difference,) = sr.clicks.compare(log.subset(log.query == 0), systems, "p@3", propensities=bias, units="queries")
    assert not difference.is_supported
    assert "at least two" in difference.sentence()
