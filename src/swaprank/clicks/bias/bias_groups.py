"""Position bias of groups of sessions, such as devices, partially pooled.

The examination of group g is theta_gk = c_k exp(delta_gk): that of a typical group, times a deviation. The deviations
have mean 0 and the precision P / tau², where P is `power_prior`: groups differ mostly in how steep the bias is. The log
likelihood of harvesting.py is about b_g' x - x' H_g x / 2 for the logarithms x of the group's examination. So

    x_g = (H_g + P / tau²)⁻¹ (b_g + P log c / tau²)

Groups with many clicks keep their own bias, and small ones have the typical one. c has the highest marginal likelihood
of all groups, and tau is its mean under this likelihood. Documents are compared only within their group: relevance may
differ between groups.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.bias.bias_precision import check_precise
from swaprank.clicks.bias.harvesting import (
    check_identified,
    harvested_examination,
    information,
    log_errors,
    moved_units,
    power_prior,
)
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.logs.click_counts import ClickCounts, chosen_units, count_log, count_neighbours, upper_neighbours
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.elementary import exp
from swaprank.elementary import log as log_of
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.kernels import kernel
from swaprank.rendering.tables import counted

_SPREADS = tuple(0.02 * 1.2**step for step in range(28))
"""The values of tau that are tried, up to 2.7: a difference between groups like that between no bias and 1/k^2.7."""


class _Group(NamedTuple):
    name: str
    counts: ClickCounts
    information: Floats
    """The matrix H of the log likelihood at its maximum, and its slope b at the examination of all sessions."""
    pull: Floats


def bias_by_context(log: ClickLog | LogCounts, by: str, last: int, *, swaps: bool) -> Propensities:
    """The position bias of each value of a column of the context, with intervals of the posterior."""
    names, counts = _counted_groups(log, by, last, swaps=swaps)
    together = _joined(counts)
    check_identified(together, last, log.n_sessions, neighbours=swaps)
    common = harvested_examination(together, np.ones(last))
    errors = log_errors(together, common)
    check_precise(errors, log.n_sessions, has_features=False)
    unit = power_prior(last)
    groups = [_group(name, each, common, unit) for name, each in zip(names, counts, strict=True)]
    prior = unit / _spread(groups, unit) ** 2
    _, deviation, certainty = _marginal(*_stacked(groups), prior)
    typical = common * _exps(deviation)
    whom = counted(len(together.unit), "document", "documents")
    words = f"from {whom} that changed places, {len(groups)} groups partially pooled; 95% intervals of their posterior"
    parts = {each.name: _pooled(each, typical, certainty, prior) for each in groups}
    low, high = common * np.exp(-1.96 * errors), common * np.exp(1.96 * errors)
    return Propensities(common, low, high, method=words, by=by, groups=parts)


def _counted_groups(
    log: ClickLog | LogCounts, by: str, last: int, *, swaps: bool
) -> tuple[list[str], list[ClickCounts]]:
    """The clicks on documents that moved, of each group that has any."""
    if by not in log.context:
        raise ParameterError(f"by must be a column of the log's context; found {by!r}: {did_you_mean(by, log.context)}")
    names, counts = [], []
    # Missing numbers are a group, too.
    values, group = np.unique(log.context[by], return_inverse=True)
    if len(values) > log.n_sessions / 2:
        raise DataError(f"'{by}' has {len(values):,} values in {log.n_sessions:,} sessions: these are no groups.")
    for number, value in enumerate(values):
        part = log.in_context(**{by: value}) if isinstance(log, LogCounts) else log.subset(group == number)
        is_alone = swaps and isinstance(part, ClickLog) and len(upper_neighbours(part, last)) == 0
        if is_alone or not (part.position <= last).any():
            continue
        found, rows = count_neighbours(part, last) if swaps else count_log(part, last)
        found, _ = chosen_units(found, rows, moved_units(found))
        names.append(str(value))
        counts.append(found)
    if not counts:
        raise DataError("the log cannot tell the position bias: no session shows two neighbours.")
    return names, counts


def _joined(counts: Sequence[ClickCounts]) -> ClickCounts:
    """The units of all groups; the same document in two groups is two units."""
    starts = np.concatenate(([0], np.cumsum([each.indptr[-1] for each in counts])))
    indptr = [each.indptr[:-1] + start for each, start in zip(counts, starts, strict=False)]
    return ClickCounts(
        indptr=np.append(np.concatenate(indptr), starts[-1]).astype(np.int64),
        unit=np.concatenate([each.unit for each in counts]),
        position=np.concatenate([each.position for each in counts]),
        shown=np.concatenate([each.shown for each in counts]),
        clicks=np.concatenate([each.clicks for each in counts]),
    )


def _group(name: str, counts: ClickCounts, common: Floats, prior: Floats) -> _Group:
    """The quadratic form of the log likelihood at its maximum with the widest prior, which always has one."""
    widest = prior / _SPREADS[-1] ** 2
    found = harvested_examination(counts, common, widest, common)
    deviation = _logs(found / common)
    curvature = information(counts, found)
    # At the maximum, the slope of the likelihood is that of the prior.
    pull = np.array([np.sum((row + own) * deviation) for row, own in zip(curvature, widest, strict=True)])
    return _Group(name, counts, curvature, pull)


def _stacked(groups: Sequence[_Group]) -> tuple[Floats, Floats]:
    return np.stack([each.information for each in groups]), np.stack([each.pull for each in groups])


def _spread(groups: Sequence[_Group], unit: Floats) -> float:
    """The mean of tau under the marginal likelihood: its maximum would often be 0 if there are few groups."""
    likelihood = np.array([_marginal(*_stacked(groups), unit / each**2)[0] for each in _SPREADS])
    weight = _exps(likelihood - likelihood.max())
    return float(np.sum(weight * np.array(_SPREADS)) / np.sum(weight))


def _pooled(group: _Group, typical: Floats, certainty: Floats, prior: Floats) -> Propensities:
    """The maximum of the posterior; its intervals contain that the typical group is estimated, too."""
    found = harvested_examination(group.counts, typical, prior, typical)
    covariance = np.linalg.inv((group.information + prior)[1:, 1:])
    pulled = covariance @ prior[1:, 1:]
    covariance = covariance + pulled @ np.linalg.inv(certainty[1:, 1:]) @ pulled.T
    error = np.append(0.0, np.sqrt(np.diag(covariance)))
    return Propensities(found, found * np.exp(-1.96 * error), found * np.exp(1.96 * error))


def _logs(values: Floats) -> Floats:
    return np.array([log_of(float(value)) for value in values])


def _exps(values: Floats) -> Floats:
    return np.array([exp(float(value)) for value in values])


@kernel
def _marginal(information: Floats, pull: Floats, prior: Floats) -> tuple[float, Floats, Floats]:
    """The marginal log likelihood of tau with the best typical group, its deviation, and the certainty of that.

    With M = H_g + P, the likelihood of a typical group c is b' M⁻¹ b / 2 + c' P M⁻¹ b - c' (P - P M⁻¹ P) c / 2 for each
    group. The last matrix, summed, is the certainty; half the logarithm of its determinant is for the estimate of c.
    """
    n_groups, n = pull.shape
    certainty, pulled = np.zeros((n, n)), np.zeros(n)
    value = 0.0
    right = np.empty((n, n + 1))
    for g in range(n_groups):
        right[:, :n] = prior
        right[:, n] = pull[g]
        value -= 0.5 * _solve_all(information[g] + prior, right)
        for i in range(1, n):
            value += 0.5 * pull[g, i] * right[i, n]
            for j in range(1, n):
                pulled[i] += prior[i, j] * right[j, n]
                certainty[i, j] += prior[i, j]
                for k in range(1, n):
                    certainty[i, j] -= prior[i, k] * right[k, j]
    nothing = np.zeros((n, 1))
    value += 0.5 * n_groups * _solve_all(prior.copy(), nothing)
    best = pulled.copy().reshape(n, 1)
    value -= 0.5 * _solve_all(certainty.copy(), best)
    for i in range(1, n):
        value += 0.5 * pulled[i] * best[i, 0]
    best[0, 0] = 0.0
    return value, best[:, 0].copy(), certainty


@kernel
def _solve_all(matrix: Floats, right: Floats) -> float:
    """Replace the columns by the solutions of matrix x = column without the first row and column.

    Returns the logarithm of the determinant. The matrix is positive definite and is overwritten.
    """
    n, n_columns = right.shape
    value = 0.0
    for i in range(1, n):
        value += log_of(matrix[i, i])
        for j in range(i + 1, n):
            factor = matrix[j, i] / matrix[i, i]
            for k in range(i, n):
                matrix[j, k] -= factor * matrix[i, k]
            for k in range(n_columns):
                right[j, k] -= factor * right[i, k]
    for i in range(n - 1, 0, -1):
        for k in range(n_columns):
            for j in range(i + 1, n):
                right[i, k] -= matrix[i, j] * right[j, k]
            right[i, k] /= matrix[i, i]
    return value
