"""Estimates from logged propensities: exact expectations over all outcomes, coverage, and doubts in words."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks import ClickLog, Policy, compare_policies, evaluate_policy
from swaprank.clicks.policies.policy_values import PolicyEstimator, policy_values
from swaprank.clicks.policies.policy_weights import weigh_rows
from tests.clicks.people import click_log, make_world
from tests.clicks.policy_worlds import all_documents, mixture, true_clicks

EXAMINATION = 1 / np.arange(1, 7)
RATES = np.array([[[0.9, 0.3], [0.5, 0.2], [0.1, 0.6]], [[0.2, 0.3], [0.7, 0.8], [0.4, 0.4]]])
"""Type of user x document x place: the probability of a click."""
PAGES = ((0, 1), (1, 2), (2, 0))
CHANCES = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
"""Type of user x page: how likely the policy that is logged shows the page."""
TARGET = np.array([[0.7, 0.1], [0.0, 0.9], [0.3, 0.0]])
"""Document x place."""


def all_sessions() -> Iterator[tuple[float, int, dict[str, Any]]]:
    """Every session that can happen: its probability, the type of user, and the columns of its rows."""
    for user, page, clicks in product(range(2), range(3), product((0, 1), repeat=2)):
        rates = [RATES[user, document, place] for place, document in enumerate(PAGES[page])]
        chance = 0.5 * CHANCES[user, page]
        for rate, click in zip(rates, clicks, strict=True):
            chance *= rate if click else 1 - rate
        # Each document is at each place of one page at most.
        yield chance, user, {"docid": PAGES[page], "click": clicks, "propensity": [CHANCES[user, page]] * 2}


def columns_of(log: ClickLog) -> dict[str, Any]:
    assert log.propensity is not None
    return {
        "session": log.session_ids[log.session],
        "qid": log.qids[log.query[log.session]],
        "docid": log.pair_docid[log.document],
        "position": log.position,
        "click": log.click,
        "propensity": log.propensity,
    }


@pytest.mark.parametrize("estimator", ["ips", "doubly_robust"])
def test_estimates_are_right_on_average_over_all_outcomes(estimator: PolicyEstimator) -> None:
    """All logs of two sessions, which are in different folds; a document may be missing in a log."""
    truth = float(np.sum(TARGET * RATES.mean(axis=0)))
    mean = total = 0.0
    for (p, _, first), (q, _, second) in product(all_sessions(), repeat=2):
        columns: dict[str, Any] = {name: [*first[name], *second[name]] for name in first}
        log = ClickLog(session=["a", "a", "c", "c"], qid=[1] * 4, position=[1, 2, 1, 2], **columns)
        policy = Policy(log, TARGET[log.pair_docid])._with(filled=TARGET.sum(axis=0)[None, :])
        mean += p * q * policy_values(log, policy, weigh_rows(log, policy), estimator)["clicks"].mean
        total += p * q
    assert total == pytest.approx(1)
    assert mean == pytest.approx(truth, abs=1e-10)


def test_so_are_those_of_a_policy_that_knows_the_user() -> None:
    chances = np.array([[0.1, 0.2, 0.7], [0.8, 0.2, 0.0]])  # type of user x page
    truth = mean = 0.0
    for p, user, columns in all_sessions():
        page = PAGES.index(columns["docid"])
        log = ClickLog(session=["a", "a"], qid=[1, 1], position=[1, 2], **columns)
        policy = Policy.contextual(log, [chances[user, page]] * 2)
        mean += p * policy_values(log, policy, weigh_rows(log, policy), "ips")["clicks"].mean
        truth += p / CHANCES[user, page] * chances[user, page] * sum(columns["click"])
    assert mean == pytest.approx(truth, abs=1e-10)
    rates = [[sum(RATES[user, d, k] for k, d in enumerate(page)) for page in PAGES] for user in range(2)]
    assert truth == pytest.approx(0.5 * np.sum(chances * rates))


def test_self_normalized_divides_by_the_weights_of_each_place() -> None:
    world = make_world(5, seed=3)
    log = click_log(world, 300, propensity=True, seed=1)
    policy = mixture(world, log, np.array([0.5, 0, 0.25, 0, 0, 0.25]))
    assert policy.placements is not None
    assert log.propensity is not None
    clicks, weights = np.zeros(7), np.zeros(7)
    for row in range(log.n_rows):
        place = log.position[row]
        weight = policy.placements[log.document[row], place - 1] / log.propensity[row]
        clicks[place] += weight * log.click[row]
        weights[place] += weight
    found = evaluate_policy(log, policy)
    assert found["clicks"].mean == pytest.approx(np.sum(clicks[1:] / weights[1:]))
    assert found["ctr"].mean == pytest.approx(np.mean(clicks[1:] / weights[1:]))
    assert found["clicks"].mean_weight == pytest.approx(weights.sum() / log.n_rows)


@pytest.mark.parametrize("estimator", ["ips", "self_normalized"])
def test_variances_are_those_of_leaving_out_one_session(estimator: PolicyEstimator) -> None:
    """The influence of a session on the click rate is what a jackknife finds, up to 1 / n; pages have 1 to 3 places."""
    whole_pages = click_log(make_world(2, 3, seed=3), 600, n_shown=3, propensity=True)
    kept = whole_pages.position <= 1 + whole_pages.session % 3
    log = ClickLog(**{name: column[kept] for name, column in columns_of(whole_pages).items()})
    policy = Policy.ranking(log, np.arange(float(log.n_pairs)))

    def value(part: ClickLog) -> Any:
        return policy_values(part, policy, weigh_rows(part, policy), estimator)["ctr"]

    whole, everything, left_out = value(log), np.arange(600), np.arange(90)
    without = np.array([value(log.subset(everything[everything != left])).mean for left in left_out])
    np.testing.assert_allclose(whole.influence[:90] / 600, whole.mean - without, atol=0.005 * np.ptp(without))


@pytest.mark.parametrize("estimator", ["ips", "self_normalized"])
def test_the_logged_policy_gets_what_the_log_has(estimator: PolicyEstimator) -> None:
    world = make_world(5, seed=3, personalised=True)
    log = click_log(world, 400, propensity=True)
    found = evaluate_policy(log, Policy.logged(log), estimator=estimator)
    assert found["ctr"].mean == pytest.approx(log.click.mean(), rel=1e-12)
    assert found["clicks"].mean == pytest.approx(log.click.sum() / 400, rel=1e-12)
    assert found["ctr"].n_effective == pytest.approx(log.click.sum())
    assert found["ctr"].largest_weight == pytest.approx(1)
    one_for_all = make_world(5, seed=3)
    same = click_log(one_for_all, 400, propensity=True)
    again = evaluate_policy(same, mixture(one_for_all, same, one_for_all.weights[0]), estimator=estimator)
    assert again["ctr"].mean == pytest.approx(same.click.mean(), rel=1e-9)


@pytest.mark.parametrize("estimator", get_args(PolicyEstimator))
def test_the_order_of_rows_and_sessions_plays_no_role(estimator: PolicyEstimator) -> None:
    world = make_world(4, seed=3)
    log = click_log(world, 200, propensity=True)
    columns = columns_of(log)
    order = np.random.default_rng(0).permutation(log.n_rows)
    shuffled = ClickLog(**{name: column[order] for name, column in columns.items()})
    weights = np.array([0.5, 0, 0.25, 0, 0, 0.25])
    rows, again = (
        evaluate_policy(each, mixture(world, each, weights), estimator=estimator) for each in (log, shuffled)
    )
    for one, other in zip(rows, again, strict=True):
        assert [other.mean, other.low, other.high] == pytest.approx([one.mean, one.low, one.high], rel=1e-9)
        assert other.coverage == pytest.approx(one.coverage)


def test_intervals_cover_where_the_production_ranker_knows_the_user_and_those_of_the_model_do_not() -> None:
    """benchmarks/click_policy_coverage.py repeats this often enough for a bar of 93 to 97%."""
    world = make_world(20, personalised=True, seed=1)
    weights = np.arange(1.0, 7) / 21
    truth = true_clicks(world, weights, EXAMINATION)
    covered: dict[str, list[bool]] = {name: [] for name in get_args(PolicyEstimator)}
    means: dict[str, list[float]] = {name: [] for name in covered}
    for seed in range(40):
        log = click_log(world, 1200, propensity=True, seed=1000 + seed)
        policy = mixture(world, log, weights)
        for name in covered:
            row = evaluate_policy(log, policy, "clicks", estimator=name)["clicks"]  # type: ignore[arg-type]
            covered[name].append(row.low <= truth <= row.high)
            means[name].append(row.mean)
    assert np.mean(covered.pop("direct")) < 0.5
    for name, hits in covered.items():
        assert np.mean(hits) > 0.85, name  # three standard deviations below 95%
        assert abs(np.mean(means[name]) - truth) < 4 * np.std(means[name]) / np.sqrt(40), name
    assert np.std(means["doubly_robust"]) < np.std(means["ips"])


def test_a_large_personalised_log() -> None:
    world = make_world(100, personalised=True, quality=0.9, seed=4)
    log = click_log(world, 20_000, propensity=True, seed=0)
    weights = np.eye(6)[3]
    truth = true_clicks(world, weights, EXAMINATION)
    policy = mixture(world, log, weights)
    rows = {
        name: evaluate_policy(log, policy, "clicks", estimator=name)["clicks"] for name in get_args(PolicyEstimator)
    }
    assert rows["direct"].low > 1.05 * truth
    for name in ("ips", "self_normalized", "doubly_robust"):
        row = rows[name]
        assert row.low <= truth <= row.high, name
        assert row.is_supported
        assert row.high - row.low < 0.2 * truth


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.floats(0.01, 1)), min_size=2, max_size=12))
def test_estimates_and_intervals_stay_within_what_the_metric_can_be(rows: list[tuple[int, int, float]]) -> None:
    """Each session shows one of two documents."""
    docid, click, propensity = zip(*rows, strict=True)
    log = ClickLog(
        session=range(len(rows)), qid=[1] * len(rows), docid=docid, position=[1] * len(rows), click=click,
        propensity=propensity,
    )  # fmt: skip
    for estimator in ("ips", "self_normalized"):
        for row in evaluate_policy(log, np.arange(log.n_pairs), estimator=estimator):
            assert 0 <= row.low <= row.mean <= row.high <= row.most == 1
            assert not row.is_supported


def doubts(log: ClickLog, policy: Any, **options: Any) -> str:
    return " ".join(evaluate_policy(log, policy, "ctr", **options)["ctr"].doubts())


def test_propensities_that_cannot_be_right_are_doubted() -> None:
    world = make_world(10, seed=3)
    log = click_log(world, 3000, propensity=True)
    assert log.propensity is not None
    policy = mixture(world, log, np.eye(6)[1])
    assert doubts(log, policy) == ""
    small, large = (log._with(propensity=np.minimum(log.propensity * factor, 1)) for factor in (0.5, 2.0))
    assert "the logged propensities are too small" in doubts(small, policy)
    assert "the logged propensities are too large" in doubts(large, policy)
    assert "should have 1" in doubts(log._with(propensity=1 / log.position), policy)  # the examination instead


def test_what_the_logged_policy_could_not_show_is_doubted() -> None:
    world = make_world(10, n_rankings=1, seed=3)
    log = click_log(world, 3000, propensity=True)
    assert doubts(log, mixture(world, log, np.ones(1))) == ""
    words = doubts(log, Policy.uniform(log), estimator="ips")
    assert "could not show 83% of what this one shows, and they count as not clicked" in words
    outside = Policy.uniform(log, data=all_documents(world))
    assert "could not show 92% of what" in doubts(log, outside)
    assert evaluate_policy(log, outside)["ctr"].coverage == pytest.approx(1 / 12)
    assert "clicked like the rest" in doubts(log, Policy.uniform(log))
    assert "the reward model guesses" in doubts(log, Policy.uniform(log), estimator="doubly_robust")


def test_few_clicks_and_clipped_weights_are_doubted() -> None:
    world = make_world(10, seed=3)
    log = click_log(world, 50, propensity=True)
    policy = mixture(world, log, np.eye(6)[0])
    assert "clicks of equal weight, and 100 are needed" in doubts(log, policy)
    assert "The log does not support an answer" in str(evaluate_policy(log, policy))
    large = click_log(world, 5000, propensity=True)
    policy = mixture(world, large, np.eye(6)[0])
    row = evaluate_policy(large, policy, "ctr", estimator="ips", clip=0.5)["ctr"]
    assert row.clipped > 0.05
    assert "of the weights are clipped" in row.doubts()[-1]
    assert row.largest_weight == 2
    assert row.mean < evaluate_policy(large, policy, "ctr", estimator="ips")["ctr"].mean


def test_no_click_at_all_tells_nothing() -> None:
    log = click_log(make_world(3, seed=3), 100, propensity=True)
    silent = log._with(click=np.zeros(log.n_rows))
    for estimator in get_args(PolicyEstimator):
        row = evaluate_policy(silent, Policy.uniform(silent), "clicks", estimator=estimator)["clicks"]
        assert (row.mean, row.low, row.high, row.n_effective) == (0, 0, 6, 0)
        assert not row.is_supported


def test_bad_input_is_an_error() -> None:
    log = click_log(make_world(3, seed=3), 30, propensity=True)
    uniform = Policy.uniform(log)
    without = log._with(propensity=None)
    with pytest.raises(sr.errors.DataError, match=r"no propensities: .* name the column with propensity=…") as error:
        evaluate_policy(without, uniform)
    assert "--propensity" in error.value.for_command_line()
    other = click_log(make_world(4, seed=3), 30, propensity=True)
    with pytest.raises(sr.errors.DataError, match="made for another log"):
        evaluate_policy(other, uniform)
    with pytest.raises(sr.errors.DataError, match="made for other sessions"):
        evaluate_policy(log.subset(range(10)), Policy.logged(log))
    with pytest.raises(sr.errors.ParameterError, match="a contextual policy has those of the shown ones only"):
        evaluate_policy(log, Policy.logged(log), estimator="doubly_robust")
    with pytest.raises(sr.errors.ParameterError, match="there is no estimator 'snips'"):
        evaluate_policy(log, uniform, estimator="snips")  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="there is no metric of policies 'dcg@10'"):
        evaluate_policy(log, uniform, "dcg@10")
    with pytest.raises(sr.errors.ParameterError, match="clip must be a number from 0 to below 1"):
        evaluate_policy(log, uniform, clip=2)
    with pytest.raises(sr.errors.DataError, match="shows nothing at the places of the log"):
        evaluate_policy(log, Policy(log, np.zeros((log.n_pairs, 2))))
    part = log.subset([0])
    with pytest.raises(sr.errors.DataError, match="1 sessions are too few"):
        evaluate_policy(part, Policy.uniform(part), estimator="direct")
    with pytest.raises(sr.errors.MetricError, match="'ctr' was not evaluated"):
        _ = evaluate_policy(log, uniform, "clicks")["ctr"]


def test_policies_are_compared_on_the_same_sessions() -> None:
    world = make_world(20, seed=3)
    log = click_log(world, 4000, propensity=True)
    weights: list[Floats] = [world.weights[0], np.arange(1.0, 7) / 21]
    policies = {name: mixture(world, log, each) for name, each in zip(("old", "new"), weights, strict=True)}
    old, new = (evaluate_policy(log, policy)["clicks"] for policy in policies.values())
    clicks, rate = compare_policies(log, policies)
    assert clicks.difference == pytest.approx(new.mean - old.mean)
    assert rate.difference == pytest.approx(clicks.difference / 6)
    assert clicks.high - clicks.low < 0.7 * (new.high - new.low)
    truth = true_clicks(world, weights[1], EXAMINATION) - true_clicks(world, weights[0], EXAMINATION)
    assert clicks.low <= truth <= clicks.high
    table = compare_policies(log, policies, "clicks", baseline="new", estimator="doubly_robust")
    assert table.differences[0].difference == pytest.approx(-clicks.difference, abs=0.02)
    assert table.to_dict()["differences"][0]["system"] == "old"


def test_a_comparison_answers_only_if_both_estimates_do() -> None:
    world = make_world(20, seed=3)
    log = click_log(world, 60, propensity=True)
    best = world.mean_relevance.ravel()[log.pair_docid.astype(int)]
    row = compare_policies(log, {"worst": -best, "best": best}, "clicks").differences[0]
    assert not row.is_supported
    assert not row.is_significant
    assert np.isnan(row.p)
    assert row.sentence().startswith("clicks: best against worst: best: The log does not support an answer")
    assert -6 <= row.low <= row.high <= 6
