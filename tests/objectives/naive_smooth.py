"""Smooth metrics as the paper writes them: every h_ij by itself, slow and plain, the kernels' twin."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats
from tests.metrics.naive import AtRanks


def indicators(scores: Floats, sigma: float) -> Floats:
    """h[i, j]: is document i at rank j? [Chapelle2010, Eq. 7]"""
    at_rank = scores[np.argsort(-scores, kind="stable")]
    e = np.exp(-((scores[:, None] - at_rank) ** 2) / sigma)
    return np.asarray(e / e.sum(axis=0))


def indicator_slopes(scores: Floats, sigma: float) -> Floats:
    """dh[i, j, p] = dh_ij / df_p, term by term [Chapelle2010, Eq. 10]."""
    n, d = len(scores), np.argsort(-scores, kind="stable")
    e = np.exp(-((scores[:, None] - scores[d]) ** 2) / sigma)
    slopes = np.zeros((n, n, n))
    for i in range(n):
        for j in range(n):
            for p in range(n):
                total = e[:, j].sum()
                first = e[p, j] * (scores[p] - scores[d[j]]) * (e[i, j] - (i == p) * total)
                second = (d[j] == p) * e[i, j] * (scores[i] * total - (e[:, j] * scores).sum())
                slopes[i, j, p] = 2 / (sigma * total**2) * (first + second)
    return slopes


def appendix_gradient(gains: Floats, discounts: Floats, scores: Floats, sigma: float, X: Floats) -> Floats:
    """The gradient of sum_ij G_i D_j h_ij by the weights of a linear model [Chapelle2010, Appendix 2]."""
    d = np.argsort(-scores, kind="stable")
    e = np.exp(-((scores[:, None] - scores[d]) ** 2) / sigma)
    total = np.zeros(X.shape[1])
    for j in range(len(discounts)):
        away, E, Ge = scores - scores[d[j]], e[:, j].sum(), (gains * e[:, j]).sum()
        bracket = Ge * ((e[:, j] * away) @ X) - E * ((e[:, j] * away * gains) @ X)
        bracket += (E * (gains * e[:, j] * scores).sum() - Ge * (scores * e[:, j]).sum()) * X[d[j]]
        total += discounts[j] / E**2 * bracket
    return 2 / sigma * total


def smooth_value(metric: AtRanks, labels: Floats, scores: Floats, sigma: float) -> float:
    """The metric of the soft gains at each rank, for one query; 0 if no document has a gain."""
    gains = np.array([metric.gain(label) for label in labels])
    discounts = np.array([metric.discount(rank) for rank in range(1, min(len(labels), metric.k or len(labels)) + 1)])
    if not gains.any():
        return 0.0
    soft = (gains @ indicators(scores, sigma))[: len(discounts)]
    if metric.family == "sum":
        raw = discounts @ soft
    elif metric.family == "precisions":
        raw = discounts @ (soft * np.cumsum(soft))
    else:
        raw = discounts @ (soft * np.concatenate(([1.0], np.cumprod(1 - soft)[:-1])))
    best = np.sort(discounts)[::-1] @ np.sort(gains)[::-1][: len(discounts)]
    return float(raw / {"one": 1.0, "best": best, "relevant": gains.sum()}[metric.divisor])


def smooth_ranks_value(labels: Floats, scores: Floats, sigma: float) -> float:
    """Average precision by soft ranks [Chapelle2010, Eq. 9], with every document above itself."""
    relevant = (labels >= 1).astype(float)
    above = 1 / (1 + np.exp((scores[:, None] - scores) / sigma))
    np.fill_diagonal(above, 0.0)
    ranks = 1 + above.sum(axis=1)
    found = 1 + above @ relevant
    return float((relevant * found / ranks).sum() / relevant.sum())
