"""95% intervals from clicks contain the truth in about 95 of 100 logs, however seldom documents were shown.

The logs are those of `people.py`, or are made here. benchmarks/click_evaluation_coverage.py repeats this more often.
"""

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.clicks.people import World, click_log, make_world, placements, scores_of_pairs

pytestmark = pytest.mark.slow

METRICS = ["dcg@5(gain=linear)", "p@3", "mrr"]
N_LOGS = 100
FEWEST, MOST = 87, 100
"""Of 100 intervals at 95%, fewer contain the truth in one of a thousand tests."""


def true_values(relevance: Floats, scores: Floats) -> Floats:
    ranked = np.take_along_axis(relevance, np.argsort(-scores, axis=1), axis=1)
    ranks = np.arange(1, ranked.shape[1] + 1)
    reading = np.cumprod(np.hstack([np.ones((len(ranked), 1)), 1 - ranked[:, :-1]]), axis=1)
    dcg = ranked[:, :5] @ (1 / np.log2(1 + ranks[:5]))
    return np.array([np.mean(dcg), np.mean(ranked[:, :3]), np.mean((reading * ranked / ranks).sum(axis=1))])


def shown_few_times(relevance: Floats, times: int, examination: Floats, seed: int) -> sr.clicks.ClickLog:
    """Sessions of random queries that show all six documents in a random order, so that each is shown so often."""
    rng = np.random.default_rng(seed)
    n_queries, n_documents = relevance.shape
    query = rng.integers(n_queries, size=n_queries * times)
    document = np.argsort(rng.random((len(query), n_documents)), axis=1)
    click = rng.random(document.shape) < examination * relevance[query[:, None], document]
    return sr.clicks.ClickLog(
        session=np.repeat(np.arange(len(query)), n_documents),
        qid=np.repeat(query, n_documents),
        docid=(query[:, None] * n_documents + document).ravel(),
        position=np.tile(np.arange(1, n_documents + 1), len(query)),
        click=click.ravel().astype(float),
    )


@pytest.mark.parametrize("times", [1, 2, 10])
@pytest.mark.parametrize("eta", [1, 2])
def test_documents_that_were_shown_a_few_times(times: int, eta: int) -> None:
    rng = np.random.default_rng(11)
    relevance = 0.05 + 0.9 * rng.beta(1, 3, (150 if times < 10 else 40, 6))
    scores = relevance + 0.3 * rng.standard_normal(relevance.shape)
    truth, examination = true_values(relevance, scores), 1 / np.arange(1, 7) ** eta
    covered = np.zeros(3)
    widths, means = [], []
    for seed in range(N_LOGS):
        log = shown_few_times(relevance, times, examination, seed)
        given = scores_of_pairs(log, scores)
        rows = list(sr.clicks.evaluate(log, given, METRICS, propensities=sr.clicks.Propensities(examination)))
        covered += [row.low <= value <= row.high for row, value in zip(rows, truth, strict=True)]
        widths.append([(row.high - row.low) / 3.92 for row in rows])
        means.append([row.mean for row in rows])
        assert all(0 <= row.low <= row.mean <= row.high <= bound for row, bound in zip(rows, (2.95, 1, 1), strict=True))
    assert (covered >= FEWEST).all()
    assert (covered <= MOST).all()
    # Where clicks tell enough, intervals are not too wide, either.
    errors, deviations = np.median(widths, axis=0), np.std(means, axis=0)
    sums = slice(0, 2)
    assert (errors[sums] / deviations[sums]) == pytest.approx(1, abs=0.3)


