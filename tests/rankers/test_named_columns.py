"""Columns by name: the same call on pandas, Polars and Arrow tables, and the data set that arrays give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import swaprank as sr

RNG = np.random.default_rng(0)
FEATURES = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["bm25", "age", "clicks"])
CLICKED, QUERY = RNG.integers(0, 2, 60), np.repeat(np.arange(12), 5)
WEIGHT, BASE = RNG.uniform(0.5, 1, 60), RNG.normal(size=60)
FRAME = FEATURES.assign(clicked=CLICKED, query=[f"q{each}" for each in QUERY], weight=WEIGHT, prior=BASE)
NAMES: dict[str, Any] = {"qid": "query", "sample_weight": "weight", "base_score": "prior"}

TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


def mart(**parameters: Any) -> sr.MART:
    return sr.MART(n_trees=3, n_leaves=4, min_docs_in_leaf=2, **parameters)


EXPECTED = mart().fit(FEATURES, CLICKED, qid=QUERY, sample_weight=WEIGHT, base_score=BASE)


@pytest.mark.parametrize("kind", TABLES)
def test_columns_by_name_are_the_arrays(kind: str) -> None:
    ranker = mart().fit(TABLES[kind](FRAME), "clicked", **NAMES)
    assert ranker.feature_names_in_.tolist() == ["bm25", "age", "clicks"]
    np.testing.assert_array_equal(ranker.predict(FEATURES), EXPECTED.predict(FEATURES))
    score = ranker.score(TABLES[kind](FRAME), "clicked", qid="query", base_score="prior")
    assert score == EXPECTED.score(FEATURES, CLICKED, qid=QUERY, base_score=BASE)


@pytest.mark.parametrize("kind", TABLES)
def test_label_and_qid_are_the_default_columns(kind: str) -> None:
    frame = FEATURES.assign(label=CLICKED, qid=QUERY)
    expected = mart().fit(FEATURES, CLICKED, qid=QUERY).predict(FEATURES)
    np.testing.assert_array_equal(mart().fit(TABLES[kind](frame)).predict(FEATURES), expected)
    np.testing.assert_array_equal(mart().fit(TABLES[kind](frame), "label").predict(FEATURES), expected)


@pytest.mark.parametrize("kind", TABLES)
def test_validation_sets_may_be_tables_with_the_same_columns(kind: str) -> None:
    expected = mart().fit(FEATURES, CLICKED, qid=QUERY, valid=(FEATURES, CLICKED, QUERY)).history_
    frame = FRAME.drop(columns=["weight", "prior"])
    for valid in (TABLES[kind](frame), (TABLES[kind](FRAME), "clicked", "query"), (FEATURES, CLICKED, QUERY)):
        assert mart().fit(TABLES[kind](frame), "clicked", qid="query", valid=valid).history_ == expected


def test_names_and_arrays_can_be_mixed() -> None:
    names = mart().fit(FRAME.drop(columns=["clicked", "prior"]), CLICKED, qid="query", sample_weight="weight")
    arrays = mart().fit(FEATURES, CLICKED, qid=QUERY, sample_weight=WEIGHT)
    np.testing.assert_array_equal(names.predict(FEATURES), arrays.predict(FEATURES))
    sizes = mart().fit(FEATURES.assign(clicked=CLICKED), "clicked", group=[5] * 12)
    np.testing.assert_array_equal(sizes.predict(FEATURES), mart().fit(FEATURES, CLICKED, qid=QUERY).predict(FEATURES))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mart().fit(FRAME, "cliked", qid="query"), "there is no column 'cliked'; did you mean 'clicked'"),
        (lambda: mart().fit(FRAME, "clicked"), "there is no column 'qid'"),
        (lambda: mart().fit(FRAME, "query", qid="query"), "column 'query' is given as y and as qid"),
        (lambda: mart().fit(FRAME, "query", qid="clicked"), "column 'query' holds .*, not numbers"),
        (lambda: mart().fit(FEATURES.to_numpy(), "clicked", qid=QUERY), "y='clicked' names a column of a table, but X"),
        (lambda: mart().fit(FRAME, qid="query"), "this requires y to be passed"),
        (lambda: mart().fit(FRAME, CLICKED), "query ids are missing"),
        (lambda: mart().fit(FEATURES, CLICKED, qid=QUERY, valid=FRAME), "the set 'valid' must be a Dataset or a tuple"),
    ],
)
def test_wrong_columns_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        call()
