"""UBJSON as XGBoost writes it."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.ubjson import loads
from tests.exchange.peer_seeds import xgboost_seeds

pytest.importorskip("xgboost")


def test_ubjson_is_read_as_json_is() -> None:
    seeds = xgboost_seeds()

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, list | np.ndarray):
            return [plain(each) for each in value]
        # JSON has the shortest texts of numbers in single precision; as a text, NaN is equal to itself.
        return str(np.float32(value)) if isinstance(value, float | np.floating) else value

    for as_json, as_ubj in zip(seeds[::2], seeds[1::2], strict=True):
        assert plain(loads(as_ubj)) == plain(json.loads(as_json))


def test_truncated_ubjson_is_an_error() -> None:
    for seed in xgboost_seeds()[1::2]:
        for length in range(2, len(seed), 17):
            with pytest.raises(sr.errors.ModelFileError):
                loads(seed[:length])


def test_ubjson_that_asks_for_much_is_an_error() -> None:
    large = struct.pack(">q", 2**40)
    for content in (
        b"[$d#L" + large,
        b"[#L" + large,
        b"SL" + large,
        b"[$d#L" + struct.pack(">q", -1),
        b"[$Z#L" + large,
    ):
        with pytest.raises(sr.errors.ModelFileError, match="damaged"):
            loads(content)
    with pytest.raises(sr.errors.ModelFileError, match="nested too deeply"):
        loads(b"[" * 100_000)
    assert loads(b"[TFZi\x05]") == [True, False, None, 5]
