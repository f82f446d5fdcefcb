"""Position bias with trust bias, by expectation maximization [Agarwal2019b, Vardasbi2020].

People who examine a document may click it only because it stands high: P(click) = alpha_k gamma_d + beta_k at position
k for a document of relevance gamma_d. With a number for every document, estimates would be biased where documents were
shown seldom. So relevance is a latent variable with one of a few levels. How common these are may depend on the
position where a document is shown most often, because the production ranker is better than chance.

The clicks determine alpha_k / alpha_1 and beta_k - beta_1 alpha_k / alpha_1: another origin and another unit of
relevance explain them as well, and rank documents in the same order. `in_normal_form` chooses one of them.
"""

from math import fsum, sqrt
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.logs.click_counts import ClickCounts
from swaprank.elementary import exp, log
from swaprank.kernels import kernel

_LEVELS = 11
_MOST_STEPS = 500
_LONGEST_STEP = 64.0
_LEAST = 1e-6
"""The least probability of a click, and of none: logarithms stay finite."""


class TrustBias(NamedTuple):
    """alpha and beta of each position; the levels of relevance; how common they are: usual position x level."""

    alpha: Floats
    beta: Floats
    relevance: Floats
    levels: Floats


def initial_trust(examination: Floats) -> TrustBias:
    """Start from the examination without trust bias, and equally common levels."""
    n = len(examination)
    common = np.full((n, _LEVELS), 1.0 / _LEVELS)
    return TrustBias(0.8 * examination, 0.1 * examination, np.arange(_LEVELS) / (_LEVELS - 1), common)


def estimate_trust(counts: ClickCounts, start: TrustBias, converged: float = 1e-6) -> TrustBias:
    """The trust bias that maximizes the likelihood of the counts.

    Rounds of expectation maximization take small steps in almost the same direction. So after two of them, a long step
    is tried [Varadhan2008], and kept if the likelihood is not lower.
    """
    usual = _usual_positions(counts)
    now = start
    for _ in range(_MOST_STEPS):
        first, _ = _next_round(counts, usual, now)
        second, likelihood = _next_round(counts, usual, first)
        if max(np.abs(first.alpha - now.alpha).max(), np.abs(first.beta - now.beta).max()) < converged:
            return second
        far, reached = _next_round(counts, usual, _extrapolated(now, first, second))
        now = far if reached >= likelihood else second
    return now


def _next_round(counts: ClickCounts, usual: Ints, now: TrustBias) -> tuple[TrustBias, float]:
    """One round of expectation maximization, and the log likelihood before it."""
    found = TrustBias(*(each.copy() for each in now))
    return found, _improve_trust(counts, usual, found)


def _extrapolated(start: TrustBias, first: TrustBias, second: TrustBias) -> TrustBias:
    """The point to which the steps from start to first to second lead, within the bounds."""
    step = [b - a for a, b in zip(start, first, strict=True)]
    turn = [(c - b) - s for b, c, s in zip(first, second, step, strict=True)]
    length, bend = (fsum(value * value for each in parts for value in each.flat) for parts in (step, turn))
    far = max(1.0, min(sqrt(length / bend), _LONGEST_STEP)) if bend > 0 else 1.0
    alpha, beta, relevance, levels = (a + 2 * far * s + far**2 * t for a, s, t in zip(start, step, turn, strict=True))
    beta = np.clip(beta, 0.0, 1.0 - 2 * _LEAST)
    alpha = np.clip(alpha, _LEAST, 1.0 - beta)
    levels = np.maximum(levels, 1e-9)
    return TrustBias(alpha, beta, np.clip(relevance, 0.0, 1.0), levels / levels.sum(axis=1, keepdims=True))


def in_normal_form(found: TrustBias) -> tuple[Floats, Floats]:
    """Examination and epsilon_minus, with epsilon_plus = 1 everywhere.

    Relevance 1 is a click for sure at position 1. Relevance 0 is no click at the position where trust is least.
    """
    slope = found.alpha / found.alpha[0]
    offset = found.beta - slope * found.beta[0]
    first = float(np.max(-offset / slope))
    beta = np.maximum(offset + slope * first, 0.0)
    examination = slope * (1.0 - first) + beta
    return examination, beta / examination


@kernel
def _usual_positions(counts: ClickCounts) -> Ints:
    """The position at which each document is shown most often."""
    usual = np.empty(len(counts.unit), np.int64)
    for unit in range(len(usual)):
        most = counts.indptr[unit]
        for cell in range(counts.indptr[unit], counts.indptr[unit + 1]):
            if counts.shown[cell] > counts.shown[most]:
                most = cell
        usual[unit] = counts.position[most]
    return usual


