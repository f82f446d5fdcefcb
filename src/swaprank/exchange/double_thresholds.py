"""Thresholds in double precision for features in single precision: exact, but where float32 is too coarse.

For float32 values, `at_most` gives the same test. A service may have the values in double precision, though, and they
are rounded before the test. That moves a value across a threshold only if both are in the same gap between two float32
numbers: near 1.7e9, where seconds since 1970 are today, a gap is 128 wide. Trees that look into such gaps are refused,
and `subtract` moves the thresholds of a feature to where gaps are small, if the service moves its values as well.

    bins of the trees        |        |     |  |     |   …       each has about as many documents
    gaps with a threshold         [   ]  [   ]  [ ]              the share of each bin that they cover
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats
from swaprank.data.matching import feature_positions
from swaprank.errors import Hint, ModelFileError, ParameterError
from swaprank.exchange.tree_building import PeerModel, at_most
from swaprank.models.forest import Forest, check_forest
from swaprank.models.linear import LinearModel

_LARGEST_SHARE = 0.01
"""The share of documents that may be moved across a threshold."""
_LARGEST = float(np.finfo(np.float32).max)
_FEW_BITS = 26
"""The middle between two float32 numbers of similar size has 25 bits."""
SUBTRACT = Hint("subtract")


def in_single_precision(peer: PeerModel, names: Sequence[str], subtract: Mapping[str, float]) -> Forest | LinearModel:
    """The model for features of which numbers were subtracted; ModelFileError if float32 is too coarse for it.

    Args:
        peer: The model.
        names: The names of its features.
        subtract: The numbers by name.
    """
    if peer.doubles is None:
        if subtract:
            raise ParameterError(SUBTRACT, f": {peer.library} compares in single precision itself.")
        return peer.model
    forest, doubles = cast(Forest, peer.model), peer.doubles
    offsets = np.zeros(forest.n_features)
    for name, number in subtract.items():
        if not np.isfinite(number):
            raise ParameterError(SUBTRACT, f": the number for '{name}' must be finite; found {number}.")
    offsets[feature_positions(subtract, names, SUBTRACT)] = list(subtract.values())
    is_number = forest.n_words == 0
    nodes = np.flatnonzero(is_number)
    nodes = nodes[np.argsort(forest.feature[nodes], kind="stable")]
    features, starts = np.unique(forest.feature[nodes], return_index=True)
    for feature, own in zip(features.tolist(), np.split(doubles.exact[nodes], starts[1:]), strict=False):
        of_feature = np.unique(own)
        # A threshold above or below all numbers parts missing values from them.
        of_feature = of_feature[np.abs(of_feature) < _LARGEST]
        if len(of_feature) == 0:
            continue
        low, high = doubles.ranges[feature] if doubles.ranges else (-np.inf, np.inf)
        if moved_share(of_feature, low, high, offsets[feature]) >= _LARGEST_SHARE:
            raise _too_coarse(of_feature, low, high, names[feature], float(offsets[feature]))
    if not subtract:
        return forest
    moved = at_most(np.where(is_number, minus(doubles.exact, offsets[forest.feature]), 0.0))
    return check_forest(replace(forest, threshold=moved))


def subtracted_name(name: str, subtract: Mapping[str, float]) -> str:
    """The name of a feature of which a number was subtracted: without it, scores would be wrong in silence.

    >>> from swaprank.exchange.double_thresholds import subtracted_name
    >>> subtracted_name("published", {"published": 1_700_000_000})
    'published - 1700000000'
    """
    return f"{name} - {subtract[name]:.17g}" if name in subtract else name


def less(rows: Any, names: Sequence[str], subtract: Mapping[str, float]) -> Any:
    """A matrix or pandas data frame with the features of which numbers were subtracted.

    >>> import numpy as np
    >>> from swaprank.exchange.double_thresholds import less
    >>> less(np.array([[1.7e9, 2]]), ["published", "bm25"], {"published": 1.7e9}).tolist()
    [[0.0, 2.0]]
    """
    if not subtract:
        return rows
    if hasattr(rows, "iloc"):
        return rows.assign(**{subtracted_name(name, subtract): rows[name] - subtract[name] for name in subtract})
    return rows - np.array([subtract.get(name, 0.0) for name in names])


def minus(thresholds: AnyArray, offset: AnyArray | float) -> Floats:
    """The largest double precision numbers that are not above threshold - offset.

    >>> from swaprank.exchange.double_thresholds import minus
    >>> minus(1.7e9 + 0.25, 1.7e9).item(), minus(2.0**-60, 1.0).item()
    (0.25, -1.0)
    """
    difference: Floats = np.asarray(np.subtract(thresholds, offset))
    # What rounding has lost [Knuth, TwoSum].
    part = difference - thresholds
    lost = (thresholds - (difference - part)) - (offset + part)
    return np.where(lost < 0, np.nextafter(difference, -np.inf), difference)


def moved_share(thresholds: Floats, low: float, high: float, offset: float = 0.0) -> float:
    """The share of documents that rounding might move across a threshold, if each bin has as many.

    Args:
        thresholds: Ascending.
        low: The smallest value in training; -inf if unknown.
        high: The largest one.
        offset: What is subtracted first.

    >>> import numpy as np
    >>> from swaprank.exchange.double_thresholds import moved_share
    >>> seconds = 1.7e9 + np.arange(0.5, 300, 10)
    >>> moved_share(seconds, 1.7e9, 1.7e9 + 300), moved_share(seconds, 1.7e9, 1.7e9 + 300, offset=1.7e9)
    (1.0, 0.0)
    """
    moved = minus(thresholds, offset)
    rounded = at_most(moved)
    with np.errstate(over="ignore"):
        gap = np.where(_is_middle(moved), 0.0, np.nextafter(rounded, np.float32(np.inf)) - rounded.astype(np.float64))
    edges, around = moved, gap
    if -np.inf < low - offset < moved[0]:
        edges, around = np.append(low - offset, edges), np.append(0.0, around)
    if np.inf > high - offset > moved[-1]:
        edges, around = np.append(edges, high - offset), np.append(around, 0.0)
    if len(edges) < 2:
        return 0.0
    covered = (around[:-1] + around[1:]) / 2
    return float(np.mean(np.minimum(1.0, covered / np.diff(edges))))


def _is_middle(numbers: Floats) -> Bools:
    """True for thresholds that are in the middle between float32 numbers, or next to it: values were such numbers."""
    found = np.zeros(len(numbers), np.bool_)
    for each in (numbers, np.nextafter(numbers, -np.inf), np.nextafter(numbers, np.inf)):
        scaled = np.ldexp(np.frexp(each)[0], _FEW_BITS)
        found |= scaled == np.round(scaled)
    return found


def _too_coarse(thresholds: Floats, low: float, high: float, name: str, offset: float) -> ModelFileError:
    whose = f"'{name}' minus {offset:.17g}" if offset else f"'{name}'"
    share = moved_share(thresholds, low, high, offset)
    what = (
        f"single precision (float32) is too coarse for {whose}: it might move {share:.0%} of documents across one of "
        f"{len(thresholds):,} thresholds, which are from {thresholds[0]:.17g} to {thresholds[-1]:.17g}."
    )
    remedy = _remedy(thresholds, low, high)
    if remedy is None:
        return ModelFileError(f"{what} Train with another unit of the feature.")
    text = f"{remedy:.17g}"
    value = int(text) if text.removeprefix("-").isdigit() else remedy
    return ModelFileError(
        f"{what} Read the model for '{name}' minus a constant, and subtract it in your features, too: ",
        Hint("subtract", {name: value}, f"--subtract {name}={text}"),
        ".",
    )


def _remedy(thresholds: Floats, low: float, high: float) -> float | None:
    """The shortest number for which float32 is fine enough by far, near the middle of the thresholds."""
    middle = float(np.median(thresholds))
    rounded = (float(f"{middle:.{digits}e}") for digits in range(17))
    enough = _LARGEST_SHARE / 100
    return next((each for each in rounded if moved_share(thresholds, low, high, each) < enough), None)
