"""Position bias given a ranker's scores: the half of joint estimation that knows positions; the ranker is the other.

Documents of similar score are expected to be of similar relevance, and a document's own clicks tell how far it is off.
Clicks on document d at position k have the mean n_dk theta_k gamma_d. Its relevance gamma_d varies around the mean mu_b
of the documents in the same bin of scores, with the same variance tau² everywhere. Iterated until convergence:

    mu_b    = clicks / expected examinations of the documents in the bin
    gamma_d = (clicks_d + m mu_b) / (examinations_d + m),  m = (mean of gamma) / tau²        best linear estimate
    theta_k = clicks at k / sum_d n_dk gamma_d

Where documents change places, each of them counts with its own clicks, as in harvesting.py. Where none does, relevance
comes from the scores, as in regression-EM [Wang2018].
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.click_counts import ClickCounts

_N_BINS = 30
_MOST_STEPS = 200
_CONVERGED = 1e-4
_LEAST_VARIANCE = 1e-6
"""Of relevance within a bin: with less, documents count with the mean of their bin, whatever their clicks."""


def bias_given_scores(counts: ClickCounts, squares: Floats, scores: Floats, start: Floats) -> Floats:
    """The examination of each position, relative to position 1.

    Args:
        counts: How often each document was shown and clicked at each position.
        squares: The sum of the squared clicks of each document.
        scores: The score of each document.
        start: The examination to start from.
    """
    unit = np.repeat(np.arange(len(counts.unit)), np.diff(counts.indptr))
    n_units, n_positions, theta = len(scores), len(start), start
    bins = _bins(scores, _sums(unit, counts.shown, n_units))
    clicks, at_position = _sums(unit, counts.clicks, n_units), _sums(counts.position, counts.clicks, n_positions)
    for _ in range(_MOST_STEPS):
        chance = theta[counts.position]
        examined = _sums(unit, counts.shown * chance, n_units)
        means = _sums(bins, clicks, _N_BINS) / np.maximum(_sums(bins, examined, _N_BINS), 1e-300)
        # Products of different clicks on the same document have the mean theta theta gamma².
        products = examined**2 - _sums(unit, counts.shown * chance**2, n_units)
        beyond = np.sum(clicks**2 - squares) - np.sum(means[bins] ** 2 * products)
        variance = max(float(beyond / max(float(np.sum(products)), 1e-300)), _LEAST_VARIANCE)
        strength = float(np.sum(clicks) / np.sum(examined)) / variance
        relevance = (clicks + strength * means[bins]) / (examined + strength)
        found = at_position / np.maximum(_sums(counts.position, counts.shown * relevance[unit], n_positions), 1e-300)
        # A position without a click would have an examination of 0, by which nothing can be divided.
        found = np.maximum(found / found[0], 1e-6)
        change = float(np.max(np.abs(found / theta - 1.0)))
        theta = found
        if change < _CONVERGED:
            break
    return theta


def _sums(group: Ints, values: Floats, n_groups: int) -> Floats:
    # Summed one by one: propensities enter labels, and these a model, which must be the same on every CPU.
    return np.bincount(group, values, n_groups).astype(np.float64, copy=False)


def _bins(scores: Floats, shown: Floats) -> Ints:
    """Bins of rising score, each with about the same number of shown documents."""
    order = np.argsort(scores, kind="stable")
    middle = np.cumsum(shown[order]) - shown[order] / 2
    bins = np.empty(len(scores), np.int64)
    bins[order] = np.minimum(middle / max(float(np.sum(shown)), 1.0) * _N_BINS, _N_BINS - 1)
    return bins
