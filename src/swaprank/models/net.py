"""A trained net: shape, scaling and weights, checked when they come from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.data.features import read_only
from swaprank.errors import ModelFileError
from swaprank.kernels import kernel
from swaprank.models.activations import ACTIVATIONS
from swaprank.models.layers import Layers, Reals, count_units, count_weights, make_layers
from swaprank.models.propagation import forward, rows_in_block
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.threads import run_in_threads, thread_count

_LEAST_ROWS = 8192
"""Fewer rows are not worth a thread."""


@final
@dataclass(frozen=True, eq=False)
class Net:
    """A feed-forward net that scores documents.

    >>> import numpy as np
    >>> from swaprank.models.layers import make_layers
    >>> from swaprank.models.net import Net, score
    >>> from swaprank.models.scaling import fit_scaling
    >>> X = np.array([[1.0, 0.0], [3.0, 0.0]], dtype=np.float32)
    >>> scaling = fit_scaling(X, np.zeros(2, bool), standardize=True)
    >>> net = Net(make_layers(2, (), activation=0), scaling, np.array([0.5, 1.0], dtype=np.float32))
    >>> score(net, X).tolist()
    [-0.5, 0.5]
    """

    layers: Layers
    scaling: Scaling
    weights: NDArray[np.float32]

    @property
    def n_features(self) -> int:
        """How many features a document has."""
        return int(self.layers.sizes[0])

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(self.layers.sizes[1:-1].tolist())


@kernel
def score_rows(
    features: Features, rows: Ints, scaling: Scaling, layers: Layers, weights: Reals, units: Reals, scores: Floats
) -> None:
    """Score the given rows, a block at a time; `units` has room for one block."""
    n_units, n_block = layers.sizes[1:].sum(), rows_in_block(layers.sizes[0])
    scaled = np.empty((min(n_block, len(rows)), layers.sizes[0]), weights.dtype)
    for a in range(0, len(rows), n_block):
        n = min(n_block, len(rows) - a)
        values = units[: n * n_units]
        scale_rows(features, rows[a : a + n], scaling, scaled[:n])
        forward(layers, weights, scaled[:n], values)
        for i in range(n):
            scores[a + i] = values[len(values) - n + i]


def score(net: Net, features: Features, n_threads: int | None = None) -> Floats:
    """Scores of a matrix's rows; a row's score does not depend on the other rows, nor on the number of threads."""
    n = len(features)
    scores, rows = np.empty(n), np.arange(n)
    n_chunks = max(1, min(thread_count(n_threads), n // _LEAST_ROWS))
    cuts = np.linspace(0, n, n_chunks + 1).astype(int).tolist()
    n_block = min(rows_in_block(net.n_features), n)

    def work(first: int, last: int) -> None:
        units = np.empty(n_block * count_units(net.layers), net.weights.dtype)
        part = scores[first:last]
        score_rows(read_only(features), rows[first:last], net.scaling, net.layers, net.weights, units, part)

    run_in_threads(work, list(zip(cuts[:-1], cuts[1:], strict=True)))
    return scores


def net_arrays(net: Net) -> dict[str, AnyArray]:
    """The arrays of a net by name."""
    return {"weights": net.weights, **net.scaling._asdict()}


def net_meta(net: Net) -> dict[str, Any]:
    """What a net has beside arrays."""
    return {"sizes": net.layers.sizes.tolist(), "activation": ACTIVATIONS[net.layers.activation]}


def net_from_arrays(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> Net:
    """The net again, every part of it checked.

    >>> import numpy as np
    >>> from swaprank.models.layers import make_layers
    >>> from swaprank.models.net import Net, net_arrays, net_from_arrays, net_meta
    >>> from swaprank.models.scaling import fit_scaling
    >>> scaling = fit_scaling(np.ones((1, 2), np.float32), np.zeros(2, bool), standardize=True)
    >>> net = Net(make_layers(2, (), activation=0), scaling, np.array([0.5, 1.0], dtype=np.float32))
    >>> net_from_arrays(net_arrays(net), net_meta(net)).weights.tolist()
    [0.5, 1.0]
    """
    sizes = meta["sizes"]
    if not isinstance(sizes, list) or len(sizes) < 2 or not all(type(n) is int and n > 0 for n in sizes):
        raise ModelFileError(f"the layers of its net have impossible sizes: {sizes!r}.")
    if sizes[-1] != 1:
        raise ModelFileError(f"its net gives {sizes[-1]} numbers, not one score.")
    if meta["activation"] not in ACTIVATIONS:
        raise ModelFileError(
            f"its net has an activation that this version of swaprank does not know: {meta['activation']!r}."
        )
    layers = make_layers(sizes[0], sizes[1:-1], ACTIVATIONS.index(meta["activation"]))
    wanted: dict[str, tuple[int, Any]] = {
        "weights": (count_weights(layers), np.float32),
        "logged": (sizes[0], np.bool_),
    }
    wanted |= dict.fromkeys(("mean", "factor", "missing"), (sizes[0], np.float32))
    for name, (length, dtype) in wanted.items():
        if name not in arrays:
            raise ModelFileError(f"its net has no {name}.")
        if arrays[name].shape != (length,) or arrays[name].dtype != dtype:
            raise ModelFileError(f"its net needs {length:,} values of {name}, found {arrays[name].shape}.")
        if not np.isfinite(arrays[name]).all():
            raise ModelFileError(f"its net has a value of {name} that is not finite.")
    scaling = Scaling(*(np.ascontiguousarray(arrays[name]) for name in Scaling._fields))
    return Net(layers, scaling, np.ascontiguousarray(arrays["weights"]))
