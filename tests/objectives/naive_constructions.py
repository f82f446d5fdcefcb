"""The lambda constructions document by document in plain Python: the kernels' twins."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from swaprank.arrays import Floats
from tests.metrics.naive import swap_gains
from tests.objectives.naive_lambdas import VALUES

BINARY = ("map", "mrr", "p@2", "bpref", "rprec", "rbp", "success@2")
"""Metrics for which a document is relevant or not."""


def gains_of(metric: str, labels: Floats) -> Floats:
    """What the metric takes the labels for, up to a factor. All others tell all labels apart."""
    return (labels >= 1).astype(float) if metric in BINARY else labels


def forces(
    name: str,
    metric: str,
    labels: Floats,
    scores: Floats,
    sigma: float,
    normalize: bool,
    margin: float | None = None,
) -> tuple[Floats, Floats]:
    """grad and hess of one query whose scores all differ."""
    order = np.argsort(-scores)
    ranked, gains, s = labels[order], gains_of(metric, labels)[order], scores[order]
    if name == "discrete_bounded":
        grad, hess, total = _alone(metric, ranked, gains, sigma)
    else:
        swap = np.abs(swap_gains(VALUES[metric], ranked.tolist()))
        if name == "pairs" and metric == "pairwise":
            swap = np.full_like(swap, 2 / max((labels[:, None] != labels).sum(), 1))
        grad, hess, total = _pairs(name, swap, gains, s, sigma, normalize, margin)
    factor = np.log2(1 + 2 * total) / (2 * total) if normalize and total > 0 else 1.0
    out = np.empty_like(grad), np.empty_like(hess)
    out[0][order] = factor * grad
    out[1][order] = factor * np.maximum(hess, sigma * np.abs(grad) / 100)
    return out


def _nearest(gains: Floats, i: int) -> list[int]:
    """The nearest of another gain above i, and below."""
    others = np.flatnonzero(gains != gains[i])
    return [*others[others < i][-1:], *others[others > i][:1]]


def _pairs(
    name: str, swap: Floats, gains: Floats, s: Floats, sigma: float, normalize: bool, margin: float | None
) -> tuple[Floats, Floats, float]:
    n = len(gains)
    limit = (1 / sigma if name in ("step", "linear") else np.inf) if margin is None else margin
    if name == "local_cost":
        chosen = [(i, j) for i in range(n) for j in _nearest(gains, i)]
    else:
        far = 2 if name == "local_gradient" else n
        chosen = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + far)) if gains[i] != gains[j]]
    grad, hess, total = np.zeros(n), np.zeros(n), 0.0
    for i, j in chosen:
        better, worse = (i, j) if gains[i] > gains[j] else (j, i)
        if s[better] - s[worse] > limit:
            continue
        if name == "local_gradient":
            apart = abs(s[i] - s[j]) + 1 / sigma
            force, bend = swap[i, j] / apart, swap[i, j] / apart**2
        else:
            weight = 1 + swap[i, j] if name == "spring" else swap[i, j]
            if normalize:
                weight /= 0.01 + abs(s[i] - s[j])
            rho = expit(-sigma * (s[better] - s[worse]))
            force, bend = sigma * weight * rho, sigma**2 * weight * rho * (1 - rho)
            if name == "step":
                force, bend = sigma * weight, sigma**2 * weight
            elif name == "linear":
                force, bend = sigma**2 * weight * (limit - (s[better] - s[worse])), sigma**2 * weight
        grad[better] -= force
        grad[worse] += force
        hess[better] += bend
        hess[worse] += bend
        total += force
    return grad, hess, total


def _alone(metric: str, ranked: Floats, gains: Floats, sigma: float) -> tuple[Floats, Floats, float]:
    n = len(gains)
    now = VALUES[metric](ranked.tolist())
    ideal = np.sort(gains)[::-1]
    force = np.zeros(n)
    for r in range(n):
        places = np.flatnonzero(ideal == gains[r])
        to = int(np.clip(r, places[0], places[-1]))
        # The same documents, with r taken out and put in again.
        moved = np.insert(np.delete(ranked, r), to, ranked[r])
        force[r] = np.sign(r - to) * np.clip(VALUES[metric](moved.tolist()) - now, 0, 1)
    return -(force - force.mean()), sigma * np.abs(force), float(np.abs(force).sum())
