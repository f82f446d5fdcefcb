"""Columns that lose most of their values in single precision are named, with the numbers of values; no others are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.data.features import as_features
from swaprank.data.precision import count_merged

N = 60
SECONDS = 1_700_000_000 + np.random.default_rng(0).permutation(N)
X = np.stack([np.linspace(0, 1, N), SECONDS, np.arange(N) % 7], axis=1)
LABELS, QID = np.arange(N) % 2, np.arange(N) // 10
FRAME = {"bm25": X[:, 0], "published": SECONDS, "depth": X[:, 2]}
ROLES = {"label": LABELS, "qid": QID}

WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "array": (lambda: sr.Dataset(X, LABELS, qid=QID), "X, column 1"),
    "Fortran array": (lambda: sr.Dataset(np.asfortranarray(X), LABELS, qid=QID), "X, column 1"),
    "names": (lambda: sr.Dataset(X, LABELS, qid=QID, feature_names=list(FRAME)), "X, column 'published'"),
    "lists": (lambda: sr.Dataset(X.tolist(), LABELS, qid=QID), "X, column 1"),
    "integers": (lambda: sr.Dataset(X.astype(np.int64), LABELS, qid=QID), "X, column 1"),
    "objects": (lambda: sr.Dataset(X.astype(object), LABELS, qid=QID), "X, column 1"),
    "masked": (lambda: sr.Dataset(np.ma.array(X, mask=X == 3), LABELS, qid=QID), "X, column 1"),
    "sparse": (lambda: sr.Dataset(scipy.sparse.coo_array(X), LABELS, qid=QID), "X, column 1"),
    "pandas": (lambda: sr.Dataset(pd.DataFrame(FRAME), LABELS, qid=QID), "column 'published'"),
    "Polars": (lambda: sr.Dataset(pl.DataFrame(FRAME), LABELS, qid=QID), "column 'published'"),
    "Arrow": (lambda: sr.Dataset(pa.table(FRAME), LABELS, qid=QID), "column 'published'"),
    "from_frame": (lambda: sr.Dataset.from_frame(pd.DataFrame(FRAME | ROLES)), "column 'published'"),
    "fit": (lambda: sr.MART(n_trees=1).fit(X, LABELS, qid=QID), "X, column 1"),
    "predict": (lambda: fitted().predict(X), "X, column '2'"),
    "predict a table": (lambda: fitted().predict(pd.DataFrame(FRAME)), "column 'published'"),
}


def fitted() -> Any:
    few = X[::9].astype(np.float32)
    return sr.MART(n_trees=1).fit(few, LABELS[::9], qid=QID[::9])


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_warns_at_the_line_of_the_user(way: str) -> None:
    enter, column = WAYS[way]
    with pytest.warns(sr.errors.PrecisionWarning) as caught:
        enter()
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"{column}: 60 distinct values become 1 in single precision (float32)")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.parquet", "data.txt", "data.txt.gz", "zero.txt"])
def test_files_warn(tmp_path: Path, name: str) -> None:
    path, frame = tmp_path / name, pl.DataFrame(FRAME | ROLES)
    column = "column 'published'"
    if name == "data.parquet":
        frame.write_parquet(path)
    elif "txt" not in name:
        frame.write_csv(path, separator="\t" if name == "data.tsv" else ",")
    else:
        first = 0 if name == "zero.txt" else 1
        column = f"{re.escape(str(path))}, first 60 documents, column '{first + 1}'"
        lines = [
            f"{label} qid:{query} {first}:{a:.3f} {first + 1}:{seconds} {first + 2}:NULL # {first + 1}:7"
            for label, query, a, seconds in zip(LABELS, QID, X[:, 0], SECONDS, strict=True)
        ]
        text = "\n".join(["# a comment", "", *lines])
        if name.endswith(".gz"):
            import gzip

            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
    with pytest.warns(sr.errors.PrecisionWarning, match=f"^{column}: 60 distinct values become 1 "):
        sr.read(path)


def random_columns(n: int) -> dict[str, Floats]:
    rng = np.random.default_rng(n)
    year = 365 * 24 * 3600
    return {
        "uniform": rng.random(n),
        "normal": rng.normal(size=n),
        "sorted": np.sort(rng.random(n)),
        "large": 1e12 * rng.random(n),
        "tiny": 1e-30 * rng.random(n),
        "counts": rng.integers(0, 2**24, n).astype(float),
        "years": rng.integers(1990, 2030, n).astype(float),
        "seconds of ten years": 1.4e9 + rng.integers(0, 10 * year, n),
        "constant": np.full(n, 0.1),
        "few": rng.choice([0.1, 0.2, 0.3], n),
        "missing": np.full(n, np.nan),
    }


@pytest.mark.parametrize("n", [1, 2, 3, 50, 5000, 300_000])
def test_usual_columns_do_not_warn(n: int) -> None:
    columns = random_columns(n)
    as_features(np.stack([*columns.values()], axis=1))
    as_features(pl.DataFrame(columns))


def test_single_precision_does_not_warn() -> None:
    as_features(X.astype(np.float32))
    as_features(pd.DataFrame(X.astype(np.float32)))
    as_features(scipy.sparse.csr_array(X.astype(np.float32)))
    as_features((X % 100).astype(np.int16))


@pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("n", [1000, 200_000])
def test_time_stamps_with_zeros_for_missing_warn(n: int, share: float) -> None:
    rng = np.random.default_rng(0)
    seconds = np.where(rng.random(n) < share, 0.0, 1.7e9 + rng.integers(0, 3600, n))
    with pytest.warns(sr.errors.PrecisionWarning) as caught:
        as_features(np.stack([rng.random(n), seconds], axis=1))
    n_given, n_kept = (len(set(values.tolist())) for values in (seconds, seconds.astype(np.float32)))
    expected = f"X, column 1: {n_given:,} distinct values become {n_kept:,} in single"
    assert str(caught[0].message).startswith(expected)
    assert n_kept < 40


def test_one_warning_for_several_columns() -> None:
    with pytest.warns(
        sr.errors.PrecisionWarning, match=r"X, column 0: 60 .* column 2: 60 .* become 1; and 3 more columns in"
    ):
        as_features(np.repeat(SECONDS[:, None].astype(float), 6, axis=1))


def test_values_too_large_for_single_precision_are_an_error_and_not_a_warning() -> None:
    for make in (np.array, pd.DataFrame, scipy.sparse.csr_array):
        with pytest.raises(sr.errors.DataError, match="not finite in single precision"):
            as_features(make(1e290 * (1 + X)))


def test_filters_of_python_apply() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.PrecisionWarning)
        sr.Dataset(X, LABELS, qid=QID)


@given(
    st.lists(
        st.one_of(st.integers(0, 200).map(lambda k: 2.0**24 + k), st.floats(-1e6, 1e6), st.just(np.nan)), max_size=60
    )
)
def test_counts_are_those_of_sets(values: list[float]) -> None:
    column = np.array(values, dtype=np.float64)
    kept = column.astype(np.float32)
    n_given, n_kept = (len({x for x in each.tolist() if x == x}) for each in (column, kept))
    found = count_merged("x", column, kept)
    assert found == (("x", n_given, n_kept) if n_given > n_kept else None)


def test_only_the_first_documents_of_a_long_file_are_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    seconds = 1_700_000_000 + rng.integers(0, 500, 30_000)
    lines = [f"0 qid:{at} 7:0.25 9:{value} 10:-{value}.5" for at, value in enumerate(seconds)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    merged = len(set(seconds[:2000].tolist())), len({int(np.float32(value)) for value in seconds[:2000]})
    with pytest.warns(sr.errors.PrecisionWarning) as caught:
        sr.read(tmp_path / "long.txt")
    found = re.findall(r"column '(\d+)': ([\d,]+) distinct values become ([\d,]+)", str(caught[0].message))
    assert found == [(column, f"{merged[0]:,}", f"{merged[1]:,}") for column in ("9", "10")]
    assert "first 2,000 documents" in str(caught[0].message)
