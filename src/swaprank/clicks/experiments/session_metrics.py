"""Numbers that describe how a session went, from its clicks: what an A/B test compares."""

import re
from collections.abc import Callable

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.errors import MetricError, did_you_mean

SESSION_METRICS = ("clicked", "clicks", "reciprocal_rank", "clicks@3")
"""The metrics of a session that are compared by default."""
_AT_K = re.compile(r"clicks@([1-9]\d{0,3})")


def session_metric(log: ClickLog, name: str) -> Floats:
    """One number per session.

    Args:
        log: The clicks.
        name: "clicked": 1 if anything was clicked, else 0. "abandoned": the other way round. "clicks": the sum of the
            clicks; "clicks@3" of those at the first three positions. "reciprocal_rank": 1 / position of the first
            click, 0 without a click.

    >>> import swaprank as sr
    >>> from swaprank.clicks.experiments.session_metrics import session_metric
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 1, 2, 2], qid=[7] * 5, docid=[1, 2, 3, 1, 2], position=[1, 2, 3, 1, 2], click=[0, 1, 1, 0, 0]
    ... )
    >>> for name in ("clicked", "clicks", "clicks@2", "reciprocal_rank"):
    ...     print(name, session_metric(log, name).tolist())
    clicked [1.0, 0.0]
    clicks [2.0, 0.0]
    clicks@2 [1.0, 0.0]
    reciprocal_rank [0.5, 0.0]
    """
    if not is_session_metric(name):
        raise MetricError(
            f"there is no metric '{name}' of a session; {did_you_mean(str(name), [*_METRICS, 'clicks@3'])}"
        )
    at_k = _AT_K.fullmatch(name)
    return _clicks(log, int(at_k[1])) if at_k else _METRICS[name](log)


def is_session_metric(name: str) -> bool:
    """True if there is such a metric."""
    return name in _METRICS or _AT_K.fullmatch(str(name)) is not None


def _clicks(log: ClickLog, last: int) -> Floats:
    counted = np.where(log.position <= last, log.click, 0.0)
    return np.add.reduceat(counted, log.indptr[:-1])


def _clicked(log: ClickLog) -> Floats:
    return (np.maximum.reduceat(log.click, log.indptr[:-1]) > 0).astype(np.float64)


def _reciprocal_rank(log: ClickLog) -> Floats:
    return np.maximum.reduceat(np.where(log.click > 0, 1.0 / log.position, 0.0), log.indptr[:-1])


_METRICS: dict[str, Callable[[ClickLog], Floats]] = {
    "clicked": _clicked,
    "abandoned": lambda log: 1.0 - _clicked(log),
    "clicks": lambda log: _clicks(log, log.max_position),
    "reciprocal_rank": _reciprocal_rank,
}
