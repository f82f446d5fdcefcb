"""The smallest change of one feature that is enough, searched over the pieces on which a model is monotone in it.

The score of trees is constant between two thresholds, that of a linear model rises or falls all the way. A weighted sum
of both is monotone between two thresholds. So a piece is searched by its two ends, and by bisection if it has a slope:
at most 32 scores lead to the first value in single precision that is enough by the model's own arithmetic, which rounds
and so passes the score that is needed one or several values beside the solution of the equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Features, Ints
from swaprank.errors import ParameterError
from swaprank.models.model import Model
from swaprank.models.served import Mixture, ServedModel, Trees, WeightedSum

_LARGEST = np.finfo(np.float32).max
_BITS_PER_WORD = 32


class Pieces(NamedTuple):
    """Where the pieces of each feature end, and the features that have a weight within them."""

    thresholds: dict[int, Features]
    """Distinct, in ascending order: a piece is above one threshold, up to and with the next."""
    slopes: frozenset[int]
    n_codes: dict[int, int]
    """Of features whose sets of categories are tested: codes from this number on are treated as missing values."""


def pieces_of(model: Model) -> Pieces:
    """The pieces on which a model is monotone in each feature; ParameterError for nets and kernel machines.

    >>> import numpy as np
    >>> from swaprank.instruments.smallest_change import pieces_of
    >>> from swaprank.models.linear import LinearModel
    >>> pieces_of(LinearModel(np.array([2.0, 0.0]), np.zeros(2, np.float32)))
    Pieces(thresholds={}, slopes=frozenset({0}), n_codes={})
    """
    found = _pieces(model.for_export())
    if found is None:
        raise ParameterError(
            f"{model.describe()}: the smallest change is searched only for trees, linear models and weighted sums of "
            "them."
        )
    return found


def _pieces(served: ServedModel) -> Pieces | None:
    match served:
        case WeightedSum(weights):
            return Pieces({}, frozenset(np.flatnonzero(weights).tolist()), {})
        case Trees(forest):
            plain, sets = forest.n_words == 0, np.flatnonzero(forest.n_words)
            features, thresholds = forest.feature[plain], forest.threshold[plain]
            cuts = {int(f): np.unique(thresholds[features == f]) for f in np.unique(features)}
            n_codes = dict[int, int]()
            for f, n_words in zip(forest.feature[sets].tolist(), forest.n_words[sets].tolist(), strict=True):
                n_codes[f] = max(n_codes.get(f, 0), _BITS_PER_WORD * n_words)
            return Pieces(cuts, frozenset(), n_codes)
        case Mixture(members=members, top=WeightedSum()):
            inner = [_pieces(member) for member in members]
            known = [each for each in inner if each is not None]
            return _joined(known) if len(known) == len(inner) else None
        case _:
            return None


def _joined(members: list[Pieces]) -> Pieces:
    features = {f for member in members for f in member.thresholds}
    cuts = {f: [member.thresholds[f] for member in members if f in member.thresholds] for f in features}
    coded = {f for member in members for f in member.n_codes}
    return Pieces(
        {f: np.unique(np.concatenate(each)) for f, each in cuts.items()},
        frozenset().union(*(member.slopes for member in members)),
        {f: max(member.n_codes.get(f, 0) for member in members) for f in coded},
    )


def smallest_change(
    value: np.float32, thresholds: Features, has_slope: bool, is_enough: Callable[[Features], Bools]
) -> np.float32 | None:
    """The value nearest to the given one that is enough, in single precision; None if there is none.

    If the value is missing, the one nearest to 0.

    >>> import numpy as np
    >>> from swaprank.instruments.smallest_change import smallest_change
    >>> float(smallest_change(np.float32(1), np.array([2, 5], np.float32), False, lambda values: values > 4))
    5.000000476837158
    """
    start = np.float32(0.0) if np.isnan(value) else np.float32(value)
    found = []
    if np.isnan(value) and is_enough(np.array([start]))[0]:
        return start
    for near, far in (_upwards(start, thresholds), _downwards(start, thresholds)):
        if len(near) == 0:
            continue
        enough, far_enough = is_enough(near), is_enough(far) if has_slope else np.zeros(len(near), np.bool_)
        pieces = np.flatnonzero(enough | far_enough)
        if len(pieces):
            first = pieces[0]
            found.append(near[first] if enough[first] else _bisected(near[first], far[first], is_enough))
    return min(found, key=lambda each: abs(float(each) - float(start))) if found else None


def _upwards(start: np.float32, thresholds: Features) -> tuple[Features, Features]:
    """The lowest and highest value of each piece above the start; the nearest piece first."""
    cuts = thresholds[thresholds >= start]
    with np.errstate(over="ignore"):  # trees separate missing from known values by the largest number
        up: Features = np.nextafter(np.append(start, cuts), np.float32(np.inf)).astype(np.float32)
    far: Features = np.append(cuts, _LARGEST).astype(np.float32)
    kept = (up <= far) & np.isfinite(up)
    return up[kept], far[kept]


def _downwards(start: np.float32, thresholds: Features) -> tuple[Features, Features]:
    """The highest and lowest value of each piece below the start; the nearest piece first."""
    cuts = thresholds[thresholds < start][::-1]
    near: Features = np.append(np.nextafter(start, np.float32(-np.inf)), cuts).astype(np.float32)
    far: Features = np.append(np.nextafter(cuts, np.float32(np.inf)), -_LARGEST).astype(np.float32)
    kept = (near >= far) & np.isfinite(near)
    return near[kept], far[kept]


def _bisected(near: np.float32, far: np.float32, is_enough: Callable[[Features], Bools]) -> np.float32:
    """The first value from near to far that is enough; near is not, far is, and the score is monotone between them."""
    low, high = _number(near), _number(far)
    while abs(high - low) > 1:
        middle = (low + high) // 2
        if is_enough(np.array([_of_number(middle)]))[0]:
            high = middle
        else:
            low = middle
    return _of_number(high)


def _number(value: np.float32) -> int:
    """The position of a value among all values in single precision; 0 has the position 0."""
    bits = int(np.array(value, np.float32).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _of_number(number: int) -> np.float32:
    bits: Ints = np.array(abs(number), np.int32)
    value = np.float32(bits.view(np.float32))
    return value if number >= 0 else np.float32(-value)
