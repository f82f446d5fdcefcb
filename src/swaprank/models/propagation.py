"""Forward and backward propagation through a net, for a block of documents.

    X (n x features) ─► units of layer 1 (n x h_1) ─► … ─► scores (n x 1)        all units of a block in one flat array,
                                                                                layer by layer
    forward    a_l = f(a_(l-1) W_l' + b_l)
    backward   dC/dW_l = d_l' a_(l-1),  dC/db_l = sum of d_l,  d_(l-1) = (d_l W_l) f'      [Burges2005, Eqs. 7 to 11]

A document's units do not depend on the other documents of its block, to the last bit.
"""

from __future__ import annotations

from swaprank.kernels import kernel, vector_kernel
from swaprank.models.activations import activate, multiply_by_derivative
from swaprank.models.layers import Layers, Reals

_BLOCK_VALUES = 65_536
"""A block of scaled rows fits the L2 cache; a longer list is scaled twice, forward and backward."""


@kernel
def rows_in_block(n_features: int) -> int:
    """The number of documents in a block."""
    return max(4, _BLOCK_VALUES // n_features)


@kernel
def forward(layers: Layers, weights: Reals, X: Reals, units: Reals) -> None:
    """Compute all units of a block's documents; the last len(X) units are the scores."""
    n, last = len(X), len(layers.sizes) - 2
    below = X
    at, first = 0, 0
    for layer in range(last):
        n_in, n_out = layers.sizes[layer], layers.sizes[layer + 1]
        matrix = weights[at : at + n_out * n_in].reshape(n_out, n_in)
        at += n_out * n_in
        values = units[first : first + n * n_out]
        sums(matrix, weights[at : at + n_out], below, values.reshape(n, n_out))
        activate(layers.activation, values)
        at += n_out
        first += n * n_out
        below = values.reshape(n, n_out)
    outputs(weights[at:], below, units[first:])


@vector_kernel
def sums(matrix: Reals, biases: Reals, inputs: Reals, values: Reals) -> None:
    """values = inputs matrix' + biases.

    Two documents by five units at a time, so that every number read is used in more than one product. If fewer are
    left, the last one is repeated, so that every document takes the same path through the code.
    """
    n, n_units, zero = len(inputs), len(matrix), inputs.dtype.type(0)
    for i in range(0, n, 2):
        j = min(i + 1, n - 1)
        x, y = inputs[i], inputs[j]
        for a in range(0, n_units, 5):
            b, c = min(a + 1, n_units - 1), min(a + 2, n_units - 1)
            d, e = min(a + 3, n_units - 1), min(a + 4, n_units - 1)
            w_a, w_b, w_c, w_d, w_e = matrix[a], matrix[b], matrix[c], matrix[d], matrix[e]
            x_a, x_b, x_c, x_d, x_e = zero, zero, zero, zero, zero
            y_a, y_b, y_c, y_d, y_e = zero, zero, zero, zero, zero
            for k in range(inputs.shape[1]):
                x_a += w_a[k] * x[k]
                x_b += w_b[k] * x[k]
                x_c += w_c[k] * x[k]
                x_d += w_d[k] * x[k]
                x_e += w_e[k] * x[k]
                y_a += w_a[k] * y[k]
                y_b += w_b[k] * y[k]
                y_c += w_c[k] * y[k]
                y_d += w_d[k] * y[k]
                y_e += w_e[k] * y[k]
            values[i, a], values[j, a] = x_a + biases[a], y_a + biases[a]
            values[i, b], values[j, b] = x_b + biases[b], y_b + biases[b]
            values[i, c], values[j, c] = x_c + biases[c], y_c + biases[c]
            values[i, d], values[j, d] = x_d + biases[d], y_d + biases[d]
            values[i, e], values[j, e] = x_e + biases[e], y_e + biases[e]


@vector_kernel
def outputs(weights: Reals, inputs: Reals, values: Reals) -> None:
    """values = inputs weights: the last layer, which has one unit and no bias."""
    for i in range(len(inputs)):
        total = inputs.dtype.type(0)
        for k in range(len(weights)):
            total += weights[k] * inputs[i, k]
        values[i] = total


@kernel
def backward(layers: Layers, weights: Reals, X: Reals, units: Reals, deltas: Reals, gradient: Reals) -> None:
    """Add a block's documents to the gradient by the weights.

    deltas: A work array of two rows, each of documents x widest layer; the first row starts with the documents' dC/ds.
    """
    n, last = len(X), len(layers.sizes) - 2
    at, first = len(weights), len(units)
    for layer in range(last, -1, -1):
        n_in, n_out = layers.sizes[layer], layers.sizes[layer + 1]
        above = deltas[(last - layer) % 2, : n * n_out].reshape(n, n_out)
        first -= n * n_out
        if layer < last:
            at -= n_out
            add_columns(above, gradient[at : at + n_out])
        at -= n_out * n_in
        weight_grad = gradient[at : at + n_out * n_in].reshape(n_out, n_in)
        if layer == 0:
            add_products(above, X, weight_grad)
        else:
            values = units[first - n * n_in : first]
            add_products(above, values.reshape(n, n_in), weight_grad)
            matrix = weights[at : at + n_out * n_in].reshape(n_out, n_in)
            below = deltas[(last - layer + 1) % 2, : n * n_in]
            propagate_back(above, matrix, below.reshape(n, n_in))
            multiply_by_derivative(layers.activation, values, below)


@kernel
def add_columns(deltas: Reals, total: Reals) -> None:
    """total += sum of the rows of deltas."""
    for i in range(len(deltas)):
        for unit in range(deltas.shape[1]):
            total[unit] += deltas[i, unit]


@vector_kernel
def add_products(deltas: Reals, inputs: Reals, weight_grad: Reals) -> None:
    """weight_grad += deltas' inputs, four documents at a time, for a quarter of the writes to `weight_grad`."""
    n = len(deltas)
    for i in range(0, n - n % 4, 4):
        for unit in range(len(weight_grad)):
            a, b, c, d = deltas[i, unit], deltas[i + 1, unit], deltas[i + 2, unit], deltas[i + 3, unit]
            for k in range(inputs.shape[1]):
                weight_grad[unit, k] += (a * inputs[i, k] + b * inputs[i + 1, k]) + (
                    c * inputs[i + 2, k] + d * inputs[i + 3, k]
                )
    for i in range(n - n % 4, n):
        for unit in range(len(weight_grad)):
            delta = deltas[i, unit]
            for k in range(inputs.shape[1]):
                weight_grad[unit, k] += delta * inputs[i, k]


@vector_kernel
def propagate_back(deltas: Reals, matrix: Reals, below: Reals) -> None:
    """below = deltas matrix."""
    for i in range(len(deltas)):
        for k in range(matrix.shape[1]):
            below[i, k] = deltas[i, 0] * matrix[0, k]
        for unit in range(1, len(matrix)):
            delta = deltas[i, unit]
            for k in range(matrix.shape[1]):
                below[i, k] += delta * matrix[unit, k]
