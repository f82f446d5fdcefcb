"""The fast pair sums against all pairs, one by one."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.pair_sums import add_pair_sums
from swaprank.objectives.ranknet_objective import RankNetObjective
from swaprank.objectives.ranknet_pairs import add_list

pytestmark = pytest.mark.slow

CLOSE = 1e-7


def all_pairs(labels: Floats, x: Floats, ties: bool, rows: slice | Ints = slice(None)) -> tuple[Floats, ...]:
    """Sums of p - P, of |p - P|, and of p (1 - p), over each row's pairs."""
    ahead = x[rows, None] - x
    order = np.sign(labels[rows, None] - labels)
    right, wrong = expit(ahead), expit(-ahead)
    force = np.where(order > 0, -wrong, np.where(order < 0, right, 0.5 * np.tanh(ahead / 2) if ties else 0.0))
    bend = np.where((order != 0) | ties, right * wrong, 0.0)
    bend[np.arange(len(ahead)), np.arange(len(x))[rows]] = 0.0
    return force.sum(axis=1), np.abs(force).sum(axis=1), bend.sum(axis=1)


def fast(labels: Floats, x: Floats, ties: bool) -> tuple[Floats, Floats]:
    n = len(x)
    g, h = np.zeros(n), np.zeros(n)
    add_pair_sums(labels, x, ties, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), g, h)
    return g, h


def assert_close(labels: Floats, x: Floats, ties: bool) -> None:
    g, h = fast(labels, x, ties)
    force, size, bend = all_pairs(labels, x, ties)
    # Between equal labels, forces are differences of numbers that may be nearly equal, to 1e-16 each; and from the
    # curvature, the pair with itself, 1/4, is taken off in the end.
    least = 1e-16 * len(x) if ties else 1e-300
    assert (np.abs(g - force) <= CLOSE * size + least).all()
    assert (np.abs(h - bend) <= CLOSE * bend + least).all()


@settings(max_examples=60)
@given(
    n=st.integers(257, 500),
    levels=st.integers(1, 800),
    log_spread=st.floats(-12, 7),
    step=st.sampled_from([0.0, 1e-3, 0.3, 2.0, 40.0]),
    offset=st.sampled_from([0.0, -3.0, 1e9]),
    order=st.sampled_from(["random", "right", "wrong"]),
    ties=st.booleans(),
    seed=st.integers(0, 2**32),
)
@example(n=600, levels=2, log_spread=0.0, step=0.0, offset=0.0, order="right", ties=False, seed=0)
@example(n=600, levels=1, log_spread=-12.0, step=0.0, offset=0.0, order="random", ties=True, seed=0)
def test_any_list_is_summed_to_seven_digits(
    n: int, levels: int, log_spread: float, step: float, offset: float, order: str, ties: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.integers(0, levels, n).astype(np.float64))[::-1].copy()
    x = 10.0**log_spread * rng.normal(size=n)
    if step > 0:
        x = step * np.round(x / step)  # clusters of equal scores
    if order != "random":
        x = np.sort(x)[:: -1 if order == "right" else 1].copy()
    assert_close(labels, x + offset, ties)


def test_cells_at_every_distance() -> None:
    # Two bunches of documents, dense enough to be interpolated, slide past each other.
    bunch = np.linspace(0.0, 1.9, 200)
    labels = np.repeat([1.0, 0.0], 200)
    for distance in np.linspace(-45.0, 45.0, 61):
        assert_close(labels, np.concatenate((bunch + distance, bunch)), ties=False)


def test_levels_of_very_different_sizes() -> None:
    rng = np.random.default_rng(0)
    for sizes in ((1, 1500, 1), (1500, 1, 1, 1, 300), (1, 1, 1, 1500), (500, 500, 500)):
        labels = np.repeat(np.arange(len(sizes), 0, -1.0), sizes)
        assert_close(labels, 3.0 * rng.normal(size=len(labels)), ties=True)


@pytest.mark.parametrize("ties", [False, True])
def test_the_exact_kernel_is_its_twin(ties: bool) -> None:
    rng = np.random.default_rng(1)
    labels = np.sort(rng.integers(0, 5, 1000).astype(np.float64))[::-1].copy()
    x = 4.0 * rng.normal(size=1000)
    g, h = np.zeros(1000), np.zeros(1000)
    add_list(labels, x, ties, np.empty(1000), g, h)
    np.testing.assert_allclose(fast(labels, x, ties), (g, h), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ties", [False, True])
def test_long_lists_go_through_the_objective(ties: bool) -> None:
    n, sigma = 2500, 1.6
    rng = np.random.default_rng(2)
    labels, scores, weights = rng.integers(0, 4, n), rng.normal(size=n), rng.random(n)
    data = sr.Dataset(np.zeros((n, 1)), labels, qid=np.zeros(n), sample_weight=weights)
    force, size, bend = all_pairs(labels.astype(np.float64), sigma * scores, ties)
    pairs = (labels[:, None] > labels).sum()
    objectives: list[tuple[Objective, float]] = [(RankNetObjective(sigma, ties), 1.0)]
    if not ties:
        objectives.append((LambdaRankObjective(sr.metric("pairwise"), sigma, normalize=False), 1.0 / pairs))
    for objective, scale in objectives:
        grad, hess = np.empty(n), np.empty(n)
        objective.bind(data, random_state=0, n_threads=2).update(scores, grad, hess)
        assert (np.abs(grad - scale * weights * sigma * force) <= CLOSE * scale * sigma * size).all()
        expected = sigma**2 * np.maximum(bend, np.abs(force) / 100)
        np.testing.assert_allclose(hess, scale * weights * expected, rtol=CLOSE)


@pytest.mark.parametrize("levels", [2, 10**9])
def test_a_list_of_many_documents(levels: int) -> None:
    n = 200_000
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, levels, n).astype(np.float64), 5.0 * rng.normal(size=n)
    data = sr.Dataset(np.zeros((n, 1)), labels, qid=np.zeros(n))
    grad, hess = np.empty(n), np.empty(n)
    RankNetObjective().bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    some = rng.integers(0, n, 20)
    force, size, bend = all_pairs(labels, scores, False, some)
    assert (np.abs(grad[some] - force) <= CLOSE * size).all()
    np.testing.assert_allclose(hess[some], np.maximum(bend, np.abs(force) / 100), rtol=CLOSE)
    assert abs(grad.sum()) <= CLOSE * np.abs(grad).sum()


def test_the_same_numbers_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(4)
    qid = np.repeat(np.arange(5), [3000, 10, 2500, 700, 4000])
    data = sr.Dataset(np.zeros((len(qid), 1)), rng.integers(0, 3, len(qid)), qid=qid)
    scores = rng.normal(size=len(qid))
    found = []
    for n_threads in (1, 2, 4):
        grad, hess = np.empty(len(qid)), np.empty(len(qid))
        RankNetObjective(ties=True).bind(data, random_state=0, n_threads=n_threads).update(scores, grad, hess)
        found.append((grad, hess))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
