"""Is a difference between two rankings more than luck? Paired tests over queries."""

from __future__ import annotations

import warnings

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.kernels import kernel

_ROUNDING = 1e-12
_RESAMPLES_AT_A_TIME = 1 << 14
_BYTES_AT_A_TIME = 1 << 8
_SUBSETS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).T.astype(np.float64)
"""(8, 256): column b has a 1 for each of eight that the byte b chooses."""


def t_test(differences: Floats) -> float:
    """Student's paired t-test, two-sided; NaN where all differences are one number that is not 0.

    It measures the mean by the spread, and without any there is nothing to measure by.
    """
    if np.ptp(differences) <= _ROUNDING:
        return 1.0 if differences[0] == 0 else float("nan")
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(differences, 0.0).pvalue)


def wilcoxon_test(differences: Floats) -> float:
    """Wilcoxon's signed-rank test, two-sided; queries without a difference are dropped."""
    changed = differences[differences != 0]
    if len(changed) == 0:
        return 1.0
    from scipy.stats import wilcoxon

    with warnings.catch_warnings():
        # SciPy remarks on small samples and on ties; its p-value is the one to be reported all the same.
        warnings.simplefilter("ignore")
        return float(wilcoxon(changed).pvalue)


def randomization_test(differences: Floats, n_resamples: int, random_state: int) -> float:
    """Fisher's randomisation test, two-sided: how often would random signs give so large a mean?

    All 2^n signs are tried where they are no more than `n_resamples`; else so many are drawn, and the observed ones
    count as one of them. SciPy's permutation_test does the same many times slower.
    """
    # The sign of no difference changes nothing.
    changed = differences[differences != 0]
    total = float(changed.sum())
    # Equal up to rounding counts as equally large.
    threshold = abs(total) - _ROUNDING * float(np.abs(changed).sum())
    if len(changed) < n_resamples.bit_length():
        flipped = np.zeros(1)
        for difference in changed.tolist():
            flipped = np.concatenate((flipped, flipped + difference))
        return float((np.abs(total - 2 * flipped) >= threshold).mean())
    rng = np.random.default_rng(random_state)
    extreme = 0
    for start in range(0, n_resamples, _RESAMPLES_AT_A_TIME):
        flipped = _random_subset_sums(changed, min(_RESAMPLES_AT_A_TIME, n_resamples - start), rng)
        extreme += int((np.abs(total - 2 * flipped) >= threshold).sum())
    return (extreme + 1) / (n_resamples + 1)


def _random_subset_sums(differences: Floats, n_sums: int, rng: np.random.Generator) -> Floats:
    """Sums of random halves of the differences: a random byte looks up the sum of the ones of eight that it chooses."""
    eights = np.pad(differences, (0, -len(differences) % 8)).reshape(-1, 8)
    sums = np.zeros(n_sums)
    for start in range(0, len(eights), _BYTES_AT_A_TIME):
        table = eights[start : start + _BYTES_AT_A_TIME] @ _SUBSETS
        n_bytes = len(table) * n_sums
        random_bytes = rng.integers(1 << 64, size=-(-n_bytes // 8), dtype=np.uint64).view(np.uint8)
        _add_chosen(table, random_bytes[:n_bytes].reshape(len(table), n_sums), sums)
    return sums


@kernel
def _add_chosen(table: Floats, choices: AnyArray, sums: Floats) -> None:
    """sums[i] += sum over b of table[b, choices[b, i]]."""
    for b in range(len(table)):
        for i in range(len(sums)):
            sums[i] += table[b, choices[b, i]]


def holm(p_values: Floats) -> Floats:
    """Holm's correction for several comparisons: the chance of even one false alarm stays below the level.

    A p-value that does not exist stays NaN and counts as a comparison all the same.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted
