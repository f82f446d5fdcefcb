"""The reward model has the click rates of cells with many clicks, and the mean of all where there are few."""

import numpy as np
import pytest

from swaprank.clicks.policies.reward_model import fit_rewards


def test_few_clicks_are_drawn_to_the_mean_and_many_are_not() -> None:
    rng = np.random.default_rng(0)
    rates = np.minimum(np.outer(rng.beta(2, 4, 400), [1.0, 0.5, 0.25]) * rng.uniform(0.5, 1.5, (400, 3)), 1)
    shown = np.where(np.arange(400)[:, None] < 200, 5.0, 1e6) * np.ones(3)
    clicks = rng.binomial(shown.astype(int), rates).astype(float)
    found = fit_rewards(shown, clicks).of_pairs
    np.testing.assert_allclose(found[200:], rates[200:], atol=0.01)
    raw_error, error = (np.mean((each[:200] - rates[:200]) ** 2) for each in (clicks / shown, found))
    assert error < 0.5 * raw_error


def test_without_more_spread_than_chance_all_documents_are_alike() -> None:
    rng = np.random.default_rng(1)
    clicks = rng.binomial(50, [[0.02, 0.01]] * 300).astype(float)
    found = fit_rewards(np.full((300, 2), 50.0), clicks)
    assert found.of_pairs.std(axis=0).max() < 0.002
    np.testing.assert_allclose(found.of_pairs.mean(axis=0), [0.02, 0.01], atol=0.003)
    np.testing.assert_allclose(found.of_others, found.of_pairs.mean(axis=0), rtol=0.05)


def test_documents_and_places_without_counts() -> None:
    shown = np.array([[10.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    clicks = np.array([[4.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    found = fit_rewards(shown, clicks)
    assert found.of_pairs[1].tolist() == pytest.approx(found.of_others.tolist())
    assert found.of_others.tolist() == pytest.approx([0.4, 0.2, 0.0])
    assert not fit_rewards(shown, np.zeros((2, 3))).of_pairs.any()
