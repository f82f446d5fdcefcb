"""A/B tests: differences, intervals and p-values against SciPy, a bootstrap of users, and simulated experiments."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.experiments.sequential import FIRST_LOOK, anytime_p, half_width
from swaprank.clicks.experiments.session_metrics import session_metric
from tests.clicks.people import click_log, make_world

A_AND_B = np.array(["A", "B"])


def log_of(click: Any) -> sr.clicks.ClickLog:
    """Pages with one document."""
    n = len(click)
    one = np.ones(n, np.int64)
    return sr.clicks.ClickLog(session=np.arange(n), qid=one, docid=one, position=one, click=click)


def test_metrics_of_a_session_are_those_of_a_loop() -> None:
    log = click_log(make_world(5), 200, seed=1)
    clicks = [log.click[log.session == number] for number in range(log.n_sessions)]
    naive = {
        "clicked": [float(any(each)) for each in clicks],
        "abandoned": [float(not any(each)) for each in clicks],
        "clicks": [float(sum(each)) for each in clicks],
        "clicks@2": [float(sum(each[:2])) for each in clicks],
        "reciprocal_rank": [max((1 / at for at, c in enumerate(each, start=1) if c), default=0.0) for each in clicks],
    }
    for name, values in naive.items():
        assert session_metric(log, name).tolist() == values


def test_sessions_as_units_are_welchs_test() -> None:
    log = click_log(make_world(5), 500, seed=2)
    variant = np.random.default_rng(0).integers(2, size=500)
    (row,) = sr.clicks.ab_test(log, A_AND_B[variant], "clicks")
    values = session_metric(log, "clicks")
    truth = ttest_ind(values[variant == 1], values[variant == 0], equal_var=False)
    assert (row.system, row.baseline) == ("B", "A")
    assert row.deviation == pytest.approx(values.std(), rel=0.01)
    assert row.p == pytest.approx(truth.pvalue, rel=1e-9)
    interval = truth.confidence_interval()
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert row.relative == pytest.approx(row.mean / row.baseline_mean - 1)


def users_log(rng: np.random.Generator, n_users: int) -> tuple[sr.clicks.ClickLog, Any, Any]:
    """Users with several sessions each, who click often or seldom: a log, the user and the variant of each session."""
    user = np.repeat(np.arange(n_users), rng.integers(1, 9, n_users))
    variant = rng.integers(2, size=n_users)
    variant[:2] = 0, 1
    taste = rng.beta(0.6, 1.4, n_users)
    return log_of((rng.random(len(user)) < taste[user]).astype(float)), user, variant[user]


def test_users_as_units_have_the_interval_of_a_bootstrap_of_users() -> None:
    rng = np.random.default_rng(3)
    log, user, variant = users_log(rng, 400)
    (by_user,) = sr.clicks.ab_test(log, A_AND_B[variant], "clicked", unit=user)
    (by_session,) = sr.clicks.ab_test(log, A_AND_B[variant], "clicked")
    assert by_user.difference == by_session.difference
    sums, sizes, side = np.bincount(user, log.click), np.bincount(user), np.zeros(400, np.int64)
    side[user] = variant
    drawn = rng.multinomial(400, np.full(400, 1 / 400), size=4000).astype(float)
    means = [drawn @ (sums * (side == v)) / (drawn @ (sizes * (side == v))) for v in (0, 1)]
    error = (by_user.high - by_user.low) / 2 / 1.96
    assert error == pytest.approx(float(np.std(means[1] - means[0])), rel=0.06)
    assert by_user.high - by_user.low > 1.3 * (by_session.high - by_session.low)


def test_intervals_of_users_cover_in_95_of_100_experiments() -> None:
    covered = []
    for seed in range(300):
        log, user, variant = users_log(np.random.default_rng([seed, 5]), 150)
        (row,) = sr.clicks.ab_test(log, variant, "clicked", unit=user, baseline=0)
        covered.append(row.low <= 0 <= row.high)
    assert 0.92 <= np.mean(covered) <= 0.98  # two standard errors are 0.025


def false_alarms(first: int, n_experiments: int = 400) -> tuple[float, float]:
    """The shares of experiments without a difference that find one at any session: sequential, and Welch each time."""
    rng = np.random.default_rng(7)
    n = np.arange(1, 3001)
    sides = rng.random((n_experiments, len(n))) < 0.5
    values = (rng.random(sides.shape) < 0.3).astype(float)
    sizes = np.stack([np.cumsum(~sides, axis=1), np.cumsum(sides, axis=1)])
    means = np.stack([np.cumsum(values * ~sides, axis=1), np.cumsum(values * sides, axis=1)]) / np.maximum(sizes, 1)
    # The variance of a share p is p (1 - p) n / (n - 1) / n.
    error = np.sqrt((means * (1 - means) / np.maximum(sizes - 1, 1)).sum(axis=0))
    z = np.divide(np.abs(means[1] - means[0]), error, out=np.zeros_like(error), where=error > 0)
    z[sizes.min(axis=0) < first] = 0
    borders = np.array([half_width(int(each), 2000) for each in n])
    return float((z > borders).any(axis=1).mean()), float((z > 1.96)[:, 99::30].any(axis=1).mean())


def test_daily_looks_raise_false_alarms_of_a_t_test_only() -> None:
    sequential, peeking = false_alarms(FIRST_LOOK)
    assert sequential <= 0.05
    assert peeking > 0.15  # a hundred looks; the sequential test looked 3,000 times


def test_sequential_interval_and_p_value_agree() -> None:
    for n, planned in ((100, 10_000), (5_000, 5_000), (10**6, 10_000)):
        border = half_width(n, planned)
        assert anytime_p(border, n, planned) == pytest.approx(0.05)
        assert half_width(n, n) <= border  # tightest where it was planned
    rng = np.random.default_rng(0)
    variant = rng.integers(2, size=5000)
    log = log_of((rng.random(5000) < 0.3 + 0.06 * variant).astype(float))
    for size in (20, 200, 5000):
        (row,) = sr.clicks.ab_test(log.subset(slice(size)), A_AND_B[variant[:size]], "clicked", sequential=True)
        assert (row.p < 0.05) == (row.low > 0 or row.high < 0)
    (once,) = sr.clicks.ab_test(log, A_AND_B[variant], "clicked")
    assert once.low > row.low > 0, "the price of looking at any time"


def test_returning_users_and_daily_looks() -> None:
    """Users with tastes of their own, or without: twenty sessions each, and a look after every tenth of them."""
    rng = np.random.default_rng(11)
    for taste in (0.0, 0.3):
        alarms = 0
        for _ in range(60):
            user = rng.integers(200, size=4000)
            clicks = rng.random(4000) < 0.4 + taste * rng.choice([-1, 1], 200)[user]
            log, side = log_of(clicks.astype(float)), rng.integers(2, size=200)
            looks = [
                sr.clicks.ab_test(
                    log.subset(slice(n)), side[user[:n]], "clicked", unit=user[:n], sequential=True, planned=4000
                )
                for n in range(400, 4001, 400)
            ]
            alarms += any(look.differences[0].is_significant for look in looks)
        assert alarms <= 6  # of 60: 5% are 3


def test_planned_sessions_have_the_power() -> None:
    n = sr.clicks.ab_sessions(0.05, deviation=float(np.sqrt(0.3 * 0.7)))
    rng = np.random.default_rng(2)
    counts = rng.binomial(n // 2, [[0.275], [0.325]], (2, 4000)) / (n // 2)
    error = np.sqrt((counts * (1 - counts)).sum(axis=0) / (n // 2))
    power = float((np.abs(counts[1] - counts[0]) > 1.96 * error).mean())
    assert power == pytest.approx(0.8, abs=0.02)
    sequential = sr.clicks.ab_sessions(0.05, deviation=float(np.sqrt(0.3 * 0.7)), sequential=True)
    assert 1.8 < sequential / n < 2


def test_three_variants_are_corrected_and_shares_are_checked() -> None:
    rng = np.random.default_rng(0)
    variant = rng.choice(3, 3000, p=[0.4, 0.3, 0.3])
    click: Floats = (rng.random(3000) < 0.3 + 0.04 * (variant == 2)).astype(float)
    names = np.array(["a", "b", "c"])[variant]
    test = sr.clicks.ab_test(log_of(click), names, "clicked", baseline="a")
    alone = [
        sr.clicks.ab_test(log_of(click[kept]), names[kept], "clicked", baseline="a").differences[0].p
        for kept in (names != "c", names != "b")
    ]
    corrected = {row.system: row.p for row in test}
    assert min(corrected.values()) == pytest.approx(2 * min(alone))
    assert test.p_shares < 0.001
    assert "Something loses or repeats them" in str(test)
    planned = [{"a": 0.4, "b": 0.3, "c": 0.3}[name] for name in test.n_units]
    good = sr.clicks.ab_test(log_of(click), names, "clicked", shares=planned)
    assert good.p_shares > 0.01
    assert "Something loses" not in str(good)
    assert test.to_dict()["n_sessions"] == test.n_units
    assert list(test.to_frame()["system"]) == [row.system for row in test]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": ["a"] * 4}, "needs sessions of two variants, found only 'a'"),
        ({"variant": "ranker"}, "the log has no column 'ranker' for the variant of each session"),
        ({"variant": ["a", "b"]}, "variant must have one id for each of the 4 rows"),
        ({"metrics": "ndcg@10"}, "there is no metric 'ndcg@10' of a session"),
        ({"unit": ["u", "u", "v", "v"]}, "2 of 2 units saw more than one variant, such as u, which saw 'a' and 'b'"),
        ({"baseline": "c"}, "there is no variant 'c'"),
        ({"shares": [0.5]}, "shares must be 2 numbers above 0"),
        ({"sequential": True, "planned": 0}, "planned must be a whole number from 1"),
    ],
)
def test_errors_say_what_to_do(arguments: dict[str, Any], message: str) -> None:
    given = {"variant": ["a", "b", "a", "b"], **arguments}
    with pytest.raises(sr.errors.SwaprankError) as caught:
        sr.clicks.ab_test(log_of([0, 1, 1, 0]), **given)
    assert message in str(caught.value)


def test_without_spread_or_with_few_sessions_there_is_no_interval() -> None:
    (same,) = sr.clicks.ab_test(log_of([1, 1, 1, 1]), ["a", "b", "a", "b"], "clicked")
    assert (same.difference, same.p) == (0, 1)
    (early,) = sr.clicks.ab_test(log_of([1, 1, 0, 1]), ["a", "b", "a", "b"], "clicked", sequential=True)
    assert np.isnan([early.low, early.high, early.p]).all()
    assert "too few sessions" in early.sentence()
    with pytest.raises(sr.errors.ParameterError, match="difference"):
        sr.clicks.ab_sessions(0)
    with pytest.raises(sr.errors.ParameterError, match="power must be between 0 and 1"):
        sr.clicks.ab_sessions(0.1, power=1)


def test_a_column_with_the_name_of_a_metric_is_an_error() -> None:
    columns: dict[str, Any] = {"session": [1, 2, 3, 4], "qid": [1] * 4, "docid": [1] * 4, "position": [1] * 4}
    for name in ("clicked", "clicks@3"):
        log = sr.clicks.ClickLog(**columns, click=[0, 1, 1, 1], context={name: [5, 6, 7, 8], "revenue": [5, 6, 7, 8]})
        with pytest.raises(sr.errors.ParameterError, match=f"'{name}' is a metric .* rename the column"):
            sr.clicks.ab_test(log, ["A", "A", "B", "B"], name)
        assert sr.clicks.ab_test(log, ["A", "A", "B", "B"], "revenue").differences[0].difference == 2
