"""How the sessions of a log influence an estimate through the position bias that was estimated from the same log."""

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.click_log import ClickLog


def bias_influence(log: ClickLog, examination: Floats, slope: Floats) -> Floats:
    """The influence of each session, given the derivative of the estimate by the logarithm of each examination.

    The examination maximizes the likelihood of harvesting.py: the gradient of a click at position k on a document with
    the shares p is e_k - p, and Newton's step from there is how the logarithms of the examination change.
    """
    n_positions = len(examination)
    theta = examination[log.position - 1]
    total = np.bincount(log.document, theta, log.n_pairs)
    cells = np.bincount(log.document * n_positions + (log.position - 1), theta, log.n_pairs * n_positions)
    shares = cells.reshape(log.n_pairs, n_positions) / np.where(total > 0, total, 1.0)[:, None]
    clicks = np.bincount(log.document, log.click, log.n_pairs)
    curvature = np.diag(clicks @ shares) - (shares * clicks[:, None]).T @ shares
    # The examination of position 1 is 1, so that only the others are estimated.
    step = np.append(0.0, np.linalg.lstsq(curvature[1:, 1:], slope[1:])[0])
    change = log.click * (step[log.position - 1] - (shares @ step)[log.document])
    return log.n_sessions * np.bincount(log.session, change, log.n_sessions).astype(np.float64, copy=False)
