from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.models.layers import count_weights, make_layers
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling
from tests.models.naive_net import naive_scores


def made(n_features: int = 3, hidden: tuple[int, ...] = (2,)) -> Net:
    rng = np.random.default_rng(0)
    layers = make_layers(n_features, hidden, 0)
    scaling = fit_scaling(rng.normal(size=(20, n_features)).astype(np.float32), np.zeros(n_features, bool), True)
    return Net(layers, scaling, rng.normal(size=count_weights(layers)).astype(np.float32))


@pytest.mark.parametrize("n_rows", [0, 1, 7, 40_000])
def test_scores_are_those_of_numpy_for_any_number_of_threads(n_rows: int) -> None:
    net = made(hidden=(5, 4))
    X = np.random.default_rng(1).normal(size=(n_rows, 3)).astype(np.float32)
    one = net.score(X, n_threads=1)
    scaled = ((X - net.scaling.mean) * net.scaling.factor).astype(float)
    np.testing.assert_allclose(one, naive_scores(net.layers, net.weights.astype(float), scaled), rtol=1e-3, atol=1e-5)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(net.score(X, n_threads), one)
    np.testing.assert_array_equal(net.score(X[::-1].copy(), n_threads=1)[::-1], one)


@pytest.mark.parametrize("hidden", [(), (2,), (3, 4)])
def test_a_net_comes_back_from_its_arrays(hidden: tuple[int, ...]) -> None:
    net = made(hidden=hidden)
    again = Net.from_parts(*net.to_parts())
    assert again.hidden == hidden
    assert again.n_features == 3
    for name, array in net.to_parts().arrays.items():
        np.testing.assert_array_equal(again.to_parts().arrays[name], array)


@pytest.mark.parametrize(
    ("arrays", "meta", "message"),
    [
        ({}, {"sizes": [3, 2]}, "its net has 2 outputs instead of one"),
        ({}, {"sizes": [3, 0, 1]}, "invalid sizes"),
        ({}, {"sizes": [3, 2.0, 1]}, "invalid sizes"),
        ({}, {"sizes": "321"}, "invalid sizes"),
        ({}, {"sizes": [10**12, 10**12, 1]}, "needs"),
        ({}, {"sizes": [3, 3, 1]}, "needs 15 values of weights in float32; found float32 of shape \\(10,\\)"),
        ({}, {"activation": "step"}, "'step' is not known"),
        ({"weights": np.zeros(10)}, {}, "needs 10 values of weights"),
        ({"weights": np.full(10, np.nan, np.float32)}, {}, "a value of weights that is not finite"),
        (
            {"mean": np.zeros((3, 1), np.float32)},
            {},
            "needs 3 values of mean in float32; found float32 of shape \\(3, 1\\)",
        ),
        ({"logged": np.zeros(3, np.float32)}, {}, "needs 3 values of logged"),
        ({"factor": None}, {}, "its net has no factor"),
    ],
)
def test_invalid_parts_are_errors(arrays: dict[str, Any], meta: dict[str, Any], message: str) -> None:
    net = made()
    parts = {name: array for name, array in (net.to_parts().arrays | arrays).items() if array is not None}
    with pytest.raises(sr.errors.ModelFileError, match=message):
        Net.from_parts(net.to_parts().meta | meta, parts)
