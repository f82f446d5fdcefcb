"""The mean of fits with bootstrapped shares."""

import numpy as np
import pytest

import swaprank as sr
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.linear.cross_validation import mean_of_fits, shares_of_fits

DATA = sr.datasets.random_polynomial((20,), n_features=4, n_documents=10, random_state=0)[0]
FUNCTION = LinearScoreFunction(DATA.features, np.ones(4))


def test_shares_are_the_probabilities_to_be_the_best() -> None:
    """Of two fits that differ on two queries: 0 wins if query a is drawn more often than b, and with ties."""
    values = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert shares_of_fits(values, 0) == pytest.approx([3 / 4, 1 / 4], abs=0.05)
    better = np.random.default_rng(0).uniform(size=(3, 40)) + np.array([[0.0], [1.0], [0.0]])
    assert shares_of_fits(better, 0).tolist() == [0.0, 1.0, 0.0]


def test_shares_hardly_depend_on_the_seed_and_not_on_last_bits() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(size=(10, 80))
    found = [shares_of_fits(values, seed) for seed in range(5)]
    assert np.ptp(found, axis=0).max() < 0.08
    noisy = values * (1 + 1e-15 * rng.normal(size=values.shape))
    np.testing.assert_allclose(shares_of_fits(noisy, 0), found[0], atol=0.002)


def test_queries_without_a_value_do_not_count() -> None:
    values = np.array([[0.0, np.nan, 0.2], [0.1, np.nan, 0.3]])
    assert shares_of_fits(values, 0).tolist() == [0.0, 1.0]
    assert shares_of_fits(np.full((2, 3), np.nan), 0).tolist() == [1.0, 0.0]
    assert shares_of_fits(np.empty((2, 0)), 0).tolist() == [1.0, 0.0]
    assert shares_of_fits(np.array([[np.nan]]), 0).tolist() == [1.0]


def test_the_scale_of_a_fit_changes_no_order() -> None:
    fits = np.random.default_rng(2).normal(size=(3, 4))
    shares = np.array([0.5, 0.3, 0.2])
    plain = mean_of_fits(list(fits), shares, FUNCTION, DATA.indptr, 1)
    scaled = mean_of_fits(list(fits * [[1.0], [1e6], [1e-6]]), shares, FUNCTION, DATA.indptr, 1)
    np.testing.assert_allclose(scaled / np.linalg.norm(scaled), plain / np.linalg.norm(plain), atol=1e-12)
    with_base = LinearScoreFunction(DATA.features, np.ones(4), base=np.ones(len(DATA)))
    np.testing.assert_allclose(mean_of_fits(list(fits), shares, with_base, DATA.indptr, 1), shares @ fits)


def test_a_fit_with_all_of_the_share_stays_as_it_is() -> None:
    fits = list(np.random.default_rng(3).normal(size=(2, 4)))
    assert mean_of_fits(fits, np.array([0.0, 1.0]), FUNCTION, DATA.indptr, 1).tobytes() == fits[1].tobytes()
    zero = [np.zeros(4), np.zeros(4)]
    assert mean_of_fits(zero, np.array([0.5, 0.5]), FUNCTION, DATA.indptr, 1).tolist() == [0.0] * 4
