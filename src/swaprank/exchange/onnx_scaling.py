"""Scalers before the trees of an ONNX graph become other thresholds, which give exactly the same tests.

    (x - offset) * scale <= threshold       x <= the largest number for which this is true

Every step rounds its result, and keeps the order of numbers or reverses it: so the numbers that satisfy a test are all
those up to a number, or from one on, which bisection finds among all numbers in the precision of the input.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.errors import ModelFileError
from swaprank.exchange.tree_building import PeerTree


class Step(NamedTuple):
    """An operator with a constant for each feature, or one for all."""

    operator: str
    """Cast, Scaler, Sub, Add, Mul or Div."""
    constants: tuple[AnyArray, ...] = ()
    dtype: Any = None
    """Of a Cast."""


def scaled(x: AnyArray, features: Ints, steps: Sequence[Step]) -> AnyArray:
    """Values of features after all steps, with the roundings of the runtime.

    >>> import numpy as np
    >>> from swaprank.exchange.onnx_scaling import Step, scaled
    >>> scaler = Step("Scaler", (np.float32([1, 2]), np.float32([10, -1])))
    >>> scaled(np.float32([3, 3]), np.array([0, 1]), [scaler]).tolist()
    [20.0, -1.0]
    """
    with np.errstate(all="ignore"):
        for operator, constants, dtype in steps:
            a, *others = (each if len(each) == 1 else each[features] for each in constants or [np.zeros(1)])
            match operator:
                case "Cast":
                    x = x.astype(dtype)
                case "Scaler":
                    x = ((x - a.astype(x.dtype)) * others[0].astype(x.dtype)).astype(np.float32)
                case "Sub":
                    x = x - a
                case "Add":
                    x = x + a
                case "Mul":
                    x = x * a
                case "Div":
                    x = x / a
    return x


def before_scaling(tree: PeerTree, steps: Sequence[Step], dtype: type[np.floating[Any]]) -> PeerTree:
    """The tree for features as they are before these steps, which are numbers of this type.

    >>> import numpy as np
    >>> from swaprank.exchange.onnx_scaling import Step, before_scaling
    >>> stump = PeerTree([0], [0.5], [True], [~0], [~1], leaf_value=[-1.0, 1.0])
    >>> half = Step("Scaler", (np.float32([1]), np.float32([-2])))
    >>> found = before_scaling(stump, [half], np.float32)  # -2 (x - 1) <= 0.5 for x from 0.75 on
    >>> found.threshold.tolist(), found.left, found.missing_left
    ([0.7499999403953552], [-2], [False])
    """
    if tree.sets:
        raise ModelFileError("it scales a feature before a test for categories, which cannot be read.")
    features, limits = np.asarray(tree.feature, np.int64), np.asarray(tree.threshold, np.float64)
    largest = np.full(len(features), np.finfo(dtype).max, dtype)
    low, high = scaled(-largest, features, steps), scaled(largest, features, steps)
    if not ((low < high) | (low > high)).all():
        raise ModelFileError("it multiplies a feature by 0, or by something that is not a number.")
    falls = low > high

    def below(keys: Ints) -> AnyArray:
        values = scaled(_numbers(keys, dtype), features, steps).astype(np.float64)
        goes: AnyArray = (values > limits) == falls
        return goes

    keys = _last(below, len(features), dtype)
    threshold = np.where(below(keys), _numbers(keys, dtype).astype(np.float64), -np.inf)
    left, right = (np.asarray(each, np.int64) for each in (tree.left, tree.right))
    return replace(
        tree,
        threshold=threshold,
        missing_left=(np.asarray(tree.missing_left, np.bool_) != falls).tolist(),
        left=np.where(falls, right, left).tolist(),
        right=np.where(falls, left, right).tolist(),
    )


def _numbers(keys: Ints, dtype: type[np.floating[Any]]) -> AnyArray:
    """The numbers that are as many numbers away from 0."""
    whole = np.int32 if dtype == np.float32 else np.int64
    numbers: AnyArray = np.copysign(np.abs(keys).astype(whole).view(dtype), keys.astype(dtype))
    return numbers


def _last(holds: Callable[[Ints], AnyArray], n: int, dtype: type[np.floating[Any]]) -> Ints:
    """The last key for which a test holds, which holds up to some key; the first key of all if it never does."""
    whole = np.int32 if dtype == np.float32 else np.int64
    largest = int(np.finfo(dtype).max.view(whole))
    low, high = np.full(n, -largest, np.int64), np.full(n, largest, np.int64)
    while (low < high).any():
        # The middle, rounded up, without overflow.
        middle = (low >> 1) + (high >> 1) + ((low | high) & 1)
        is_below = holds(middle)
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle - 1)
    return low
