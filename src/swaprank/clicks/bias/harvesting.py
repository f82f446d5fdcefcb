"""Examination from documents that changed places [Agarwal2019]: nothing is assumed about their relevance.

A document d that was shown n_dk times at position k is clicked n_dk theta_k gamma_d times on average, where theta_k is
the examination and gamma_d the relevance. Of its C_d clicks at all positions, the share

    p_dk = n_dk theta_k / sum_j n_dj theta_j

is expected at position k, whatever its relevance. So theta maximizes the conditional likelihood sum_dk c_dk log p_dk,
with gradient c_dk - C_d p_dk: all pairs of positions at once, weighted as they deserve. The gradient is 0 on average
for the true theta also if clicks are grades, or depend on each other: only the mean must be right.

With few clicks, a prior on log theta says what is likely before any click is seen: a power of the position around
k^0 = 1, which is no bias at all, and every position a little off it. The more clicks, the less it says.
"""

from math import fsum

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.bias.bias_precision import more_sessions
from swaprank.clicks.logs.click_counts import ClickCounts
from swaprank.elementary import exp, log
from swaprank.errors import DataError, Hint, Part, Wording
from swaprank.kernels import kernel

_MOST_STEPS = 200
_LONGEST_STEP = 2.0
"""The longest step of log examination: from far away, Newton's step may be too long."""
_CONVERGED = 1e-9
_SMALLEST = 1e-12
"""Examination that a resample without clicks at a position would drive to 0."""
_SPREAD_OF_POWERS, _SPREAD_AROUND_POWER = 1.0, 0.3
"""Position bias found elsewhere is about (1/k)^a, with a from 0 to 2."""
_NO_INFORMATION = 1e-9


def moved_units(counts: ClickCounts) -> Bools:
    """Documents that were shown at several positions and clicked: only these tell something."""
    return (np.diff(counts.indptr) > 1) & (np.add.reduceat(counts.clicks, counts.indptr[:-1]) > 0)


