"""Data on a cluster as parts, and what is imported to find out."""

import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.cluster.parts import as_parts


def test_dask_collections_become_parts_and_all_else_stays() -> None:
    frame = pd.DataFrame({"qid": [1], "label": [0], "x": [1.0]})
    delayed = dask.delayed(sr.read)("part.txt")
    for data in (dd.from_pandas(frame, npartitions=1), delayed, [delayed], sr.Parts.read(["a.txt"])):
        assert isinstance(as_parts(data), sr.Parts)
    for data in (frame, np.zeros((2, 2)), [[1.0]], [], (frame, [0]), None, sr.Dataset([[1.0]], [0], qid=[1])):
        assert as_parts(data) is data


def test_finding_out_imports_nothing_heavy() -> None:
    code = "import sys, swaprank.cluster.parts; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"dask", "distributed", "xgboost", "mpi4py", "numba", "pandas"} & set(loaded)


def test_what_is_no_part_says_what_to_do() -> None:
    with pytest.raises(sr.errors.DataError, match="a part must be a Dataset, or a delayed value or a future"):
        sr.Parts([np.zeros((4, 2))])
    with pytest.raises(sr.errors.DataError, match="for Dask arrays and series, give the labels and qid or group"):
        as_parts(da.zeros((4, 2)))
    with pytest.raises(sr.errors.DataError, match="there are no parts"):
        sr.Parts([])
    with pytest.raises(sr.errors.DataError, match="parts have their own columns: give them without qid"):
        as_parts(sr.Parts.read(["a.txt"]), qid="query")
    with pytest.raises(sr.errors.DataError, match="give them without categorical_features"):
        as_parts(sr.Parts.read(["a.txt"]), categorical_features=["brand"])
