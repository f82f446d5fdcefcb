"""Documents next to the same neighbour, in one order or the other: randomized swaps of neighbours [Joachims2017]."""

import numpy as np

from swaprank.arrays import Ints
from swaprank.clicks.click_log import ClickLog


def neighbour_units(log: ClickLog, last: int) -> tuple[Ints, Ints]:
    """Rows of neighbours up to the last position, and a number for each (document, neighbour, upper position).

    A row occurs twice if the document has a neighbour above and one below. The same document next to the same neighbour
    at the same two positions is one unit: all that changes is the order of the two.
    """
    below = log.position[1:]
    are_neighbours = (log.session[1:] == log.session[:-1]) & (below == log.position[:-1] + 1) & (below <= last)
    upper = np.flatnonzero(are_neighbours)
    row = np.concatenate((upper, upper + 1))
    neighbour = np.concatenate((upper + 1, upper))
    place = log.position[np.concatenate((upper, upper))].astype(np.int64)
    # A neighbour is a document of the same query, so that its number there is small.
    within = log.document[neighbour] - log.pair_indptr[log.pair_query[log.document[neighbour]]]
    widest = int(np.diff(log.pair_indptr).max())
    unit = (log.document[row] * widest + within) * (log.max_position + 1) + place
    return row, np.unique(unit, return_inverse=True)[1].astype(np.int64)
