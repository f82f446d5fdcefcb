import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from swaprank.exact_sums import exact_limbs, exact_mean, exact_sum, rounded_sums

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def true_sum(values: list[float]) -> float:
    exact = sum(map(Fraction, values))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(st.lists(FINITE, max_size=30))
def test_sum_is_the_exact_one_rounded_once(values: list[float]) -> None:
    assert exact_sum(values) == true_sum(values)


@given(st.lists(st.floats(-1e-300, 1e-300), max_size=30))
def test_sums_of_tiny_numbers_are_exact(values: list[float]) -> None:
    # Subnormal sums are sums of multiples of the smallest number: nothing is rounded.
    assert exact_sum(values) == math.fsum(values)


def test_ties_of_rounding_go_to_even() -> None:
    one, half = 1.0, 2.0**-53
    assert exact_sum([one, half]) == 1.0
    assert exact_sum([one, half, 2.0**-200]) == 1.0 + 2.0**-52
    assert exact_sum([one + 2.0**-52, half]) == 1.0 + 2.0**-51
    assert exact_sum([-one, -half, -(2.0**-1074)]) == -1.0 - 2.0**-52


@given(st.lists(FINITE, min_size=1, max_size=20), st.integers(0, 20))
def test_sums_of_parts_are_added_as_integers(values: list[float], cut: int) -> None:
    parts = exact_limbs(np.array(values[:cut])) + exact_limbs(np.array(values[cut:]))
    assert rounded_sums(parts[None])[0] == true_sum(values)


def test_mean_of_many_values_in_any_order() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000) * 10.0 ** rng.integers(-30, 30, 10_000)
    assert exact_mean(values) == exact_mean(rng.permutation(values)) == math.fsum(values) / len(values)
    assert math.isnan(exact_mean(np.empty(0)))
