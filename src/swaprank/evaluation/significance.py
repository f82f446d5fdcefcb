"""Means over queries with confidence intervals, and paired significance tests."""

import warnings

import numpy as np

from swaprank.arrays import AnyArray, Floats, row_blocks
from swaprank.exact_sums import exact_mean
from swaprank.kernels import kernel
from swaprank.rendering.tables import probability

LEVEL = 0.05
"""Differences with a smaller p-value are significant."""

_ROUNDING = 1e-12
_SUBSETS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).T.astype(np.float64)
"""(8, 256): column b holds the bits of the byte b."""


def mean(values: Floats) -> float:
    """The mean of the values that are not NaN; NaN if there is none."""
    return exact_mean(_kept(values))


def mean_interval(values: Floats) -> tuple[float, float]:
    """The 95% confidence interval of that mean (Student's t); NaN for fewer than two values."""
    kept = _kept(values)
    if len(kept) < 2:
        return float("nan"), float("nan")
    from scipy.special import stdtrit

    half = float(stdtrit(len(kept) - 1, 0.975) * kept.std(ddof=1) / np.sqrt(len(kept)))
    return mean(kept) - half, mean(kept) + half


def _kept(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def paired_tests(differences: Floats, n_resamples: int, random_state: int) -> tuple[float, float, float]:
    """The p-values of t_test, wilcoxon_test and randomization_test; NaN if there are fewer than two differences."""
    if len(differences) < 2:
        return float("nan"), float("nan"), float("nan")
    return t_test(differences), wilcoxon_test(differences), randomization_test(differences, n_resamples, random_state)


def t_test(differences: Floats) -> float:
    """Student's paired t-test, two-sided; NaN if all differences are equal and not 0, so that their variance is 0."""
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
        # SciPy warns about small samples and ties, but its p-value is still the one to report.
        warnings.simplefilter("ignore")
        return float(wilcoxon(changed).pvalue)


def randomization_test(differences: Floats, n_resamples: int, random_state: int) -> float:
    """Fisher's randomization test, two-sided: the share of random signs that give a mean at least as large.

    All 2^n combinations of signs are tried if they are at most `n_resamples`. Otherwise `n_resamples` are drawn, and
    the observed signs count as one more. SciPy's permutation_test does the same, but is many times slower.
    """
    # The sign of a zero difference does not matter.
    changed = differences[differences != 0]
    total = float(changed.sum())
    # A sum that is equal up to rounding counts as large.
    threshold = abs(total) - _ROUNDING * float(np.abs(changed).sum())
    if len(changed) < n_resamples.bit_length():
        flipped = np.zeros(1)
        for difference in changed.tolist():
            flipped = np.concatenate((flipped, flipped + difference))
        return float((np.abs(total - 2 * flipped) >= threshold).mean())
    rng = np.random.default_rng(random_state)
    extreme = 0
    for block in row_blocks(n_resamples, 1 << 14):
        flipped = _random_subset_sums(changed, min(block.stop, n_resamples) - block.start, rng)
        extreme += int((np.abs(total - 2 * flipped) >= threshold).sum())
    return (extreme + 1) / (n_resamples + 1)


def _random_subset_sums(differences: Floats, n_sums: int, rng: np.random.Generator) -> Floats:
    """Sums of random subsets of the differences: each random byte looks up the sum of a subset of eight of them."""
    eights = np.pad(differences, (0, -len(differences) % 8)).reshape(-1, 8)
    sums = np.zeros(n_sums)
    for block in row_blocks(len(eights), 256):
        table = eights[block] @ _SUBSETS
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
    """Holm's correction for multiple comparisons: it bounds the probability of one or more false positives.

    A p-value of NaN stays NaN, but counts as a comparison.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


def p_in_words(p: float) -> str:
    """A p-value for a sentence.

    >>> from swaprank.evaluation.significance import p_in_words
    >>> p_in_words(0.01234), p_in_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    shown = probability(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"
