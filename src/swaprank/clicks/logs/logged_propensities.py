"""Propensities that were logged: the probability that the document was shown at its place, one per row."""

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.errors import DataError, Hint, ParameterError


def logged_propensities(log: ClickLog) -> Floats:
    """The logged propensity of each row; raises DataError without."""
    if log.propensity is None:
        raise DataError(
            "this click log has no propensities: log the probability that the document was shown at its place, and "
            "name the column with ",
            Hint("propensity", ...),
            ".",
        )
    return log.propensity


def inverse_propensities(log: ClickLog, clip: float = 0.0) -> Floats:
    """1 / the logged propensity of each row, or 1 / clip where that is less.

    Summed over sessions, the rows of a document at a place then count as if it had always been shown there: clicks
    weighed so are as many as if the document had been at this place in every session.

    >>> import swaprank as sr
    >>> from swaprank.clicks.logs.logged_propensities import inverse_propensities
    >>> rows = {"session": [1, 1], "qid": [7, 7], "docid": ["a", "b"], "position": [1, 2], "click": [1, 0]}
    >>> log = sr.clicks.ClickLog(propensity=[0.5, 0.1], **rows)
    >>> inverse_propensities(log).tolist(), inverse_propensities(log, clip=0.25).tolist()
    ([2.0, 10.0], [2.0, 4.0])
    """
    check_clip(clip)
    return 1.0 / np.maximum(logged_propensities(log), clip)


def check_clip(clip: float) -> None:
    """Raise ParameterError unless divisors can be at least this."""
    if not 0 <= clip < 1:
        raise ParameterError(Hint("clip"), f" must be a number from 0 to below 1; found {clip!r}.")
