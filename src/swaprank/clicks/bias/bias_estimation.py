"""Estimate the position bias of a click log, with intervals."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.clicks.bias.bias_groups import bias_by_context
from swaprank.clicks.bias.bias_precision import check_precise
from swaprank.clicks.bias.harvesting import check_identified, harvested_examination, log_errors, moved_units
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.bias.trust_em import estimate_trust, in_normal_form, initial_trust
from swaprank.clicks.logs.click_counts import (
    ClickCounts,
    CountedRows,
    bootstrapped,
    chosen_units,
    count_log,
    count_neighbours,
    sums,
)
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, ParameterError, Wording
from swaprank.parameters import check_word
from swaprank.rankers.mart import MART
from swaprank.rendering.tables import counted
from swaprank.seeds import random_generator
from swaprank.threads import thread_count

Method = Literal["harvest", "swaps", "regression", "trust"]
_FEWEST_RESAMPLES = 20
_MOST_ROUNDS = 20
_CONVERGED = 0.005
"""Relative change of the examination. Trees are steps: they do not converge much further."""
_LEAST_RELEVANCE = 1e-3
"""A prediction of trees may be negative."""
_LEAST_EXAMINATION = 1e-9


class Estimate(NamedTuple):
    """Propensities without intervals, the counts behind them, and the function from counts to examination."""

    propensities: Propensities
    counts: ClickCounts
    rows: CountedRows
    examination: Callable[[ClickCounts], Floats]


def position_bias(
    log: ClickLog | LogCounts,
    method: Method = "harvest",
    *,
    by: str | None = None,
    max_position: int | None = None,
    n_resamples: int | None = None,
    random_state: int | None = 0,
    n_threads: int | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Propensities:
    """Estimate how likely documents are examined at each position, relative to position 1.

    Args:
        log: The clicks; or counts of them, for "harvest" and "trust". Intervals from counts take the documents of a
            page for independent.
        method: "harvest": from documents that were shown at several positions, whatever the reason [Agarwal2019].
            "swaps": only from neighbours that were shown in both orders, for logs with randomized swaps, or FairPairs
            [Radlinski2006]; what stands elsewhere on the page then plays no role. "regression": trees predict the
            relevance from features, as in regression-EM [Wang2018]; documents need not move. "trust": with trust
            bias, by expectation maximization, from documents that moved [Agarwal2019b, Vardasbi2020].
        by: A column of the log's context, such as "device": each of its values has a position bias of its own. Groups
            are partially pooled: the fewer clicks a group has, the more it has the bias of all. For "harvest" and
            "swaps"; intervals come from the curvature of the likelihood, not from resamples.
        max_position: Estimate only up to this position. The default is all positions of the log.
        n_resamples: Bootstrap resamples of the sessions for the 95% intervals; 0 for no intervals. The default is 200,
            and 20 for "regression" and "trust", which take longer.
        random_state: The seed of the resamples.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.
        progress: Called with the number of finished resamples and the number of all.

    Returns:
        The propensities. If the log cannot tell them, a DataError with advice is raised instead.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(data, data.column("match"), 20_000, n_shown=3, random_state=0)
    >>> print(sr.clicks.position_bias(log))
    position  examination     low    high
    --------  -----------  ------  ------
    1              1.0000  1.0000  1.0000
    2              0.5107  0.4932  0.5289
    3              0.3302  0.3132  0.3481
    <BLANKLINE>
    Estimated from 420 documents that changed places; 95% intervals from 200 resamples of the sessions.
    """
    check_word("method", method, get_args(Method))
    if n_resamples is None:
        n_resamples = 200 if method in ("harvest", "swaps") else _FEWEST_RESAMPLES
    if n_resamples != 0 and n_resamples < _FEWEST_RESAMPLES:
        raise ParameterError(
            Hint("n_resamples", option="--resamples"),
            f" must be 0, or at least {_FEWEST_RESAMPLES}; found {n_resamples}.",
        )
    last = _last_position(log, max_position)
    if by is not None:
        if method not in ("harvest", "swaps"):
            raise ParameterError(Hint("by"), " is for ", Hint("method", "harvest"), f" or 'swaps'; found '{method}'.")
        return bias_by_context(log, by, last, swaps=method == "swaps")
    if method == "regression":
        found = _regression(log, last)
    elif method == "trust":
        found = _trust(log, last)
    else:
        found = _harvest(log, last, swaps=method == "swaps")
    if n_resamples == 0:
        return found.propensities
    # Trees start threads of their own.
    threads = 1 if method == "regression" else thread_count(n_threads)
    rng = random_generator(random_state)
    resamples = bootstrapped(found.counts, found.rows, found.examination, n_resamples, rng, threads, progress)
    errors = _spread(resamples)
    check_precise(errors, log.n_sessions, has_features=log.features is not None)
    drawn = "shown documents" if isinstance(log, LogCounts) else "sessions"
    return _with_intervals(found.propensities, errors, f"{n_resamples} resamples of the {drawn}")


def _harvest(log: ClickLog | LogCounts, last: int, *, swaps: bool) -> Estimate:
    counts, rows = count_neighbours(log, last) if swaps else count_log(log, last)
    counts, rows = chosen_units(counts, rows, moved_units(counts))
    check_identified(counts, last, log.n_sessions, neighbours=swaps)
    found = harvested_examination(counts, np.ones(last))
    check_precise(log_errors(counts, found), log.n_sessions, has_features=log.features is not None)
    whom = counted(len(counts.unit), "document", "documents")
    words = f"from {whom} that changed places" + (" with a neighbour" if swaps else "")
    return Estimate(Propensities(found, method=words), counts, rows, lambda each: harvested_examination(each, found))


def _trust(log: ClickLog | LogCounts, last: int) -> Estimate:
    counts, rows = count_log(log, last)
    # Documents without clicks stay: to leave out what was never clicked would be to choose by the outcome.
    counts, rows = chosen_units(counts, rows, np.diff(counts.indptr) > 1)
    check_identified(counts, last, log.n_sessions, neighbours=False)
    start = initial_trust(harvested_examination(counts, np.ones(last)))
    found = estimate_trust(counts, start)
    examination, epsilon_minus = in_normal_form(found)
    words = f"with trust bias, from {counted(len(counts.unit), 'document', 'documents')} that changed places"
    propensities = Propensities(examination, epsilon_plus=np.ones(last), epsilon_minus=epsilon_minus, method=words)
    return Estimate(propensities, counts, rows, lambda each: in_normal_form(estimate_trust(each, found, 1e-4))[0])


def _regression(log: ClickLog | LogCounts, last: int) -> Estimate:
    if log.features is None:
        raise DataError(
            Hint("method", "regression"),
            " needs features: ",
            Wording(
                "add them to the log, with log.join(data).", "name their columns with --features, or give --documents."
            ),
        )
    counts, rows = count_log(log, last)
    clicks, shown = clicks_by_position(counts, last)
    never = np.flatnonzero(clicks == 0)
    if len(never):
        raise DataError(
            f"the log cannot tell the position bias at position {never[0] + 1}: there is no click. Log more sessions",
            *((", or ask only for the first positions: ", Hint("max_position", int(never[0]))) if never[0] > 1 else ()),
            ".",
        )
    features = log.features[counts.unit]
    rate = clicks / shown
    found = regressed_examination(counts, features, rate / rate[0])
    words = f"by regression of the relevance of {counted(len(counts.unit), 'document', 'documents')} on features"
    return Estimate(
        Propensities(found, method=words), counts, rows, lambda each: regressed_examination(each, features, found)
    )


def _spread(resamples: list[Floats]) -> Floats:
    """The standard errors of the logarithms: half the distance of two quantiles of the bootstrap estimates.

    A single resample without clicks cannot spoil it.
    """
    low, high = np.quantile(np.log(np.stack(resamples)), (0.1587, 0.8413), axis=0)
    return np.asarray((high - low) / 2)


def _with_intervals(found: Propensities, errors: Floats, resamples: str) -> Propensities:
    """Add 95% intervals: normal on the logarithmic scale."""
    factor = np.exp(1.96 * errors)
    method = f"{found.method}; 95% intervals from {resamples}"
    return replace(found, low=found.examination / factor, high=found.examination * factor, method=method)


def _last_position(log: ClickLog | LogCounts, max_position: int | None) -> int:
    last = log.max_position if max_position is None else max_position
    if log.max_position < 2:
        raise DataError("the log cannot tell the position bias: all documents were shown at position 1.")
    if not 2 <= last <= log.max_position:
        raise ParameterError(
            Hint("max_position"), f" must be from 2 to {log.max_position}, the last of the log; found {last}."
        )
    never = np.flatnonzero(np.bincount(log.position, minlength=last + 1)[1 : last + 1] == 0)
    if len(never):
        raise DataError(
            f"no document was shown at position {never[0] + 1}, but some were further down: number the places that "
            "show documents 1, 2, …, without gaps."
        )
    return last


def regressed_examination(counts: ClickCounts, features: Features, start: Floats) -> Floats:
    """The examination relative to position 1; `features` has one row per unit."""
    unit, n_units = counts.unit_of_cell, len(counts.unit)
    at_position = sums(counts.position, counts.clicks, len(start))
    of_unit = sums(unit, counts.clicks, n_units)
    examination = start
    for _ in range(_MOST_ROUNDS):
        examined = sums(unit, counts.shown * examination[counts.position], n_units)
        relevance = _predicted_relevance(features, of_unit, examined)
        expected = sums(counts.position, counts.shown * relevance[unit], len(start))
        # A resample may have no click at a position, not even at the first.
        previous, examination = examination, np.maximum(at_position / expected, _LEAST_EXAMINATION)
        examination = examination / examination[0]
        if (np.abs(examination - previous) < _CONVERGED * previous).all():
            break
    return examination


def _predicted_relevance(features: Features, clicks: Floats, examined: Floats) -> Floats:
    """Clicks per examination, as trees predict it. A resample may lack some documents: they have no weight."""
    rate = np.where(examined > 0, clicks / np.maximum(examined, 1e-9), 0.0)
    data = Dataset(features, rate, group=[len(rate)], sample_weight=examined)
    trees = MART(n_trees=50, n_leaves=15, learning_rate=0.2).fit(data)
    return np.maximum(trees.predict(data), _LEAST_RELEVANCE)


def clicks_by_position(counts: ClickCounts, n_positions: int) -> tuple[Floats, Floats]:
    """The numbers of clicked and of shown documents at each position."""
    clicks = sums(counts.position, counts.clicks, n_positions)
    return clicks, sums(counts.position, counts.shown, n_positions)
