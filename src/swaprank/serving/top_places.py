"""The places of the best documents of a list."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel

_SELECTED = 32
"""Up to so many documents are selected one by one; for more, sorting the whole list is faster."""


def top_places(scores: Floats, k: int) -> Ints:
    """The places of the k largest scores, largest first; equal scores in their order.

    >>> import numpy as np
    >>> from swaprank.serving.top_places import top_places
    >>> top_places(np.array([0.5, 2.0, 0.5, 1.0]), 3)
    array([1, 3, 0])
    """
    if k > _SELECTED:
        return np.argsort(-scores, kind="stable")[:k]
    places = np.empty(min(k, len(scores)), np.int64)
    select_places(scores, places)
    return places


@kernel
def select_places(scores: Floats, places: Ints) -> None:
    """Fill in the places of the largest scores: each is inserted among the best so far, behind equal ones."""
    n_found, k = 0, len(places)
    for place in range(len(scores)):
        score = scores[place]
        if n_found < k:
            n_found += 1
        elif k == 0 or score <= scores[places[k - 1]]:
            continue
        at = n_found - 1
        while at > 0 and scores[places[at - 1]] < score:
            places[at] = places[at - 1]
            at -= 1
        places[at] = place
