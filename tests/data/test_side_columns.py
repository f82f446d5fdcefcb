"""Side columns: they travel with the rows, and metrics, weights and rankings name them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.data.grouping import query_of_row
from swaprank.data.side_columns import MISSING, joined_values
from swaprank.evaluation.given_scores import scores_of
from swaprank.files import existing_file
from tests.command_line import here


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 400
    qid = rng.permutation(np.repeat(np.arange(40), 10))
    device = np.array(["phone", "desktop", "tablet"])[qid % 3]
    return pd.DataFrame(
        {
            "qid": qid,
            "label": rng.integers(0, 3, n),
            "a": rng.standard_normal(n),
            "b": rng.standard_normal(n),
            "device": device,
            "price": rng.gamma(2.0, 10.0, n),
            "stock": rng.integers(0, 5, n),
            "seen": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 100, n), unit="D"),
            "traffic": 1.0 + qid % 7,
        }
    )


COLUMNS = ["device", "price", "stock", "seen", "traffic"]


def assert_beside_their_rows(data: sr.Dataset, frame: pd.DataFrame) -> None:
    """Every row has the side values of the row of the table that has the same feature a."""
    values = data.column("a") if not data.is_binned else None
    order = np.arange(len(data)) if values is None else np.argsort(values)
    expected = frame if values is None else frame.iloc[np.argsort(frame["a"].to_numpy(np.float32))]
    assert set(data.columns) == set(COLUMNS)
    for name in COLUMNS:
        assert (data.columns[name][order] == expected[name].to_numpy()).all(), name


def test_columns_travel_through_every_variant(frame: pd.DataFrame) -> None:
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    assert data.feature_names == ("a", "b")
    assert repr(data).endswith("columns device, price, stock, seen, traffic)")
    assert_beside_their_rows(data, frame)
    chosen = [1, 5, 7, 30]
    part = data.subset(chosen)
    rows = np.isin(query_of_row(data.indptr, data.order), chosen)
    assert_beside_their_rows(part, frame[rows])
    assert sum(len(each) for each in data.split((0.5, 0.5), random_state=0)) == len(data)
    assert_beside_their_rows(data.replace(labels=np.zeros(len(data))), frame)
    assert_beside_their_rows(data.with_features(["a"]), frame)
    assert data.replace(columns=None).columns == {}
    with pytest.raises(ValueError, match="read-only"):
        data.columns["price"][0] = 1.0


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_columns_are_read_from_tables(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"data{suffix}"
    frame = frame.drop(columns="seen") if suffix == ".csv" else frame
    frame.to_csv(file, index=False) if suffix == ".csv" else frame.to_parquet(file)
    names = [name for name in COLUMNS if name in frame]
    data = sr.read(file, columns=names)
    assert data.feature_names == ("a", "b")
    for name in names:
        assert (data.columns[name] == frame[name].to_numpy()).all(), name


def test_columns_of_bins_are_saved_and_mapped(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame = frame.sort_values("qid", kind="stable")
    file = tmp_path / "data.parquet"
    frame.to_parquet(file, index=False)
    binned = sr.read(file, columns=COLUMNS, binned=True)
    assert_beside_their_rows(binned, frame)
    binned.save_bins(tmp_path / "data.bins")
    again = sr.read(existing_file(tmp_path / "data.bins"))
    assert_beside_their_rows(again, frame)
    assert again.columns["seen"].dtype.kind == "M"
    assert_beside_their_rows(sr.Dataset.from_frame(frame, columns=COLUMNS).binned(), frame)


def test_one_value_per_query(frame: pd.DataFrame) -> None:
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    devices = np.array(["phone", "desktop", "tablet"])
    assert (data.of_queries("device") == devices[data.qids % 3]).all()
    with pytest.raises(sr.errors.DataError, match=r"query .* has two values of 'price'"):
        data.of_queries("price")
    with pytest.raises(sr.errors.DataError, match=r"no side column 'devise'; did you mean 'device'"):
        data.of_queries("devise")


def test_query_weights_by_name_are_those_by_value(frame: pd.DataFrame) -> None:
    named = sr.Dataset.from_frame(frame, columns=COLUMNS, query_weight="traffic")
    assert named.sample_weight is not None
    assert (named.sample_weight == frame["traffic"]).all()


def test_fit_takes_the_name_of_query_weights(frame: pd.DataFrame) -> None:
    table = frame[["qid", "label", "a", "b", "traffic"]]
    named = sr.LambdaMART(n_trees=3, random_state=0).fit(table, "label", qid="qid", query_weight="traffic")
    data = sr.Dataset.from_frame(table, query_weight="traffic")
    assert (named.predict(data) == sr.LambdaMART(n_trees=3, random_state=0).fit(data).predict(data)).all()
    unweighted = sr.Dataset.from_frame(table, columns=["traffic"])
    of_column = sr.LambdaMART(n_trees=3, random_state=0).fit(unweighted, query_weight="traffic")
    assert (named.predict(data) == of_column.predict(data)).all()
    assert (sr.LambdaMART(n_trees=3, random_state=0).fit(unweighted).predict(data) != of_column.predict(data)).any()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, 2.0]}, "'a' is the name of a feature and of a side column"),
        ({"x": [1.0]}, "column 'x' must have one value for each of the 2 rows"),
        ({"x": [{}, {}]}, "must hold numbers, dates or text"),
        ({1: [1, 2]}, "the name of a column must be text"),
        ([1, 2], "columns must be given by name"),
    ],
)
def test_bad_columns_are_named(columns: object, message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1], feature_names=["a"], columns=columns)  # type: ignore[arg-type]


def test_gains_of_a_column_are_labels_with_linear_gains(frame: pd.DataFrame) -> None:
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    by_price = data.replace(labels=data.columns["price"])
    for name in ("ndcg@5", "dcg@3", "ndcg"):
        stem, _, cut = name.partition("@")
        named = f"{stem}{'@' + cut if cut else ''}(gain=price)"
        ours = sr.evaluate(data, "a", named).results[0].per_query
        expected = sr.evaluate(by_price, "a", f"{name}(gain=linear)").results[0].per_query
        assert (ours == expected).all()
    assert str(sr.metric("ndcg@5(gain=price)")) == "ndcg@5(gain=price)"
    assert "gains of the column 'price'" in sr.metric("ndcg@5(gain=price)").describe()


def test_training_for_a_column_is_training_on_it(frame: pd.DataFrame) -> None:
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    by_price = data.replace(labels=data.columns["price"])
    ours = sr.LambdaMART("ndcg@5(gain=price)", n_trees=5, random_state=0).fit(data, valid=data)
    expected = sr.LambdaMART("ndcg@5(gain=linear)", n_trees=5, random_state=0).fit(by_price, valid=by_price)
    assert (ours.predict(data) == expected.predict(data)).all()
    assert ours.score(data) == expected.score(by_price)


def test_an_unknown_gain_is_named_where_the_data_is_known() -> None:
    data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1], columns={"revenue": [1.0, 2.0]})
    with pytest.raises(sr.errors.MetricError, match=r"neither a gain nor a side column of the data; did you mean 'rev"):
        sr.evaluate(data, [1, 2], "ndcg@5(gain=revenu)")
    with pytest.raises(sr.errors.MetricError, match="neither a gain nor a side column"):
        sr.metric("ndcg(gain=revenue)").mean([0, 1], [1, 2], [0, 2])


def test_rankers_columns_and_scores_are_the_same_ranking(frame: pd.DataFrame) -> None:
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    ranker = sr.LinearRegressionRanker().fit(data)
    scores = ranker.predict(data)
    assert (scores_of(data, ranker) == scores).all()
    found = sr.compare(data, {"new": ranker, "given": scores, "old": "price", "cheap": "-price", "a": "a"}, "ndcg@5")
    assert found.evaluations["new"]["ndcg@5"].mean == found.evaluations["given"]["ndcg@5"].mean
    expected = sr.evaluate(data, -data.columns["price"], "ndcg@5")["ndcg@5"].mean
    assert found.evaluations["cheap"]["ndcg@5"].mean == expected
    with pytest.raises(sr.errors.DataError, match=r"no column or feature 'prize' to rank by; did you mean 'price'"):
        sr.evaluate(data, "prize", "map")
    with pytest.raises(sr.errors.DataError, match="'device' holds no numbers"):
        sr.evaluate(data, "device", "map")


def test_models_of_scikit_learn_are_rankings(frame: pd.DataFrame) -> None:
    from sklearn.linear_model import LinearRegression

    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    model = LinearRegression().fit(data.features, data.labels)
    assert (
        sr.evaluate(data, model, "map")["map"].mean
        == sr.evaluate(data, model.predict(data.features), "map")["map"].mean
    )


def test_the_command_line_compares_a_model_with_a_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    file, model = tmp_path / "data.parquet", tmp_path / "model.swaprank"
    frame.to_parquet(file, index=False)
    data = sr.Dataset.from_frame(frame, columns=COLUMNS)
    sr.LinearRegressionRanker().fit(data).save(model)
    # Feature "a" of the model, and a column that it does not have.
    for column in ("a", "price"):
        ended = here("compare", file, f"new={model}", f"old={column}", "-m", "ndcg@5", "--json", folder=tmp_path)
        expected = sr.compare(data, {"new": sr.load(model), "old": column}, "ndcg@5")
        assert json.loads(ended.out)["differences"][0]["difference"] == expected.differences[0].difference
    wrong = here("evaluate", file, "prize", "-m", "map", folder=tmp_path)
    assert wrong.code != 0
    assert "'prize'" in wrong.err


def test_numbers_stay_numbers_beside_a_block_without_any() -> None:
    missing = np.array([MISSING, MISSING])
    np.testing.assert_array_equal(joined_values([np.array([1.5]), missing]), [1.5, np.nan, np.nan])
    assert joined_values([np.array([1.5]), np.array([MISSING, "x"])]).tolist() == ["1.5", MISSING, "x"]
    assert joined_values([missing, missing]).tolist() == [MISSING] * 4