@kernel
def _improve_trust(counts: ClickCounts, usual: Ints, found: TrustBias) -> float:
    """Replace what was found by that of the next round; returns the log likelihood of what was given."""
    alpha, beta, relevance, levels = found
    n_positions, n_levels = levels.shape
    yes, no, prior = np.empty(levels.shape), np.empty(levels.shape), np.empty(levels.shape)
    shown_at, clicks_at = np.zeros(levels.shape), np.zeros(levels.shape)
    for k in range(n_positions):
        for g in range(n_levels):
            p = min(max(alpha[k] * relevance[g] + beta[k], _LEAST), 1.0 - _LEAST)
            yes[k, g], no[k, g], prior[k, g] = log(p), log(1.0 - p), log(max(levels[k, g], 1e-300))
    levels[:] = 1e-3
    likelihood = _expect(counts, usual, yes, no, prior, levels, shown_at, clicks_at)
    for k in range(n_positions):
        levels[k] /= levels[k].sum()
        _fit_line(shown_at[k], clicks_at[k], relevance, k, alpha, beta)
    for g in range(n_levels):
        _fit_level(shown_at[:, g], clicks_at[:, g], alpha, beta, g, relevance)
    return likelihood


@kernel
def _expect(
    counts: ClickCounts, usual: Ints, yes: Floats, no: Floats, prior: Floats, levels: Floats, shown_at: Floats,
    clicks_at: Floats,
) -> float:  # fmt: skip
    """Add up the expected counts of every position and level; returns the log likelihood."""
    indptr, position, shown, clicks = counts.indptr, counts.position, counts.shown, counts.clicks
    n_levels = levels.shape[1]
    likelihood = 0.0
    share = np.empty(n_levels)
    for unit in range(len(usual)):
        share[:] = prior[usual[unit]]
        for cell in range(indptr[unit], indptr[unit + 1]):
            k = position[cell]
            for g in range(n_levels):
                share[g] += clicks[cell] * yes[k, g] + (shown[cell] - clicks[cell]) * no[k, g]
        highest = share.max()
        total = 0.0
        for g in range(n_levels):
            share[g] = exp(share[g] - highest)
            total += share[g]
        likelihood += highest + log(total)
        for g in range(n_levels):
            share[g] /= total
            levels[usual[unit], g] += share[g]
        for cell in range(indptr[unit], indptr[unit + 1]):
            for g in range(n_levels):
                shown_at[position[cell], g] += share[g] * shown[cell]
                clicks_at[position[cell], g] += share[g] * clicks[cell]
    return likelihood


@kernel
def _fit_line(shown: Floats, clicks: Floats, relevance: Floats, k: int, alpha: Floats, beta: Floats) -> None:
    """One step of weighted least squares for P(click) = alpha gamma + beta at position k, within the bounds."""
    w = wx = wxx = wy = wxy = 0.0
    for g in range(len(shown)):
        x = relevance[g]
        p = min(max(alpha[k] * x + beta[k], _LEAST), 1.0 - _LEAST)
        weight = 1.0 / (p * (1.0 - p))
        w += weight * shown[g]
        wx += weight * shown[g] * x
        wxx += weight * shown[g] * x * x
        wy += weight * clicks[g]
        wxy += weight * clicks[g] * x
    determinant = w * wxx - wx * wx
    if determinant <= 0.0:
        return
    alpha[k], beta[k] = (w * wxy - wx * wy) / determinant, (wxx * wy - wx * wxy) / determinant
    if beta[k] < 0.0:
        alpha[k], beta[k] = wxy / wxx, 0.0
    alpha[k] = max(alpha[k], _LEAST)
    total = alpha[k] + beta[k]
    if total > 1.0:
        alpha[k], beta[k] = alpha[k] / total, beta[k] / total


@kernel
def _fit_level(shown: Floats, clicks: Floats, alpha: Floats, beta: Floats, g: int, relevance: Floats) -> None:
    """One step of weighted least squares for the relevance of a level, from 0 to 1."""
    above = below = 0.0
    for k in range(len(alpha)):
        p = min(max(alpha[k] * relevance[g] + beta[k], _LEAST), 1.0 - _LEAST)
        weight = alpha[k] / (p * (1.0 - p))
        above += weight * (clicks[k] - shown[k] * beta[k])
        below += weight * shown[k] * alpha[k]
    if below > 0.0:
        relevance[g] = min(max(above / below, 0.0), 1.0)
