"""Elementary functions against those of Python, in the last digits."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr

from swaprank import elementary
from swaprank.arrays import Floats

WIDE = 10.0 ** np.linspace(-300, 300, 2001)


@pytest.mark.parametrize(
    ("ours", "theirs", "x"),
    [
        (elementary.exp, math.exp, np.linspace(-700, 700, 3001)),
        (elementary.log, math.log, WIDE),
        (elementary.log2, math.log2, WIDE),
        (elementary.log1p, math.log1p, np.concatenate((WIDE, -np.linspace(0.0, 0.999, 500)))),
    ],
    ids=["exp", "log", "log2", "log1p"],
)
def test_functions_are_right_to_the_last_digits(
    ours: Callable[[float], float], theirs: Callable[[float], float], x: Floats
) -> None:
    np.testing.assert_allclose([ours(each) for each in x], [theirs(each) for each in x], rtol=1e-15, atol=1e-300)


def test_powers_of_two_are_right_to_nearly_the_last_digit() -> None:
    y = np.concatenate((np.linspace(-70, 0, 9001), np.linspace(-1000, 1000, 9999), np.arange(-60.0, 60.0, 0.5)))
    np.testing.assert_allclose(elementary.exps2(y), [2.0**each for each in y], rtol=2e-15)


def test_the_normal_distribution_is_right_to_nearly_the_last_digit() -> None:
    x = np.linspace(-12, 12, 4001)
    np.testing.assert_allclose([elementary.normal_cdf(each) for each in x], ndtr(x), rtol=1e-8, atol=1e-15)
