"""The reward model: how often a document is clicked at a place, as a product of both that gives way to counts.

    mean of the clicks of document d at place k        shown_dk g_d theta_k
    g_d                                                drawn from a Gamma distribution around the mean of all documents
    click rate of the cell (d, k)                      drawn from one around g_d theta_k

The spread of both distributions is what the counts vary more than chance alone; so documents with few clicks stay near
the mean of all, and cells with many have their own click rate.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats

_ROUNDS = 15


class Rewards(NamedTuple):
    """Modelled click rates."""

    of_pairs: Floats
    """Documents x positions."""
    of_others: Floats
    """One per position: that of a document without counts."""


def fit_rewards(shown: Floats, clicks: Floats) -> Rewards:
    """Click rates from counts, which have one row per document and one column per position.

    >>> import numpy as np
    >>> from swaprank.clicks.policies.reward_model import fit_rewards
    >>> fit_rewards(np.full((2, 2), 1e6), np.array([[8e5, 2e5], [4e5, 1e5]])).of_pairs.round(3).tolist()
    [[0.8, 0.2], [0.4, 0.1]]
    """
    if clicks.sum() == 0:
        return Rewards(np.zeros(shown.shape), np.zeros(shown.shape[1]))
    of_place, of_document = clicks.sum(axis=0), clicks.sum(axis=1)
    theta = _over(of_place, shown.sum(axis=0))
    appeal, mean = np.ones(len(shown)), 1.0
    for _ in range(_ROUNDS):
        chances = (shown * theta).sum(axis=1)
        mean = float(of_document.sum() / chances.sum())
        appeal = _shrunk(of_document, chances, mean)
        theta = _over(of_place, (shown * appeal[:, None]).sum(axis=0))
    return Rewards(
        np.minimum(_shrunk(clicks, shown, appeal[:, None] * theta), 1.0),
        np.minimum(mean * theta, 1.0),
    )


def _shrunk(clicks: Floats, chances: Floats, mean: Floats | float) -> Floats:
    """Rates between clicks / chances and their mean: the mean of a Gamma distribution after Poisson counts."""
    expected = chances * mean
    spread = max(float(np.sum((clicks - expected) ** 2 - expected) / np.sum(expected**2)), 0.0)
    return mean * (1.0 + spread * clicks) / (1.0 + spread * expected)


def _over(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
