"""Features are matched by name wherever both sides have names: in any order, and among other columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import swaprank as sr
from swaprank.arrays import Floats, Ints

TRAIN, TEST = sr.datasets.random_net((40, 30), n_features=5, random_state=0)
NAMES = ["bm25", "age", "clicks", "price", "length"]
OTHER_ORDER = ["price", "age", "length", "bm25", "clicks"]


def qids(data: sr.Dataset) -> Ints:
    return np.repeat(data.qids, np.diff(data.indptr))


def frame(data: sr.Dataset, columns: list[str] = NAMES) -> pd.DataFrame:
    return pd.DataFrame(data.features, columns=NAMES)[columns]


def named(data: sr.Dataset, columns: list[str] = NAMES) -> sr.Dataset:
    return sr.Dataset(frame(data, columns), data.labels, qid=qids(data))


def mart(n_trees: int = 10, **parameters: Any) -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=n_trees, n_leaves=7, **parameters)


@cache
def fitted() -> sr.LambdaMART:
    return mart().fit(named(TRAIN))


@cache
def scores_of_test() -> Floats:
    return fitted().predict(named(TEST))


TABLES: list[Callable[[pd.DataFrame], Any]] = [lambda f: f, pl.from_pandas, pa.Table.from_pandas]


@pytest.mark.parametrize("table", TABLES, ids=["pandas", "polars", "arrow"])
def test_columns_of_a_table_are_matched_by_name(table: Callable[[pd.DataFrame], Any]) -> None:
    others = frame(TEST, OTHER_ORDER).assign(title="text", label=TEST.labels)
    np.testing.assert_array_equal(fitted().predict(table(others)), scores_of_test())
    np.testing.assert_array_equal(
        fitted().contributions(table(frame(TEST, OTHER_ORDER))), fitted().contributions(named(TEST))
    )
    assert fitted().score(table(others), TEST.labels, qid=qids(TEST)) == fitted().score(named(TEST))


def test_a_data_set_in_another_order_has_the_same_scores() -> None:
    other = named(TEST, OTHER_ORDER)
    np.testing.assert_array_equal(fitted().predict(other), scores_of_test())
    np.testing.assert_array_equal(fitted().predict(other, n_trees=3), fitted().predict(named(TEST), n_trees=3))
    for (_, of_other), (_, expected) in zip(
        fitted().staged_predict(other), fitted().staged_predict(named(TEST)), strict=True
    ):
        np.testing.assert_array_equal(of_other, expected)
    assert fitted().permutation_importances(other) == fitted().permutation_importances(named(TEST))
    assert fitted().matched(other).feature_names == tuple(NAMES)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"clicks": "click"}, "X has no feature 'clicks', which LambdaMART has; did you mean 'click'?"),
        ({"clicks": "zzz", "age": "yyy"}, "X has no feature 'age', and 1 more, which LambdaMART has; known are bm25, "),
    ],
)
def test_a_missing_column_is_named(columns: dict[str, str], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message.replace("?", r"\?")):
        fitted().predict(frame(TEST).rename(columns=columns))


def test_arrays_have_no_names_and_are_taken_in_order() -> None:
    np.testing.assert_array_equal(fitted().predict(TEST.features), scores_of_test())
    np.testing.assert_array_equal(fitted().predict(TEST), scores_of_test())
    with pytest.raises(sr.errors.DataError, match="X has 4 features, but LambdaMART is expecting 5 features as input"):
        fitted().predict(TEST.features[:, :4])
    with pytest.raises(sr.errors.DataError, match="the data has 4 features, but LambdaMART is expecting 5"):
        fitted().predict(sr.Dataset(TEST.features[:, :4], TEST.labels, qid=qids(TEST)))
    by_numbers = mart().fit(TRAIN)
    np.testing.assert_array_equal(by_numbers.predict(frame(TEST)), by_numbers.predict(TEST))
    numbered = frame(TEST).set_axis(list("12345"), axis=1)
    np.testing.assert_array_equal(by_numbers.predict(numbered[list("53124")]), by_numbers.predict(TEST))


def test_validation_sets_are_matched_by_name() -> None:
    expected = mart().fit(named(TRAIN), valid=named(TEST)).history_
    assert mart().fit(named(TRAIN), valid=named(TEST, OTHER_ORDER)).history_ == expected
    others = frame(TEST, OTHER_ORDER).assign(title="text")
    assert mart().fit(named(TRAIN), valid=(others, TEST.labels, qids(TEST))).history_ == expected
    with pytest.raises(sr.errors.DataError, match="the set 'valid' has no feature 'age', which the training data has"):
        mart().fit(named(TRAIN), valid=named(TEST, ["bm25", "clicks", "price", "length"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker", [mart(5), sr.LambdaRank(n_epochs=2, standardize=False), sr.SmoothRank(annealing=(1.0,))]
)
def test_training_continues_with_the_features_of_the_base_ranker(ranker: Any) -> None:
    base = type(ranker)(**ranker.get_params()).fit(named(TRAIN))
    expected = ranker.fit(named(TEST), base_ranker=base).predict(named(TRAIN))
    other = ranker.fit(named(TEST, OTHER_ORDER), base_ranker=base)
    np.testing.assert_array_equal(other.predict(named(TRAIN)), expected)
    assert other.feature_names_in_.tolist() == NAMES


def test_a_feature_that_the_base_ranker_does_not_know_is_ignored_with_a_warning() -> None:
    more = sr.Dataset(frame(TRAIN).assign(new=1.0), TRAIN.labels, qid=qids(TRAIN))
    with pytest.warns(UserWarning, match="the base ranker does not know 'new': training continues without"):
        continued = mart(3).fit(more, base_ranker=fitted())
    np.testing.assert_array_equal(
        continued.predict(named(TEST)), mart(3, base_ranker=fitted()).fit(named(TRAIN)).predict(TEST)
    )


def test_members_of_an_ensemble_may_have_other_features(tmp_path: Path) -> None:
    few = ["clicks", "age"]
    shuffled, small = mart().fit(named(TRAIN, OTHER_ORDER)), sr.MART(n_trees=5).fit(named(TRAIN, few))
    both = sr.combine(shuffled, small, named(TEST))
    for ensemble in (both, sr.stack([fitted(), shuffled, small], named(TEST), n_epochs=2)):
        scores = ensemble.predict(named(TEST))
        np.testing.assert_array_equal(ensemble.predict(frame(TEST, OTHER_ORDER).assign(title="text")), scores)
        ensemble.save(tmp_path / "model.swaprank")
        np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(frame(TEST)), scores)
    a, b = shuffled.predict(named(TEST)), small.predict(named(TEST))
    assert both.value_ >= max(sr.evaluate(TEST, each, "ndcg@10").results[0].mean for each in (a, b))


@pytest.mark.slow
def test_instruments_and_reports_match_by_name() -> None:
    (train,) = sr.datasets.random_net((20,), n_features=5, n_documents=8, random_state=0)
    ranker = sr.LambdaRank(n_epochs=2).fit(named(train))
    other = named(train, OTHER_ORDER)
    assert str(sr.certify(ranker, other)) == str(sr.certify(ranker, named(train)))
    query = train.qids[0]
    assert str(sr.explain_query(ranker, other, query)) == str(sr.explain_query(ranker, named(train), query))
    assert sr.report(ranker, other).html == sr.report(ranker, named(train)).html


def test_a_loaded_model_matches_by_name(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(
        sr.load(tmp_path / "model.swaprank").predict(frame(TEST, OTHER_ORDER)), scores_of_test()
    )


def test_a_record_batch_of_arrow_has_names() -> None:
    (batch,) = pa.Table.from_pandas(frame(TEST, OTHER_ORDER)).to_batches()
    np.testing.assert_array_equal(fitted().predict(batch), scores_of_test())


def test_columns_that_pandas_numbers_from_0() -> None:
    by_numbers, numbered = mart().fit(TRAIN), pd.DataFrame(TEST.features)
    np.testing.assert_array_equal(by_numbers.predict(numbered[[3, 1, 4, 0, 2]]), by_numbers.predict(TEST))
    with pytest.raises(sr.errors.DataError, match="X has 6 features, but LambdaMART is expecting 5 features as input"):
        by_numbers.predict(numbered.assign(**{"5": 1.0}).set_axis(range(6), axis=1))


def test_names_are_kept_when_training_goes_on_with_an_array() -> None:
    continued = mart(3).fit(TRAIN, base_ranker=fitted())
    both = sr.combine(fitted(), sr.MART(n_trees=3).fit(named(TRAIN)), TEST)
    for ranker in (continued, both):
        assert ranker.feature_names_in_.tolist() == NAMES
        np.testing.assert_array_equal(ranker.predict(frame(TEST, OTHER_ORDER)), ranker.predict(frame(TEST)))


def test_a_column_without_values_is_missing() -> None:
    expected = fitted().predict(frame(TEST).assign(age=np.nan))
    np.testing.assert_array_equal(fitted().predict(frame(TEST).assign(age=None)), expected)
    one = pd.DataFrame([{**frame(TEST).iloc[0], "age": None}])
    np.testing.assert_array_equal(fitted().predict(one), expected[:1])
    mixed = frame(TEST).astype({"age": object})
    mixed.loc[0, "age"] = None
    known = frame(TEST).assign(age=np.r_[np.nan, frame(TEST)["age"].to_numpy()[1:]])
    np.testing.assert_array_equal(fitted().predict(mixed), fitted().predict(known))
    mixed.loc[1, "age"] = "old"
    with pytest.raises(sr.errors.DataError, match="column 'age' holds"):
        fitted().predict(mixed)
    null = pl.from_pandas(frame(TEST)).with_columns(pl.lit(None).alias("age"))
    np.testing.assert_array_equal(fitted().predict(null), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda X: fitted().permutation_importances(X),
        lambda X: sr.certify(fitted(), X),
        lambda X: sr.explain_query(fitted(), X, 1),
    ],
)
def test_a_table_without_labels_is_no_data_set(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        sr.errors.DataError, match=r"expected a Dataset, such as sr.Dataset\(X, y, qid=qid\); found DataFrame"
    ):
        call(frame(TEST))
