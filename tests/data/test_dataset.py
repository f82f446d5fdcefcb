import copy
import pickle
from dataclasses import FrozenInstanceError
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


def shuffled() -> tuple[sr.Dataset, sr.Dataset, np.ndarray[Any, Any]]:
    """The same documents grouped and in random order, and the permutation between them."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    X, y = rng.normal(size=(len(qid), 4)).astype(np.float32), rng.integers(0, 3, len(qid))
    order = rng.permutation(len(qid))
    docid = np.array([f"d{i}" for i in range(len(qid))])
    return (
        sr.Dataset(X, y, qid=qid, docid=docid),
        sr.Dataset(X[order], y[order], qid=qid[order], docid=docid[order]),
        order,
    )


def test_rows_keep_the_order_in_which_they_were_given() -> None:
    X = [[1.0], [2.0], [3.0], [4.0]]
    data = sr.Dataset(X, [3, 1, 0, 2], qid=["b", "a", "b", "a"], docid=["w", "x", "y", "z"])
    assert data.features.ravel().tolist() == [1, 2, 3, 4]
    assert data.labels.tolist() == [3, 1, 0, 2]
    assert data.docid is not None
    assert data.docid.tolist() == ["w", "x", "y", "z"]
    assert data.qids.tolist() == ["b", "a"]
    assert [data.rows(q).tolist() for q in range(2)] == [[0, 2], [1, 3]]
    assert data.by_query(data.labels).tolist() == [3, 0, 1, 2]
    assert data.as_given(data.by_query(data.labels)).tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("name", ["ndcg@3", "map", "pairwise"])
def test_shuffled_rows_measure_the_same(name: str) -> None:
    grouped, scattered, order = shuffled()
    scores = grouped.column(2)
    one = dict(zip(grouped.qids.tolist(), sr.evaluate(grouped, scores, name)[name].per_query, strict=True))
    two = sr.evaluate(scattered, scores[order], name)
    assert one == dict(zip(scattered.qids.tolist(), two[name].per_query, strict=True))


def test_grouped_rows_are_neither_moved_nor_copied() -> None:
    X = np.zeros((4, 2), np.float32)
    data = sr.Dataset(X, [0, 1, 0, 1], qid=[9, 9, 3, 3])
    assert data.order is None
    assert np.shares_memory(data.features, X)
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 1


def test_it_is_frozen() -> None:
    data = sr.Dataset([[1.0]], [1], qid=[1])
    with pytest.raises(FrozenInstanceError):
        data.labels = np.zeros(1)  # type: ignore[misc]


@pytest.mark.parametrize(
    "qid",
    [
        [2**63 - 1, 5, 2**63 - 1, 5],
        [10**40, 10**39, 10**40, 10**39],
        ["q1", "q2", "q1", "q2"],
        [b"q1", b"q2", b"q1", b"q2"],
        np.array(["x", "yy", "x", "yy"], dtype=object),
        np.array([7, 8, 7, 8], dtype=np.uint64),
        [1.0, 2.0, 1.0, 2.0],
        [-1, 0, -1, 0],
    ],
)
def test_query_ids_of_any_kind(qid: Any) -> None:
    data = sr.Dataset([[1.0], [2.0], [3.0], [4.0]], [0, 1, 2, 3], qid=qid)
    assert data.n_queries == 2
    assert data.by_query(data.labels).tolist() == [0, 2, 1, 3]
    assert data.qids.tolist() == [qid[0], qid[1]]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_grouping_is_stable_and_complete(qid: list[int]) -> None:
    data = sr.Dataset(np.zeros((len(qid), 1)), np.arange(len(qid)), qid=qid)
    assert data.qids.tolist() == list(dict.fromkeys(qid))
    for q, name in enumerate(data.qids):
        assert data.rows(q).tolist() == [row for row, other in enumerate(qid) if other == name]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.data())
def test_subset_keeps_whole_queries_in_their_order(qid: list[int], choices: st.DataObject) -> None:
    data = sr.Dataset(
        np.arange(len(qid))[:, None], np.arange(len(qid)), qid=qid, docid=[f"d{i}" for i in range(len(qid))]
    )
    chosen = choices.draw(st.sets(st.integers(0, data.n_queries - 1), min_size=1).map(sorted))
    part = data.subset(chosen)
    kept = [row for row, name in enumerate(qid) if name in set(data.qids[chosen].tolist())]
    assert part.labels.tolist() == kept
    assert part.docid is not None
    assert part.docid.tolist() == [f"d{row}" for row in kept]
    assert sorted(part.qids.tolist()) == sorted(data.qids[chosen].tolist())
    for q in range(part.n_queries):
        assert {qid[kept[row]] for row in part.rows(q)} == {part.qids[q]}


def test_neighbouring_queries_share_memory_with_the_whole() -> None:
    data = sr.Dataset(np.zeros((6, 2), np.float32), np.zeros(6), qid=[1, 1, 2, 2, 3, 3])
    assert np.shares_memory(data.subset(slice(1, 3)).features, data.features)
    assert data.subset(np.array([False, True, False])).qids.tolist() == [2]


def test_split_takes_whole_queries_each_once() -> None:
    data = shuffled()[1]
    parts = data.split((0.5, 0.3, 0.2), random_state=3)
    assert [part.n_queries for part in parts] == [15, 9, 6]
    assert sorted(q for part in parts for q in part.qids.tolist()) == sorted(data.qids.tolist())
    again = data.split((0.5, 0.3, 0.2), random_state=3)
    assert all((a.labels == b.labels).all() for a, b in zip(parts, again, strict=True))


def test_pairs_follow_their_rows_into_a_subset() -> None:
    pairs = [(0, 2, 1, 0.5), (3, 1, 1, 2), (4, 0, 1, 3)]
    data = sr.Dataset(np.zeros((5, 1)), np.zeros(5), qid=[1, 2, 1, 2, 1], pairs=pairs)
    assert data.pairs is not None
    part = data.subset([0])
    assert part.pairs is not None
    assert part.pairs.above.tolist() == [0, 2]
    assert part.pairs.below.tolist() == [1, 0]
    assert part.pairs.probability.tolist() == [1, 1]
    assert part.pairs.weight.tolist() == [0.5, 3]


def test_pairs_may_contradict_each_other() -> None:
    circle = [(0, 1, 1.0), (1, 2, 0.9), (2, 0, 0.5)]
    data = sr.Dataset(np.zeros((3, 1)), np.zeros(3), qid=[1, 1, 1], pairs=circle)
    assert data.pairs is not None
    assert data.pairs.probability.tolist() == [1.0, 0.9, 0.5]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array])
def test_sparse_matrices(kind: Any) -> None:
    dense = np.array([[0, 1.5, 0], [2.5, 0, 0]])
    data = sr.Dataset(kind(dense), [0, 1], qid=[1, 1])
    assert data.features.dtype == np.float32
    assert data.features.flags.c_contiguous
    assert (data.features == dense).all()


def test_missing_features_are_kept() -> None:
    data = sr.Dataset([[np.nan, 1.0], [None, 2.0]], [0, 1], qid=[1, 1])
    assert np.isnan(data.features[:, 0]).all()


def test_it_can_be_pickled() -> None:
    data = shuffled()[1]
    again = pickle.loads(pickle.dumps(data))
    assert (again.features == data.features).all()
    assert (again.order == data.order).all()


def test_repr_is_readable() -> None:
    assert repr(shuffled()[0]) == "Dataset(145 documents, 30 queries, 4 features, labels 0 to 2)"


X2, Y2, Q2 = [[1.0], [2.0]], [0, 1], [1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(X=X2, y=[0], qid=Q2), "y has 1 values, but X has 2 rows."),
        (dict(X=X2, y=Y2, qid=[1]), "qid has 1 values, but X has 2 rows."),
        (dict(X=X2, y=Y2, qid=None), "give qid, one query id per row, or group, the number of rows"),
        (dict(X=X2, y=[0, np.nan], qid=Q2), "y, row 1: nan is not a finite number."),
        (dict(X=X2, y=["a", "b"], qid=Q2), "y must hold numbers: "),
        (dict(X=[[1.0], [np.inf]], y=Y2, qid=Q2), "X, row 1, column 0: inf is not finite in single precision; use NaN"),
        (dict(X=[[1.0], [1e300]], y=Y2, qid=Q2), "X, row 1, column 0: 1e+300 is not finite in single precision"),
        (dict(X=[["a"], ["b"]], y=Y2, qid=Q2), "X must hold numbers (NaN where a value is missing): "),
        (dict(X=[1.0, 2.0], y=Y2, qid=Q2), "X must have two dimensions, documents x features; found shape (2,)."),
        (dict(X=np.empty((2, 0)), y=Y2, qid=Q2), "X has 0 feature(s) (shape=(2, 0)) while a minimum of 1 is required."),
        (dict(X=np.empty((0, 2)), y=[], qid=[]), "a data set needs at least one document, found none."),
        (dict(X=X2, y=Y2, qid=[1.5, 2]), "row 0: 1.5 is not a query id: give integers or text."),
        (dict(X=X2, y=Y2, qid=[1.0, np.nan]), "row 1: nan is not a query id"),
        (dict(X=X2, y=Y2, qid=[2.0**53, 1]), "row 0: the query id 9007199254740992.0 is too large to be exact as"),
        (dict(X=X2, y=Y2, qid=np.array([1, 2**24], np.float32)), "row 1: the query id 16777216.0 is too large"),
        (dict(X=X2, y=Y2, qid=np.ma.array([1, 2], mask=[False, True])), "row 1: the query id is masked"),
        (dict(X=[[1.0], [1.0, 2.0]], y=Y2, qid=Q2), "X must be a table of numbers with rows of equal length."),
        (dict(X=np.array([[1], [2]], "M8[D]"), y=Y2, qid=Q2), "X must hold numbers (NaN where a value is missing)"),
        (dict(X=np.array([[1j], [2]]), y=Y2, qid=Q2), "Complex data not supported: X must hold real numbers, fo"),
        (dict(X=scipy.sparse.coo_array(np.ones(2)), y=Y2, qid=Q2), "X must have two dimensions, documents x fea"),
        (dict(X=pd.DataFrame({"a": np.array([1, 2], "M8[s]")}), y=Y2, qid=Q2), "column 'a' holds "),
        (dict(X=X2, y=np.array([1, 2], "M8[D]"), qid=Q2), "y must hold numbers: found datetime64[D]."),
        (dict(X=X2, y=np.ma.array([1, 2], mask=[False, True]), qid=Q2), "y, row 1: nan is not"),
        (dict(X=X2, y=Y2, qid=Q2, docid=["a", None]), "row 1: None is not a document id: give integers or text."),
        (dict(X=X2, y=Y2, qid=Q2, docid=[1.0, np.nan]), "row 1: nan is not a document id: give integers or text."),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, np.nan, 1)]), "pairs, entry 0: (0.0, nan, 1.0) must give rows as"),
        (dict(X=X2, y=Y2, qid=["a", None]), "row 1: None is not a query id"),
        (dict(X=X2, y=Y2, qid=Q2, sample_weight=[1, -1]), "sample_weight, row 1: -1.0 is negative."),
        (dict(X=X2, y=Y2, qid=Q2, base_score=[1, np.inf]), "base_score, row 1: inf is not a finite number."),
        (dict(X=X2, y=Y2, qid=Q2, docid=["a"]), "docid must have one id for each of the 2 rows, found shape (1,)."),
        (dict(X=X2, y=Y2, qid=Q2, feature_names=["a", "b"]), "feature_names has 2 names, but X has 1 features."),
        (dict(X=[[1, 2]], y=[1], qid=[1], feature_names=["a", "a"]), "feature_names has 'a' more than once."),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0,)]), "pairs must be rows of (i, j), (i, j, probability) or (i, j, "),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 1, 1, -2)]), "pairs, entry 0: (0.0, 1.0, 1.0, -2.0) has a weight"),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 1, 1, np.inf)]), "pairs, entry 0: (0.0, 1.0, 1.0, inf) has a weight"),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 1), (1, 0, 0.5)]), "pairs must be rows of (i, j), (i, j, probability) or "
            "(i, j, probability, weight), all of the same length."),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 2)]), "pairs, entry 0: (0.0, 2.0) names a row outside 0 to 1."),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(1, 1)]), "pairs, entry 0: (1.0, 1.0) pairs a row with itself."),
        (dict(X=X2, y=Y2, qid=[1, 2], pairs=[(0, 1)]), "pairs, entry 0: (0.0, 1.0) pairs rows of different queries."),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 1, 1.5)]), "pairs, entry 0: (0.0, 1.0, 1.5) has a probability outside 0"),
        (dict(X=X2, y=Y2, qid=Q2, pairs=[(0, 0.5)]), "pairs, entry 0: (0.0, 0.5) must give rows as integers"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError) as caught:
        sr.Dataset(**arguments)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.subset([30]), "there are 30 queries, numbered from 0: "),
        (lambda d: d.subset([]), "a subset needs at least one query, found none."),
        (lambda d: d.subset([1, 1]), "a subset may contain each query only once."),
        (lambda d: d.split((0.5, 0.2)), "fractions must be positive and sum to 1, such as (0.8, 0.2); found"),
        (lambda d: d.split(0.5), "fractions must be positive and sum to 1, such as (0.8, 0.2); found 0.5."),
        (
            lambda d: d.split((0.5, 0.5), random_state=-1),
            "random_state must be a whole number from 0, or None; found -1",
        ),
        (lambda d: d.rows(-1), "there is no query -1: there are 30, numbered from 0."),
        (lambda d: d.rows(30), "there is no query 30: there are 30, numbered from 0."),
        (lambda d: d.column(1.5), "a feature is selected by an integer, found 1.5."),
        (lambda d: d.split((0.999, 0.001)), "30 queries are too few to split into (0.999, 0.001)."),
        (lambda d: d.column("bm25"), "there is no feature 'bm25'; known are 1, 2, 3, 4."),
        (lambda d: d.column(4), "there is no feature 4: there are 4, numbered from 0."),
    ],
)
def test_bad_requests_get_a_clear_error(call: Any, message: str) -> None:
    with pytest.raises(sr.errors.DataError) as caught:
        call(shuffled()[0])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "qid",
    [
        [2**64 - 1, 1, 2**64 - 1, 1],
        [2**63, -1, 2**63, -1],
        [2**53 + 1, 2**53, 2**53 + 1, 2**53],
        np.array([2**70, "a", 2**70, "a"], dtype=object),
    ],
)
def test_integers_of_any_size_stay_apart(qid: Any) -> None:
    data = sr.Dataset([[1.0], [2.0], [3.0], [4.0]], [0, 1, 2, 3], qid=qid)
    assert data.qids.tolist() == [qid[0], qid[1]]
    assert data.by_query(data.labels).tolist() == [0, 2, 1, 3]


def test_integers_of_128_bits_in_polars() -> None:
    qid = pl.Series([2**100, 5], dtype=pl.Int128)
    assert sr.Dataset([[1.0], [2.0]], [0, 1], qid=qid).qids.tolist() == [2**100, 5]
    frame = pl.DataFrame({"qid": qid, "label": [0, 1], "x": [1, 2]})
    assert sr.Dataset.from_frame(frame).qids.tolist() == [2**100, 5]


COLUMNS = {"bm25": [1.5, None], "clicks": [None, 4]}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas-nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": pl.DataFrame(COLUMNS),
    "lazy": pl.LazyFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}


@pytest.mark.parametrize("make", FRAMES)
def test_tables_as_features_bring_their_names(make: str) -> None:
    data = sr.Dataset(FRAMES[make], [0, 1], qid=[1, 1])
    assert data.feature_names == ("bm25", "clicks")
    np.testing.assert_array_equal(data.features, [[1.5, np.nan], [np.nan, 4]])
    assert sr.Dataset(FRAMES[make], [0, 1], qid=[1, 1], feature_names=["a", "b"]).feature_names == ("a", "b")


def test_masked_values_are_missing() -> None:
    for dtype in (np.float32, np.float64, np.int64):
        X = np.ma.array(np.array([[1, 2], [3, 4]], dtype), mask=[[False, True], [False, False]])
        data = sr.Dataset(X, [0, 1], qid=[1, 1])
        np.testing.assert_array_equal(data.features, [[1, np.nan], [3, 4]])
        assert X.data.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("again", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy, copy.copy])
def test_copies_are_frozen_too(again: Any) -> None:
    data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[5, 6, 5], docid=["a", "b", "c"], pairs=[(2, 0)])
    other = again(data)
    assert repr(other) == repr(data)
    assert other.feature_names == data.feature_names
    arrays = [other.features, other.labels, other.qids, other.indptr, other.order, other.docid, *other.pairs]
    assert not any(array.flags.writeable for array in arrays)


def test_there_may_be_no_pairs() -> None:
    empty: list[Any] = [[], (), np.empty((0, 2)), np.empty((0, 3))]
    for pairs in empty:
        data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 2], pairs=pairs)
        assert data.pairs is not None
        assert len(data.pairs.above) == 0
        assert data.subset([1]).pairs is not None


@pytest.mark.parametrize(
    ("docid", "expected"),
    [
        ([1, 2], [1, 2]),
        ([1.0, 2.0], [1, 2]),
        ([b"x", b"y"], ["x", "y"]),
        (np.array([b"x", "y"], dtype=object), ["x", "y"]),
        ([2**64, 7], ["18446744073709551616", "7"]),
        (["a", "a"], ["a", "a"]),
        (["", "a"], ["", "a"]),
    ],
)
def test_document_ids(docid: Any, expected: list[object]) -> None:
    data = sr.Dataset(X2, Y2, qid=Q2, docid=docid)
    assert data.docid is not None
    assert data.docid.tolist() == expected


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.data())
def test_a_subset_is_grouped_as_if_it_had_come_alone(qid: list[int], choices: st.DataObject) -> None:
    data = sr.Dataset(np.zeros((len(qid), 1)), np.arange(len(qid)), qid=qid)
    part = data.subset(choices.draw(st.lists(st.integers(0, data.n_queries - 1), min_size=1, unique=True)))
    alone = sr.Dataset(part.features, part.labels, qid=[qid[int(row)] for row in part.labels])
    assert part.qids.tolist() == alone.qids.tolist()
    assert part.indptr.tolist() == alone.indptr.tolist()
    assert (part.order is None) == (alone.order is None)
    assert part.by_query(part.labels).tolist() == alone.by_query(alone.labels).tolist()


def test_replace_checks_what_is_new_and_shares_the_rest() -> None:
    data = sr.Dataset(
        [["a", 1.0], ["b", 2.0], ["a", 3.0]], [0, 1, 2], qid=[5, 6, 5], docid=["x", "y", "z"], pairs=[(0, 2)],
        categorical_features=[0], feature_names=["shop", "age"],
    )  # fmt: skip
    other = data.replace(labels=[2, 0, 1], base_score=[0.5, 1, 2], docid=None, pairs=[(2, 0)])
    assert other.labels.tolist() == [2, 0, 1]
    assert other.docid is None
    assert other.pairs is not None
    assert (other.pairs.above.tolist(), other.qids.tolist(), other.rows(0).tolist()) == ([2], [5, 6], [0, 2])
    assert other.stored is data.stored
    assert not other.labels.flags.writeable
    doubled = data.replace(features=data.features * 2)
    assert (doubled.feature_names, doubled.categories) == (data.feature_names, data.categories)
    assert doubled.column("age").tolist() == [2, 4, 6]
    assert data.replace(features=np.ones((3, 3))).feature_names == ("1", "2", "3")
    assert data.binned().replace(labels=[1, 1, 0]).is_binned
    for changes, words in (
        ({"labels": [1, 2]}, "labels has 2 values, but X has 3 rows"),
        ({"labels": None}, "labels must have one value per row"),
        ({"features": np.ones((2, 2))}, "features has 2 rows, but the data set has 3"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight, row 1: -1.0 is negative"),
        ({"pairs": [(0, 1)]}, "pairs rows of different queries"),
    ):
        with pytest.raises(sr.errors.DataError, match=words):
            data.replace(**changes)
