"""Properties that the paper proves: limits of the smoothing factor, and Lemma 1."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.linear.annealing import Ascent, Candidate, Stopped, annealing_step
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.objectives.smooth import SmoothObjective
from tests.interruption import pressed_at_call

DATA, OTHER = sr.datasets.random_polynomial((40, 20), n_features=6, n_documents=20, levels=4, random_state=0)


def ascent(center: Floats, regularization: float, data: sr.Dataset = DATA, **options: Any) -> Ascent:
    bound = SmoothObjective(sr.metric("ndcg@10")).bind(data, random_state=0, n_threads=1)
    score_function = LinearScoreFunction(data.features, np.ones(data.n_features))
    return Ascent(score_function, bound, center, regularization, **options)


def test_cost_gradient_equals_finite_differences() -> None:
    rng = np.random.default_rng(0)
    one = ascent(rng.normal(size=6), 0.3)
    w = rng.normal(size=6)
    _, gradient = one.cost(w, one.smoothed(0.5))
    for p in range(6):
        move = np.zeros(6)
        move[p] = 1e-6
        slope = (one.cost(w + move, one.smoothed(0.5))[0] - one.cost(w - move, one.smoothed(0.5))[0]) / 2e-6
        assert gradient[p] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("minimizer", ["cg", "l-bfgs"])
def test_a_step_improves_the_cost(minimizer: Any) -> None:
    start = np.full(6, 0.1)
    one = ascent(start, 1e-3, minimizer=minimizer, max_iterations=100)
    at = one.climb(start, 1.0)
    assert one.cost(at, one.smoothed(1.0))[0] < one.cost(start, one.smoothed(1.0))[0] - 0.01
    assert np.abs(one.cost(at, one.smoothed(1.0))[1]).max() < 1e-3


def test_with_a_large_smoothing_factor_the_weights_become_w0() -> None:
    """[Chapelle2010, section 5.3]"""
    rng = np.random.default_rng(1)
    center = rng.normal(size=6)
    for start in (np.zeros(6), rng.normal(size=6), 5 * rng.normal(size=6)):
        at = ascent(center, 1.0, max_iterations=500).climb(start, 1e9)
        np.testing.assert_allclose(at, center, atol=1e-4)


def test_lemma_one() -> None:
    """For w0 = 0, the minimum for (lambda, sigma) is sqrt(c) times that for (c lambda, sigma / c)."""
    start = np.random.default_rng(2).normal(size=6)
    for c in (0.1, 4.0, 100.0):
        one, other = ascent(np.zeros(6), 0.05), ascent(np.zeros(6), 0.05 * c)
        w = np.random.default_rng(3).normal(size=6)
        assert one.cost(w, one.smoothed(0.5))[0] == pytest.approx(
            other.cost(w / np.sqrt(c), other.smoothed(0.5 / c))[0], abs=1e-12
        )
        exact = {"max_iterations": 3000}
        first = replace(one, **exact).climb(start, 0.5)  # type: ignore[arg-type]
        second = replace(other, **exact).climb(start / np.sqrt(c), 0.5 / c)  # type: ignore[arg-type]
        np.testing.assert_allclose(first, np.sqrt(c) * second, atol=2e-3 * np.abs(first).max())


def test_excluded_queries_have_no_effect() -> None:
    excluded = np.arange(DATA.n_queries) < 10
    part, whole = (
        ascent(np.zeros(6), 0.01, DATA.subset(~excluded)),
        ascent(np.zeros(6), 0.01).without(excluded),
    )
    w = np.random.default_rng(4).normal(size=6)
    for (one, slope), n_queries in ((part.cost(w, part.smoothed(0.5)), 30), (whole.cost(w, whole.smoothed(0.5)), 40)):
        assert one * n_queries == pytest.approx(part.cost(w, part.smoothed(0.5))[0] * 30, abs=1e-12)
        np.testing.assert_allclose(slope * n_queries, part.cost(w, part.smoothed(0.5))[1] * 30, atol=1e-12)


def test_candidates_are_identical_for_any_number_of_threads() -> None:
    start = np.full(6, 0.1)
    paths = []
    for n_threads in (1, 2, 5):
        candidates = [Candidate(ascent(start, strength), start) for strength in (1.0, 0.1, 0.01)]
        path = b""
        for smoothing_factor in (4.0, 1.0):
            annealing_step(candidates, smoothing_factor, n_threads)
            path += b"".join(candidate.parameters.tobytes() for candidate in candidates)
        paths.append(path)
    assert len(set(paths)) == 1


def test_the_stop_event_ends_a_step() -> None:
    one = ascent(np.zeros(6), 0.1)
    one.stop.set()
    with pytest.raises(Stopped):
        one.climb(np.ones(6), 1.0)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_leaves_all_candidates_at_the_same_step(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    start = np.full(6, 0.1)
    candidates = [Candidate(ascent(start, strength), start) for strength in (1e-9, 1e-12)]
    annealing_step(candidates, 1.0, n_threads)
    before = [candidate.parameters.copy() for candidate in candidates]
    monkeypatch.setattr(Ascent, "cost", pressed_at_call(5, Ascent.cost))
    with pytest.raises(KeyboardInterrupt):
        annealing_step(candidates, 1e-2, n_threads)
    for candidate, parameters in zip(candidates, before, strict=True):
        np.testing.assert_array_equal(candidate.parameters, parameters)
