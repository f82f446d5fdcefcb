"""A scorer gives the scores of predict, bit for bit, and refuses what it cannot score."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import swaprank as sr
from swaprank.rankers.learned import Learned
from tests.exchange.fitted_models import NAMES, RANKERS, data, data_with_categories, documents, fitted
from tests.models.random_forests import naive_scores, random_documents, random_forest


@pytest.fixture(scope="module")
def scorer() -> sr.Scorer:
    return sr.Scorer(fitted("trees of missing values"))


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKERS)
def test_scores_are_those_of_predict(name: str) -> None:
    ranker, raw = fitted(name), documents(name)
    scorer, expected = sr.Scorer(ranker), ranker.predict(raw)
    X = scorer.rows(raw)
    assert scorer.predict(X).tolist() == expected.tolist()
    assert [scorer.predict(x) for x in X[::9]] == expected[::9].tolist()
    for n in (1, 2, 6, 7, 16, 17):
        assert scorer.predict(X[:n]).tolist() == expected[:n].tolist()


@pytest.mark.slow
@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.lists(st.integers(1, 40), max_size=10),
    n_documents=st.integers(0, 20),
    set_share=st.sampled_from([0, 0.3]),
)
def test_random_forests(seed: int, n_leaves: list[int], n_documents: int, set_share: float) -> None:
    rng = np.random.default_rng(seed)
    ranker = sr.MART()
    forest = random_forest(rng, n_leaves, set_share=set_share)
    ranker.learned_ = Learned(forest, feature_names=NAMES)
    X = random_documents(rng, n_documents)
    X[np.isinf(X)] = np.nan
    assert sr.Scorer(ranker).predict(X).tolist() == naive_scores(forest, X).tolist()


def test_a_model_file_is_enough(tmp_path: Path, scorer: sr.Scorer) -> None:
    path, X = tmp_path / "model.swaprank", documents("trees of missing values")
    scorer.ranker.save(path)
    for name in (path, str(path)):
        assert sr.Scorer(name).predict(X).tolist() == scorer.predict(X).tolist()


@pytest.mark.parametrize("name", ["trees of missing values", "net", "stack of everything"])
def test_many_threads_at_once(name: str) -> None:
    scorer, X = sr.Scorer(fitted(name)), documents(name)[:60]
    expected, order = scorer.predict(X).tolist(), scorer.rank(X, 5).tolist()

    def work(thread: int) -> bool:
        singles = [scorer.predict(x) for x in np.roll(X, thread, axis=0)]
        return bool(np.roll(singles, -thread).tolist() == expected and scorer.rank(X, 5).tolist() == order)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))


@pytest.mark.parametrize("n", [1, 5, 50])
def test_scores_are_written_to_out(scorer: sr.Scorer, n: int) -> None:
    X = documents("trees of missing values")[:n]
    room = np.full(n + 1, 7.0)
    assert scorer.predict(X, out=room[:n]).base is room
    assert room.tolist() == [*scorer.predict(X).tolist(), 7.0]


def test_one_document_with_out_is_still_a_float(scorer: sr.Scorer) -> None:
    out = np.empty(1)
    score = scorer.predict(documents("trees of missing values")[0], out=out)
    assert type(score) is float
    assert out.tolist() == [score]


@pytest.mark.parametrize(
    ("out", "found"),
    [
        (np.empty(3), r"float64 of shape \(3,\)"),
        (np.empty(2, np.float32), "float32"),
        (np.empty((1, 2)), r"shape \(1, 2\)"),
        (np.empty(4)[::2], "contiguous"),
        (np.broadcast_to(0.0, 2), "writable"),
        ([0.0, 0.0], "list"),
    ],
)
def test_a_wrong_out_is_an_error(scorer: sr.Scorer, out: Any, found: str) -> None:
    with pytest.raises(sr.errors.DataError, match=found):
        scorer.predict(np.zeros((2, 5), np.float32), out=out)


def test_numbers_in_any_form_are_converted(scorer: sr.Scorer) -> None:
    X = documents("trees of missing values")[:9]
    expected = scorer.predict(X).tolist()
    frozen = X.copy()
    frozen.flags.writeable = False
    masked = np.ma.masked_invalid(X)
    unaligned = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape)
    swapped = X.astype(">f4")
    lists = [[None if np.isnan(value) else value for value in row] for row in X.tolist()]
    forms: list[Any] = [X.astype(np.float64), np.asfortranarray(X), frozen, masked, unaligned, swapped, lists, list(X)]
    for form in forms:
        assert scorer.predict(form).tolist() == expected
        assert scorer.predict(form[3]) == expected[3]
    assert scorer.predict(np.repeat(X, 2, axis=1)[:, ::2]).tolist() == expected
    assert scorer.predict(X[:0]).tolist() == []


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (np.zeros(4, np.float32), "each document has 4 features, but LambdaMART is expecting 5"),
        (np.zeros((2, 6), np.float32), "each document has 6 features"),
        ([[1.0, 2.0]], "each document has 2 features"),
        (np.zeros((1, 2, 5), np.float32), "two dimensions"),
        (np.float32(3), "array of numbers; found float32"),
        (np.array(3.0), "two dimensions"),
        ([], "minimum of 1"),
        ([[1, 2, 3, 4, 5], [1, 2]], "equal length"),
        (["a", 1, 2, 3, 4], "feature .*: .a. is not a number"),
        ([True, 1, 2, 3, 4], "True is not a number"),
        ([[1, 2, None, "4", 5]], "document 0, feature .*: .4. is not a number"),
        (np.array([1j] * 5), "Complex"),
        (np.array([0, 1, np.inf, 3, 4], np.float32), "document 0, feature 'age': inf is not finite"),
        (np.array([0, 1, 2, 3, -np.inf], np.float32), "feature 'price': -inf is not finite"),
        ([0, 1, 2, 3, 1e39], "not finite in single precision"),
        ([0, 1, 2, 3, 10**400], "numbers"),
        (pd.DataFrame(np.zeros((2, 5)), columns=list(NAMES)), "found DataFrame: the scorer's `rows` converts it"),
        ({"age": 1}, "found dict"),
    ],
)
def test_what_cannot_be_scored_is_an_error(scorer: sr.Scorer, features: Any, said: str) -> None:
    with pytest.raises(sr.errors.DataError, match=said):
        scorer.predict(features)


def test_the_infinite_value_is_named_by_its_row(scorer: sr.Scorer) -> None:
    X = np.zeros((40, 5), np.float32)
    X[33, 1] = np.inf
    with pytest.raises(sr.errors.DataError, match="document 33, feature 'title match'"):
        scorer.predict(X)


@pytest.mark.parametrize("value", [-1, 6, 100, 3.75])
def test_what_is_no_code_of_a_category_is_an_error(value: float) -> None:
    scorer = sr.Scorer(fitted("trees of categories"))
    with pytest.raises(sr.errors.DataError, match=rf"'clicks': {value} is not the code of a category.*below 6"):
        scorer.predict(np.array([0, 0, 0, value, 0], np.float32))


def test_scores_beyond_all_numbers_are_an_error() -> None:
    ranker = sr.LinearRegressionRanker().fit(data()[0])
    scorer, X = sr.Scorer(ranker), np.zeros((2, 5), np.float32)
    weights = ranker.model_.to_parts().arrays["weights"]
    weights[0] = 1e300
    X[1, 0] = 1e30
    for features in (X, X[1]):
        with pytest.raises(sr.errors.DataError, match=r"the score of document . is -?inf"):
            scorer.predict(features)


@pytest.mark.parametrize("given", [3, None, object()])
def test_only_rankers_and_paths(given: Any) -> None:
    with pytest.raises(sr.errors.ParameterError, match="a fitted ranker or the path"):
        sr.Scorer(given)


def test_a_ranker_must_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        sr.Scorer(sr.LambdaMART())


@pytest.mark.parametrize("name", ["trees", "net", "trees of categories"])
def test_ranks_are_those_of_a_stable_sort(name: str) -> None:
    scorer = sr.Scorer(fitted(name))
    X = np.repeat(scorer.rows(documents(name))[:90], 2, axis=0)  # so that every score is tied
    order = np.argsort(-scorer.predict(X), kind="stable").tolist()
    for k in (1, 2, 10, 32, 33, 179, 180, 500):
        assert scorer.rank(X, k).tolist() == order[:k]
    assert scorer.rank(X).tolist() == order
    assert scorer.rank(X, 3).dtype == np.int64
    assert scorer.rank(X[0]).tolist() == [0]
    assert scorer.rank(X[:0]).tolist() == []


@pytest.mark.parametrize("k", [None, 3, 50])
def test_many_lists_are_ranked_one_by_one(scorer: sr.Scorer, k: int | None) -> None:
    X = documents("trees of missing values")[:100]
    indptr = [0, 40, 40, 41, 100]
    ranked = scorer.rank(X, k, indptr=indptr)
    expected = [a + scorer.rank(X[a:b], k) for a, b in zip(indptr[:-1], indptr[1:], strict=True)]
    assert [rows.tolist() for rows in ranked] == [rows.tolist() for rows in expected]


@pytest.mark.parametrize("indptr", [[], [0], [0, 2], [1, 4], [0, 3, 2, 4], [0, 5], [[0, 4]]])
def test_wrong_lists_are_an_error(scorer: sr.Scorer, indptr: Any) -> None:
    with pytest.raises(sr.errors.DataError, match="indptr must rise from 0 to 4"):
        scorer.rank(np.zeros((4, 5), np.float32), indptr=indptr)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
def test_a_wrong_k_is_an_error(scorer: sr.Scorer, k: Any) -> None:
    with pytest.raises(sr.errors.ParameterError, match="k must be a whole number from 1"):
        scorer.rank(np.zeros((4, 5), np.float32), k)


def test_rows_by_name_are_those_of_predict() -> None:
    test = data_with_categories()[2]
    frame = pd.DataFrame(test.features, columns=list(NAMES))
    for name in NAMES[3:]:
        texts = np.array(test.categories[name], dtype=object)
        codes = frame[name].to_numpy()
        frame[name] = [None if np.isnan(code) else texts[int(code)] for code in codes]
    ranker = fitted("trees of categories")
    scorer = sr.Scorer(ranker)
    expected = ranker.predict(frame)
    named = frame[list(NAMES[::-1])].to_dict("records")
    assert scorer.predict(scorer.rows(named)).tolist() == expected.tolist()
    assert scorer.predict(scorer.rows(frame)).tolist() == expected.tolist()
    assert [scorer.predict(scorer.row(each)) for each in named[:20]] == expected[:20].tolist()


def test_a_row_from_names() -> None:
    scorer = sr.Scorer(fitted("trees of categories"))
    assert scorer.feature_names == NAMES
    row = scorer.row({"age": np.float64(2.5), "bm25": 3, "clicks": "2", "price": None})
    np.testing.assert_array_equal(row, np.array([3, np.nan, 2.5, 2, np.nan], np.float32))
    # A category as a number is the same text; one that the ranker does not know is a missing value.
    for value, code in ((2, 2), (2.0, 2), (np.int64(2), 2), ("02", np.nan), (77, np.nan), (np.nan, np.nan)):
        np.testing.assert_array_equal(scorer.row({"clicks": value})[3], np.float32(code))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"titel match": 1}, "no feature 'titel match'; did you mean 'title match'"),
        ({3: 1}, "no feature '3'; known are age, bm25"),
        ({"age": "12"}, "feature 'age': '12' is not a number"),
        ({"age": [1]}, "is not a number"),
        ({"age": True}, "feature 'age': True is not a number"),
        ({"clicks": 1.5}, "feature 'clicks': 1.5 is not a category"),
        ({"clicks": [1]}, "feature 'clicks'"),
    ],
)
def test_a_row_from_wrong_names_or_values_is_an_error(document: dict[Any, Any], said: str) -> None:
    with pytest.raises(sr.errors.DataError, match=said):
        sr.Scorer(fitted("trees of categories")).row(document)


@pytest.mark.parametrize("value", [1e300, 10**400])
def test_a_value_too_large_is_named_when_it_is_scored(scorer: sr.Scorer, value: float) -> None:
    with pytest.raises(sr.errors.DataError, match="feature 'age': inf is not finite in single precision"):
        scorer.predict(scorer.row({"age": value}))


def test_a_later_fit_does_not_change_the_scorer() -> None:
    train, vali, test = data()
    ranker = sr.LinearRegressionRanker().fit(train)
    scorer = sr.Scorer(ranker)
    before = scorer.predict(test.features).tolist()
    ranker.fit(vali)
    assert ranker.predict(test).tolist() != before
    assert scorer.predict(test.features).tolist() == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_scorer_survives_a_fork(tmp_path: Path, scorer: sr.Scorer) -> None:
    path = tmp_path / "model.swaprank"
    scorer.ranker.save(path)
    # A process of its own: that of the tests may have threads.
    program = """
import os, sys, numpy as np, swaprank as sr
scorer = sr.Scorer(sys.argv[1])
X = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
expected = scorer.predict(X).tolist()
child = os.fork()
same = scorer.predict(X).tolist() == expected and scorer.predict(X[0]) == expected[0]
if child == 0:
    os._exit(0 if same else 1)
assert same and os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
