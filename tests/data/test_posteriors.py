"""The theorem of [Burges2005, section 3.1]."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.data.posteriors import adjacency, all_pairs, chain, is_consistent
from swaprank.objectives.ranknet_objective import RankNetObjective

inside = st.floats(0.01, 0.99)
# Not nearer to 1 than that, where 1 - p keeps its digits.
steps = arrays(np.float64, st.integers(1, 6), elements=st.floats(0.1, 0.9))


@given(inside, inside)
def test_combination_is_equation_5_and_adds_log_odds(p: float, q: float) -> None:
    assert chain(p, q) == pytest.approx(p * q / (1 + 2 * p * q - p - q))
    assert chain(p, q) == pytest.approx(expit(np.log(p / (1 - p)) + np.log(q / (1 - q))))
    assert chain(1 - q, 1 - p) == pytest.approx(1 - chain(p, q))


@given(inside)
def test_certainty_and_uncertainty_propagate_and_confidence_builds(p: float) -> None:
    np.testing.assert_array_equal(chain([0, 0.5, 1], [0, 0.5, 1]), [0, 0.5, 1])
    np.testing.assert_array_equal(chain([0, 1], [p, p]), [0, 1])
    if abs(p - 0.5) > 1e-6:
        assert (chain(p, p) > p) == (p > 0.5)
    assert np.isnan(chain(1, 0))


@pytest.mark.slow
@given(steps, st.integers(0, 2**32))
def test_theorem_adjacency_posteriors_determine_all(adjacent: Floats, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(adjacent) + 1)
    matrix = all_pairs(adjacent, order)
    # Sufficient: each is a probability, and P_ik is the same through any j.
    assert ((matrix >= 0) & (matrix <= 1)).all()
    np.testing.assert_allclose(matrix + matrix.T, 1)
    for j in range(len(matrix)):
        np.testing.assert_allclose(chain(matrix[:, j, None], matrix[j]), matrix, atol=1e-9)
    # Necessary: the adjacent pairs of any other order determine the same matrix.
    np.testing.assert_allclose(adjacency(matrix, order), adjacent)
    other = np.random.default_rng(seed + 1).permutation(len(matrix))
    np.testing.assert_allclose(all_pairs(adjacency(matrix, other), other), matrix, atol=1e-9)
    assert is_consistent(matrix, 1e-8)


@given(inside, st.integers(2, 10))
def test_lemma_equal_steps_grow_monotonically(p: float, n: int) -> None:
    row = all_pairs(np.full(n, p))[0, 1:]
    odds = p / (1 - p)
    np.testing.assert_allclose(row, [odds**m / (1 + odds**m) for m in range(1, n + 1)])
    assert row[0] == pytest.approx(p)
    if p > 0.5 + 1e-3:
        assert (np.diff(row) >= 0).all()
        assert row[1] > row[0]
    elif p < 0.5 - 1e-3:
        assert (np.diff(row) <= 0).all()
        assert row[1] < row[0]
    np.testing.assert_array_equal(all_pairs(np.full(n, 0.5)), 0.5)


def test_certain_steps_propagate_and_contradictions_do_not() -> None:
    np.testing.assert_allclose(all_pairs([1.0, 0.7])[0], [0.5, 1.0, 1.0])
    np.testing.assert_allclose(all_pairs([0.0, 0.7])[:, 0], [0.5, 1.0, 1.0])
    assert np.isnan(all_pairs([1.0, 0.7, 0.0])[0, 3])
    assert all_pairs([1.0, 1.0, 1.0])[3, 0] == 0.0


def test_ranknet_can_meet_consistent_targets_and_only_those() -> None:
    matrix = all_pairs([0.7, 0.4, 0.9])
    outputs = np.concatenate(([0.0], -np.cumsum(np.log(adjacency(matrix) / (1 - adjacency(matrix))))))

    def slope(targets: Floats) -> float:
        pairs = [(i, j, targets[i, j]) for i in range(4) for j in range(i)]
        data = sr.Dataset(np.zeros((4, 1)), np.zeros(4), qid=[1] * 4, pairs=pairs)
        grad, hess = np.empty(4), np.empty(4)
        RankNetObjective().bind(data, random_state=0, n_threads=1).update(outputs, grad, hess)
        return float(np.abs(grad).max())

    assert slope(matrix) < 1e-12
    wrong = matrix.copy()
    wrong[2, 0], wrong[0, 2] = 0.9, 0.1
    assert slope(wrong) > 0.1
    assert not is_consistent(wrong)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(sr.errors.DataError, match="adjacent must be probabilities"):
        all_pairs([0.5, 1.2])
    with pytest.raises(sr.errors.DataError, match=r"each document from 0 to 2 once, found \[0, 0, 1\]"):
        all_pairs([0.5, 0.5], [0, 0, 1])
    with pytest.raises(sr.errors.DataError, match=r"square matrix of P\(i above j\), found shape \(2,\)"):
        adjacency([0.5, 0.5])
