"""Parameters as strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.errors import ModelFileError
from swaprank.model_files.plain_json import from_json, to_json

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "$float"), inner),
    max_leaves=10,
)


@pytest.mark.slow
@given(value=plain)
def test_values_come_back_as_they_were(value: Any) -> None:
    text = to_json(value)
    assert from_json(text) == value
    assert to_json(from_json(text)) == text
    json.loads(text, parse_constant=pytest.fail)


def test_nan_and_infinities_are_strict_json_and_come_back() -> None:
    values = from_json(to_json([math.nan, math.inf, -math.inf, -0.0]))
    assert math.isnan(values[0])
    assert values[1:3] == [math.inf, -math.inf]
    assert math.copysign(1, values[3]) == -1


def test_numpy_scalars_become_plain() -> None:
    assert to_json({"n_leaves": np.int64(31), "rate": np.float64(0.1), "on": np.bool_(True)}) == (
        b'{"n_leaves":31,"on":true,"rate":0.1}'
    )


def test_the_order_of_keys_does_not_matter() -> None:
    assert to_json({"a": 1, "b": {"c": 2, "d": 3}}) == to_json({"b": {"d": 3, "c": 2}, "a": 1})


@pytest.mark.parametrize("value", [{1: "a"}, {"$float": 1}, object(), {1, 2}, b"bytes"])
def test_values_that_json_cannot_hold_are_errors(value: Any) -> None:
    with pytest.raises(ModelFileError, match="a model file cannot hold"):
        to_json({"parameter": value})


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"NaN", b"[Infinity]", b"\xff", b'{"$float":"1"}', b'{"$float":[]}', b"[" * 100_000, b"9" * 9999],
)
def test_other_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


def test_arrays_and_ranges_become_lists() -> None:
    assert (
        to_json({"a": np.array([0.5, 2.0]), "b": range(3), "c": np.float32(1)})
        == b'{"a":[0.5,2.0],"b":[0,1,2],"c":1.0}'
    )
