"""Forward and backward propagation through a net, for a block of documents.

    X (n x features) ─► units of layer 1 (n x h_1) ─► … ─► scores (n x 1)        all units of a block in one flat array,
                                                                                layer by layer
    forward    a_l = f(a_(l-1) W_l' + b_l)
    backward   dC/dW_l = d_l' a_(l-1),  dC/db_l = sum of d_l,  d_(l-1) = (d_l W_l) f'      [Burges2005, Eqs. 7 to 11]

A document's units do not depend on the other documents of its block, to the last bit.
"""

from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.models.layers import Layers, Reals, activate, multiply_by_derivative
from swaprank.models.products import add_outer_products, inner_products

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
        inner_products(matrix, weights[at : at + n_out], below, values.reshape(n, n_out))
        activate(layers.activation, values)
        at += n_out
        first += n * n_out
        below = values.reshape(n, n_out)
    outputs(weights[at:], below, units[first:])


@kernel
def outputs(weights: Reals, inputs: Reals, values: Reals) -> None:
    """values = inputs weights: the last layer, which has one unit and no bias."""
    for i in range(len(inputs)):
        values[i] = dot(weights, inputs[i])


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
            add_outer_products(above, X, weight_grad)
        else:
            values = units[first - n * n_in : first]
            add_outer_products(above, values.reshape(n, n_in), weight_grad)
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


@kernel
def propagate_back(deltas: Reals, matrix: Reals, below: Reals) -> None:
    """below = deltas matrix."""
    for i in range(len(deltas)):
        for k in range(matrix.shape[1]):
            below[i, k] = deltas[i, 0] * matrix[0, k]
        for unit in range(1, len(matrix)):
            delta = deltas[i, unit]
            for k in range(matrix.shape[1]):
                below[i, k] += delta * matrix[unit, k]
