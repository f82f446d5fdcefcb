"""Arithmetic in lanes: the sums are those of a plain loop in the same order, bit for bit."""

from typing import Any

import numpy as np
import pytest

from swaprank.arrays import AnyArray, Floats
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot, load, spread, store, sum_lanes, sum_of, where_positive

LENGTHS = [0, 1, 7, 8, 9, 16, 23, 64, 101]


def added_by_halves(values: AnyArray) -> Any:
    """Eight partial sums, then four, two and one; what does not fill the lanes comes last."""
    full = len(values) // 8 * 8
    sums = np.zeros(8, values.dtype)
    for start in range(0, full, 8):
        sums = sums + values[start : start + 8]
    while len(sums) > 1:
        half = len(sums) // 2
        sums = sums[:half] + sums[half:]
    total = sums[0]
    for value in values[full:]:
        total = total + value
    return total


def drawn(n: int, dtype: Any, seed: int) -> AnyArray:
    return (np.random.default_rng(seed).normal(size=n) * 10.0 ** np.arange(n).clip(max=6)).astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_have_the_written_order(n: int, dtype: Any) -> None:
    values = drawn(n, dtype, 0)
    assert sum_of(values, 0, n) == added_by_halves(values)
    assert sum_of(values, n // 3, n) == added_by_halves(values[n // 3 :])


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtypes", [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)])
def test_products_are_added_in_the_written_order(n: int, dtypes: Any) -> None:
    x, y = drawn(n, dtypes[0], 1), drawn(n, dtypes[1], 2)
    assert dot(x, y) == added_by_halves(x * y)


@kernel
def combined(x: Floats, y: Floats, factor: float, out: Floats) -> float:
    """All that lanes can do."""
    sums = spread(0.0)
    for i in range(np.uint64(0), np.uint64(len(x)), WIDTH):
        a, b = load(x, i), load(y, i)
        value = factor * abs(a - b) / (1.0 + b * b) + where_positive(a, a, -2.0) - 0.5
        store(out, i, value)
        sums += value
    return sum_lanes(sums)


def test_operators_are_those_of_numpy() -> None:
    x, y = drawn(24, np.float64, 3), drawn(24, np.float64, 4)
    x[3] = 0.0
    out = np.empty(24)
    total = combined(x, y, 3.0, out)
    np.testing.assert_array_equal(out, 3.0 * np.abs(x - y) / (1.0 + y * y) + np.where(x > 0, x, -2.0) - 0.5)
    assert total == added_by_halves(out)


def test_arrays_that_are_not_contiguous_are_refused() -> None:
    with pytest.raises(Exception, match="lanes take contiguous arrays"):
        dot(np.ones(20)[::2], np.ones(10))
