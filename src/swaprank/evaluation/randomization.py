"""Fisher's randomization test of paired differences, and the confidence interval that belongs to it.

A query whose rankings are equally good could as well have had the opposite difference. The p-value is the share of
all choices of signs whose mean is at least as far from 0 as the observed one. If the true mean is d, the differences
minus d can change their signs. The interval contains every d that this test does not reject, so that the interval and
the p-value never contradict each other.

A choice of signs flips a subset of the queries. Below the observed mean, it counts against d if the mean of that
subset, or of the other queries, is at most d. So the p-value grows with d up to the observed mean, and the ends of the
interval are order statistics of the means of subsets [Hartigan1969].

Where nearly all queries are ties, the next query may bring a change that was not seen yet. With ties and fewer than
`FEW_CHANGES` other queries, an end is that of a sample with one more query, which has the largest difference that the
metric allows; but an end that excludes 0 stays, as the p-value does.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Floats, row_blocks
from swaprank.kernels import kernel

ROUNDING = 1e-12
FEW_CHANGES = 20
"""With fewer queries that are no ties, intervals allow for changes that were not seen. See benchmarks/intervals.py."""
_UNBOUNDED = (float("-inf"), float("inf"))


@final
@dataclass(frozen=True, eq=False)
class Randomization:
    """The randomization test of one sample of differences, for any true mean.

    >>> import numpy as np
    >>> from swaprank.evaluation.randomization import randomize
    >>> test = randomize(np.array([0.1, 0.2, 0.2, 0.3, 0.1, 0.4]), 10_000, 0)
    >>> test.p_value, [round(end, 4) for end in test.interval(0.05)]
    (0.03125, [0.1, 0.4])
    """

    p_value: float
    """Two-sided, for a true mean of 0."""
    lowest: Floats
    """For each choice of signs, the least mean for which it counts among those at least as extreme; sorted."""
    highest: Floats
    """The same for means above the observed one: the greatest such mean; sorted downwards."""
    n_observed: int
    """1 if the observed signs count as one more choice, because choices were drawn; 0 if all were tried."""
    with_extremes: "tuple[Randomization, Randomization] | None" = None
    """The tests with one more query that loses, or wins, as much as possible; if there are ties and few changes."""

    def interval(self, level: float, factor: int = 1, bounds: tuple[float, float] = _UNBOUNDED) -> tuple[float, float]:
        """All true means whose p-value, times a factor that corrects it, is at least `level`.

        Too few queries reject no mean at all. Then the ends are the bounds, or NaN if these are infinite.
        """
        low, high = self._ends(level, factor)
        if self.with_extremes is not None:
            lower, upper = (each._ends(level, factor) for each in self.with_extremes)
            low, high = low if low > 0 else min(low, lower[0]), high if high < 0 else max(high, upper[1])
        low, high = max(low, bounds[0]), min(high, bounds[1])
        return (low, high) if np.isfinite([low, high]).all() else (float("nan"), float("nan"))

    def _ends(self, level: float, factor: int) -> tuple[float, float]:
        n_choices = len(self.lowest) + self.n_observed
        least = max(int(level / factor * n_choices) - 2, 0)
        while least / n_choices * factor < level:
            least += 1
        at = least - self.n_observed - 1
        return _UNBOUNDED if at < 0 else (float(self.lowest[at]), float(self.highest[at]))


def randomize(differences: Floats, n_resamples: int, random_state: int, largest: float = np.inf) -> Randomization:
    """The test with all choices of signs if they are at most `n_resamples`, or else with as many that are drawn.

    `largest` is the largest difference that the metric allows. SciPy's permutation_test gives the same p-values, but
    is many times slower.
    """
    test = _randomize(differences, n_resamples, random_state)
    n_changes = int((differences != 0).sum())
    if n_changes == len(differences) or n_changes >= FEW_CHANGES:
        return test
    if not np.isfinite(largest):
        largest = float(np.abs(differences).max())
    loses, wins = (_randomize(np.append(differences, end), n_resamples, random_state) for end in (-largest, largest))
    return replace(test, with_extremes=(loses, wins))


def _randomize(differences: Floats, n_resamples: int, random_state: int) -> Randomization:
    # The sign of a zero difference does not matter for the p-value: zeros alone never require choices to be drawn.
    changed = differences[differences != 0]
    most = n_resamples.bit_length()
    tries_all = len(changed) < most
    tried = differences if len(differences) < most else changed
    if tries_all:
        sums, sizes = _all_subsets(tried)
        if len(tried) < len(differences):
            # Each choice for the changed queries meets several choices for the others.
            repeats = max(1, n_resamples // len(sums))
            sums, sizes = np.repeat(sums, repeats), np.repeat(sizes, repeats)
    else:
        sums, sizes = _drawn_subsets(changed, n_resamples, random_state)
    n_zeros = len(differences) - len(tried)
    if n_zeros:
        sizes = sizes + np.random.default_rng([random_state, 1]).binomial(n_zeros, 0.5, len(sizes))
    return _tested(differences, sums, sizes, 0 if tries_all else 1)


def _tested(differences: Floats, sums: Floats, sizes: Floats, n_observed: int) -> Randomization:
    total, n = float(differences.sum()), len(differences)
    # A sum that is equal up to rounding counts as large.
    threshold = abs(total) - ROUNDING * float(np.abs(differences).sum())
    is_extreme = np.abs(total - 2 * sums) >= threshold
    p_value = (int(is_extreme.sum()) + n_observed) / (len(sums) + n_observed)
    lowest, highest = np.full(len(sums), np.inf), np.full(len(sums), -np.inf)
    for part, size in ((sums, sizes), (total - sums, n - sizes)):
        some = size > 0
        means = np.divide(part, size, out=np.zeros(len(sums)), where=some)
        np.minimum(lowest, np.where(some, means, -np.inf), out=lowest)
        np.maximum(highest, np.where(some, means, np.inf), out=highest)
    # What counts for a mean of 0 here must count there, in spite of rounding.
    if total >= 0:
        np.minimum(lowest, 0.0, out=lowest, where=is_extreme)
    if total <= 0:
        np.maximum(highest, 0.0, out=highest, where=is_extreme)
    lowest.sort()
    highest.sort()
    return Randomization(p_value, lowest, highest[::-1], n_observed)


def _all_subsets(differences: Floats) -> tuple[Floats, Floats]:
    """The sums and the sizes of all subsets."""
    sums, sizes = np.zeros(1), np.zeros(1)
    for difference in differences.tolist():
        sums, sizes = np.concatenate((sums, sums + difference)), np.concatenate((sizes, sizes + 1))
    return sums, sizes


def _drawn_subsets(differences: Floats, n_subsets: int, random_state: int) -> tuple[Floats, Floats]:
    """The sums and the sizes of random subsets: two generators with the same seed choose the same subsets."""
    found = []
    for values in (differences, np.ones(len(differences))):
        rng = np.random.default_rng(random_state)
        blocks = row_blocks(n_subsets, 1 << 14)
        sizes = [min(block.stop, n_subsets) - block.start for block in blocks]
        found.append(np.concatenate([_random_subset_sums(values, size, rng) for size in sizes]))
    return found[0], found[1]


def _random_subset_sums(differences: Floats, n_sums: int, rng: np.random.Generator) -> Floats:
    """Sums of random subsets of the differences: each random byte looks up the sum of a subset of eight of them."""
    eights = np.pad(differences, (0, -len(differences) % 8)).reshape(-1, 8)
    sums = np.zeros(n_sums)
    for block in row_blocks(len(eights), 256):
        table = _subset_sums(eights[block])
        n_bytes = len(table) * n_sums
        random_bytes = rng.integers(1 << 64, size=-(-n_bytes // 8), dtype=np.uint64).view(np.uint8)
        _add_chosen(table, random_bytes[:n_bytes].reshape(len(table), n_sums), sums)
    return sums


def _subset_sums(eights: Floats) -> Floats:
    """The sums of all subsets of each row of eight numbers: column b of those that the bits of the byte b choose.

    A product with a matrix of bits would be no faster, and BLAS ends the process if there is no memory for its buffers.
    """
    sums = np.zeros((len(eights), 1))
    for column in reversed(eights.T):
        sums = np.hstack((sums, sums + column[:, None]))
    return sums


@kernel
def _add_chosen(table: Floats, choices: AnyArray, sums: Floats) -> None:
    """sums[i] += sum over b of table[b, choices[b, i]]."""
    for b in range(len(table)):
        for i in range(len(sums)):
            sums[i] += table[b, choices[b, i]]