def test_two_hundred_documents_of_one_query_that_were_shown_once() -> None:
    covered, widths = 0, []
    for seed in range(N_LOGS):
        rng = np.random.default_rng(seed)
        log = sr.clicks.ClickLog(
            session=np.repeat(np.arange(20), 10),
            qid=[1] * 200,
            docid=np.arange(200),
            position=np.tile(np.arange(1, 11), 20),
            click=(rng.random(200) < 0.3).astype(float),
        )
        (row,) = sr.clicks.evaluate(log, rng.random(200), "p@100", propensities=sr.clicks.Propensities(np.ones(10)))
        covered += row.low <= 0.3 <= row.high
        widths.append((row.high - row.low) / 3.92)
    assert covered >= FEWEST
    assert np.mean(widths) == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=0.1)


def test_differences() -> None:
    world = make_world(40, seed=4)
    relevance = world.mean_relevance * (placements(world, 6).max(axis=(0, 3)) > 0)
    rng = np.random.default_rng(0)
    first = np.where(relevance > 0, relevance + 0.3 * rng.standard_normal(relevance.shape), -9.0)
    second = np.where(relevance > 0, relevance + 0.3 * rng.standard_normal(relevance.shape), -9.0)
    truth = true_values(relevance, second) - true_values(relevance, first)
    covered = np.zeros(3)
    for seed in range(N_LOGS):
        log = click_log(world, 2000, seed=seed)
        systems = {"first": scores_of_pairs(log, first), "second": scores_of_pairs(log, second)}
        rows = list(sr.clicks.compare(log, systems, METRICS))
        covered += [row.low <= value <= row.high for row, value in zip(rows, truth, strict=True)]
    assert (covered >= FEWEST).all()


def personalised() -> tuple[World, Floats, float]:
    """A ranker that knows its users; the scores of a new ranking, and its true DCG@5."""
    world = make_world(30, n_rankings=8, personalised=True, seed=3)
    relevance = world.mean_relevance * (placements(world, 6).max(axis=(0, 3)) > 0)
    scores = np.where(relevance > 0, np.random.default_rng(5).random(relevance.shape) + relevance, -9.0)
    return world, scores, float(true_values(relevance, scores)[0])


def test_logged_propensities_make_up_for_a_ranker_that_knows_its_users() -> None:
    world, scores, truth = personalised()
    bias = sr.clicks.Propensities(1 / np.arange(1, 7))
    covered = {False: 0, True: 0}
    for seed in range(40):
        for logged in covered:
            log = click_log(world, 5000, propensity=logged, seed=seed)
            given = scores_of_pairs(log, scores)
            (row,) = sr.clicks.evaluate(log, given, METRICS[0], propensities=bias)
            covered[logged] += row.low <= truth <= row.high
    assert covered[True] >= 33  # of 40: one in a thousand
    assert covered[False] < 20


def test_other_queries_are_covered_by_units_of_queries() -> None:
    """Each log has its own 40 queries of a population of 2,000, whose mean is the truth."""
    world = make_world(2000, 6, seed=1)
    truth = float(true_values(world.mean_relevance, world.features[:, :, 0])[1])
    covered = {"sessions": 0, "queries": 0}
    for seed in range(N_LOGS):
        chosen = np.random.default_rng(seed).choice(2000, 40, replace=False)
        part = World(
            world.relevance[:, chosen], world.rankings[:, chosen], world.weights, world.share, world.features[chosen]
        )
        log = click_log(part, 4000, seed=seed)
        given, bias = scores_of_pairs(log, part.features[:, :, 0]), sr.clicks.Propensities(1 / np.arange(1, 7))
        for units in covered:
            (row,) = sr.clicks.evaluate(log, given, "p@3", propensities=bias, units=units)  # type: ignore[arg-type]
            covered[units] += row.low <= truth <= row.high
            assert row.n_units == (log.n_sessions if units == "sessions" else 40)
    assert covered["queries"] >= FEWEST
    assert covered["sessions"] < 80


def test_unknown_units_are_refused() -> None:
    log = click_log(make_world(5), 50)
    with pytest.raises(sr.errors.ParameterError, match="units"):
        sr.clicks.evaluate(log, np.zeros(log.n_pairs), units="users")  # type: ignore[arg-type]
