"""Costs of queries against the sum over their pairs, one by one."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.ranknet_costs import list_cost, long_list_cost, ranknet_costs, total_cost
from swaprank.objectives.ranknet_objective import RankNetObjective


def all_pairs(labels: Floats, x: Floats, ties: bool) -> float:
    """The sum of log(1 + exp(-m)), and for ties log(1 + exp(-m)) + m / 2."""
    ahead = x[:, None] - x
    cost = np.logaddexp(0.0, -ahead)
    total = cost[labels[:, None] > labels].sum()
    if ties:
        above = np.triu(labels[:, None] == labels, 1)
        total += (cost + ahead / 2)[above].sum()
    return float(total)


@settings(max_examples=60)
@given(
    n=st.integers(0, 600),
    levels=st.integers(1, 800),
    log_spread=st.floats(-12, 7),
    step=st.sampled_from([0.0, 1e-3, 0.3, 2.0, 40.0]),
    order=st.sampled_from(["random", "right", "wrong"]),
    ties=st.booleans(),
    seed=st.integers(0, 2**32),
)
@example(n=600, levels=2, log_spread=0.0, step=0.0, order="right", ties=False, seed=0)
@example(n=600, levels=1, log_spread=-12.0, step=0.0, order="random", ties=True, seed=0)
@example(n=600, levels=3, log_spread=1.5, step=0.0, order="wrong", ties=True, seed=0)
def test_the_cost_of_any_list(
    n: int, levels: int, log_spread: float, step: float, order: str, ties: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.integers(0, levels, n).astype(np.float64))[::-1].copy()
    x = 10.0**log_spread * rng.normal(size=n)
    if step > 0:
        x = step * np.round(x / step)
    if order != "random":
        x = np.sort(x)[:: -1 if order == "right" else 1].copy()
    expected = all_pairs(labels, x, ties)
    # A pair that is right by far costs less than the last digit of the 1 that it is added to, one at most per pair.
    assert list_cost(labels, x, ties, np.empty((3, n))) == pytest.approx(expected, rel=1e-12, abs=1e-15 * n * n)
    assert long_list_cost(labels, x, ties, np.empty((3, n))) == pytest.approx(expected, rel=1e-7, abs=1e-15 * n * n)


@pytest.mark.parametrize("ties", [False, True])
def test_costs_of_queries_are_the_same_for_any_number_of_threads(ties: bool) -> None:
    rng = np.random.default_rng(0)
    lengths = [1, 2100, 30, 1, 600, 2500]
    qid = np.repeat(np.arange(len(lengths)), lengths)
    labels, scores = rng.integers(0, 4, len(qid)), 3.0 * rng.normal(size=len(qid))
    data = sr.Dataset(np.zeros((len(qid), 1)), labels, qid=qid, sample_weight=1.0 + qid)
    found = []
    for n_threads in (1, 2, 5):
        bound = RankNetObjective(1.3, ties).bind(data, random_state=0, n_threads=n_threads)
        found.append((*ranknet_costs(bound, scores), total_cost(bound, scores)))
    assert len(set(found)) == 1
    costs = []
    for q in range(len(lengths)):
        rows = data.rows(q)
        costs.append(all_pairs(data.labels[rows], 1.3 * scores[rows], ties))
    np.testing.assert_allclose(found[0][:-1], costs, rtol=1e-7)
    assert found[0][-1] == pytest.approx(float(np.dot(costs, np.arange(1, 7))), rel=1e-7)


def test_given_pairs_have_any_target() -> None:
    pairs = [(0, 1, 0.9), (1, 2, 0.3), (2, 0, 0.5), (4, 3, 0.0)]
    data = sr.Dataset(np.zeros((5, 1)), np.zeros(5), qid=[1, 1, 1, 2, 2], pairs=pairs)
    scores = np.array([0.3, -1.0, 2.0, 0.5, 0.1])
    expected = np.zeros(2)
    for i, j, target in pairs:
        p = 1 / (1 + np.exp(-2.0 * (scores[i] - scores[j])))
        expected[int(i > 2)] -= target * np.log(p) + (1 - target) * np.log(1 - p)
    bound = RankNetObjective(2.0).bind(data, random_state=0, n_threads=1)
    np.testing.assert_allclose(ranknet_costs(bound, scores), expected, rtol=1e-12)
