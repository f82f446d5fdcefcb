"""Activation functions of hidden units, and their derivatives in terms of the activation."""

from typing import Literal

from swaprank.kernels import kernel
from swaprank.models.layers import Reals

Activation = Literal["tanh", "sigmoid", "relu"]

ACTIVATIONS: tuple[Activation, ...] = ("tanh", "sigmoid", "relu")
"""Kernels use the index in this tuple."""

TANH, SIGMOID, RELU = range(3)


@kernel
def activate(activation: int, values: Reals) -> None:
    """Apply the activation function in place."""
    if activation == RELU:
        for i in range(len(values)):
            values[i] = max(values[i], values.dtype.type(0))
    elif activation == SIGMOID:
        _tanh(0.5, values)
        half = values.dtype.type(0.5)
        for i in range(len(values)):
            values[i] = half + half * values[i]
    else:
        _tanh(1.0, values)


@kernel
def _tanh(factor: float, values: Reals) -> None:
    """tanh(factor x) to nearly full precision, in a loop that vectorizes; a loop over the C library's tanh does not.

    With e = exp(2a) - 1, tanh(a) = e / (e + 2). Doubling a replaces e by e (e + 2): start with a short series for
    x / 128 and double it seven times.
    """
    for i in range(len(values)):
        x = factor * values[i]
        # From 20 on, tanh is 1 in double precision.
        a = (20.0 if x > 20.0 else (-20.0 if x < -20.0 else x)) / 64.0
        e = 1 / 720 + a * (1 / 5040 + a * (1 / 40320 + a * (1 / 362880 + a * (1 / 3628800))))
        e = a * (1.0 + a * (1 / 2 + a * (1 / 6 + a * (1 / 24 + a * (1 / 120 + a * e)))))
        e = _doubled(
            _doubled(_doubled(_doubled(_doubled(_doubled(_doubled(e))))))
        )  # An inner loop would not vectorize.
        values[i] = e / (e + 2.0)


@kernel
def _doubled(e: float) -> float:
    """exp(4a) - 1 from e = exp(2a) - 1."""
    return e * (e + 2.0)


@kernel
def multiply_by_derivative(activation: int, values: Reals, deltas: Reals) -> None:
    """Multiply the deltas of units by the derivative of the activation, computed from the units' values."""
    one = values.dtype.type(1)
    if activation == TANH:
        for i in range(len(values)):
            deltas[i] *= one - values[i] * values[i]
    elif activation == SIGMOID:
        for i in range(len(values)):
            deltas[i] *= values[i] * (one - values[i])
    else:
        for i in range(len(values)):
            deltas[i] = deltas[i] if values[i] > 0 else values.dtype.type(0)