def check_identified(counts: ClickCounts, n_positions: int, n_sessions: int, *, neighbours: bool) -> None:
    """Raise DataError unless the clicks determine the examination of all positions. The counts may be of neighbours.

    The likelihood has one finite maximum if and only if positions cannot be divided into two groups such that no
    document that was clicked in the first was also shown in the second [Ford1957, for wins of players].
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    how_many = "Log more sessions"
    if len(counts.unit):
        # A prior, because the clicks alone have no answer.
        likely = harvested_examination(counts, np.ones(n_positions), power_prior(n_positions))
        how_many = more_sessions(float(log_errors(counts, likely).max()), n_sessions)
    advice: tuple[Part, ...] = (
        f"{how_many}, let documents change places (swap neighbours at random in a small share of the sessions), "
        "or use features: ",
        Wording("method='regression'", "`swaprank clicks propensity --method regression`"),
        ".",
    )
    if len(counts.unit) == 0:
        never = "no neighbours were" if neighbours else "no document was"
        how = "in both orders" if neighbours else "at several positions"
        raise DataError(f"the log cannot tell the position bias: {never} shown {how} and clicked. ", *advice)
    clicked, shown = _links(counts)
    graph = coo_array((np.ones(len(clicked)), (clicked, shown)), shape=(n_positions, n_positions))
    number = connected_components(graph, directed=True, connection="strong", return_labels=True)[1]
    apart = np.flatnonzero(number != number[0])
    if len(apart):
        some = ", ".join(str(position + 1) for position in apart[:10].tolist())
        last = int(apart[0])
        if last > 1:
            advice = (*advice, " Or ask only for the first positions: ", Hint("max_position", last), ".")
        raise DataError(
            f"the log cannot tell the position bias at position {some} relative to position 1: too few clicks on "
            f"documents that were shown both there and at other positions. ",
            *advice,
        )


def _links(counts: ClickCounts) -> tuple[Ints, Ints]:
    """All (position of a click, other position) of the same document, without those that repeat."""
    n_positions = int(counts.position.max()) + 1
    seen = np.zeros((n_positions, n_positions), np.bool_)
    _find_links(counts, seen)
    clicked, shown = np.nonzero(seen)
    return clicked, shown


@kernel
def _find_links(counts: ClickCounts, seen: Bools) -> None:
    for unit in range(len(counts.unit)):
        first, last = counts.indptr[unit], counts.indptr[unit + 1]
        for one in range(first, last):
            if counts.clicks[one] > 0.0:
                for other in range(first, last):
                    if counts.shown[other] > 0.0:
                        seen[counts.position[one], counts.position[other]] = True


def harvested_examination(
    counts: ClickCounts, start: Floats, prior: Floats | None = None, around: Floats | None = None
) -> Floats:
    """The examination that maximizes the conditional likelihood, relative to position 1, by Newton's method.

    `prior` is the precision of log theta, as of `power_prior`, around log `around`, or 0; without one, only the clicks
    count.
    """
    examination, n = start.copy(), len(start)
    middle = np.ones(n) if around is None else around
    _maximize(counts, examination, np.zeros((n, n)) if prior is None else prior, middle)
    return examination


def power_prior(n_positions: int) -> Floats:
    """The precision of log theta_k = -a log k + e_k with a of standard deviation 1, and e_k of a smaller one."""
    logs = np.array([log(float(k)) for k in range(1, n_positions + 1)])
    ratio = (_SPREAD_OF_POWERS / _SPREAD_AROUND_POWER) ** 2
    # The inverse of a² v v' + e² I, in closed form.
    shared = ratio * np.outer(logs, logs) / (1.0 + ratio * fsum(logs**2))
    return (np.eye(n_positions) - shared) / _SPREAD_AROUND_POWER**2


def information(counts: ClickCounts, theta: Floats) -> Floats:
    """The negative second derivatives of the log likelihood by log theta."""
    n = len(theta)
    gradient, hessian, share = np.empty(n), np.empty((n, n)), np.empty(n)
    _derivatives(counts, theta, share, gradient, hessian)
    return hessian


def log_errors(counts: ClickCounts, theta: Floats) -> Floats:
    """The standard errors of log theta that the clicks allow; infinite where documents do not connect positions."""
    # This does not enter a model: eigenvalues may have other last bits elsewhere.
    values, vectors = np.linalg.eigh(information(counts, theta)[1:, 1:])
    told = values > _NO_INFORMATION
    variances = (vectors[:, told] ** 2 / values[told]).sum(axis=1)
    untold = (vectors[:, ~told] ** 2).sum(axis=1) > _NO_INFORMATION
    return np.append(0.0, np.sqrt(np.where(untold, np.inf, variances)))


@kernel
def _maximize(counts: ClickCounts, theta: Floats, prior: Floats, around: Floats) -> None:
    n = len(theta)
    gradient, hessian, share = np.empty(n), np.empty((n, n)), np.empty(n)
    for _ in range(_MOST_STEPS):
        _derivatives(counts, theta, share, gradient, hessian)
        for k in range(n):
            for j in range(n):
                hessian[k, j] += prior[k, j]
                gradient[k] -= prior[k, j] * log(theta[j] / around[j])
        # Position 1 has examination 1: only the others move.
        _solve(hessian, gradient)
        longest = 0.0
        for k in range(1, n):
            longest = max(longest, abs(gradient[k]))
        shorter = min(1.0, _LONGEST_STEP / longest) if longest > 0.0 else 1.0
        for k in range(1, n):
            theta[k] = max(theta[k] * exp(shorter * gradient[k]), _SMALLEST)
        if longest < _CONVERGED:
            return


@kernel
def _derivatives(counts: ClickCounts, theta: Floats, share: Floats, gradient: Floats, hessian: Floats) -> None:
    """The gradient of the log likelihood and its negative hessian, by log theta."""
    position, shown, clicks = counts.position, counts.shown, counts.clicks
    gradient[:] = 0.0
    hessian[:] = 0.0
    for unit in range(len(counts.unit)):
        first, last = counts.indptr[unit], counts.indptr[unit + 1]
        total = 0.0
        n_clicks = 0.0
        for cell in range(first, last):
            share[cell - first] = shown[cell] * theta[position[cell]]
            total += share[cell - first]
            n_clicks += clicks[cell]
        if n_clicks == 0.0:
            continue
        for cell in range(first, last):
            share[cell - first] /= total
        for cell in range(first, last):
            k, p = position[cell], share[cell - first]
            gradient[k] += clicks[cell] - n_clicks * p
            hessian[k, k] += n_clicks * p
            for other in range(first, last):
                hessian[k, position[other]] -= n_clicks * p * share[other - first]


@kernel
def _solve(matrix: Floats, vector: Floats) -> None:
    """Replace the vector by the solution of matrix x = vector without the first row and column, by elimination.

    The matrix is positive semidefinite, so that no rows need be exchanged. Both arrays are overwritten.
    """
    n = len(vector)
    for i in range(1, n):
        pivot = matrix[i, i]
        if pivot <= 1e-12:
            # No click tells about this position in this resample: it stays where it is.
            matrix[i, :] = 0.0
            matrix[:, i] = 0.0
            matrix[i, i] = 1.0
            vector[i] = 0.0
            continue
        for j in range(i + 1, n):
            factor = matrix[j, i] / pivot
            if factor != 0.0:
                for k in range(i, n):
                    matrix[j, k] -= factor * matrix[i, k]
                vector[j] -= factor * vector[i]
    for i in range(n - 1, 0, -1):
        for j in range(i + 1, n):
            vector[i] -= matrix[i, j] * vector[j]
        vector[i] /= matrix[i, i]
