"""Dask arrays, series and frames that are given apart, as for LightGBM's and XGBoost's rankers for Dask."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import swaprank as sr
from swaprank.rankers.ranker import Ranker

SIZES = ((6, 0, 4), (5, 5), (10,))
"""Groups of each partition; one is empty."""
ROWS = tuple(sum(each) for each in SIZES)


def some_rows(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(0, 3, 30)
    return {"X": X, "y": y, "weight": rng.random(30), "base": rng.random(30), "id": rng.permutation(30)}


GROUP = [size for each in SIZES for size in each]
QID = np.repeat(np.arange(len(GROUP)), GROUP)


def array(values: Any) -> Any:
    return da.from_array(values, chunks=(ROWS, 2) if values.ndim == 2 else (ROWS,))


def groups() -> Any:
    return da.from_array(np.array(GROUP), chunks=(tuple(map(len, SIZES)),))


def computed(parts: sr.Parts) -> list[sr.Dataset]:
    return list(dask.compute(*(part.value for part in parts.parts), scheduler="synchronous"))


def test_arrays_are_the_rows_of_one_data_set() -> None:
    rows = some_rows()
    whole = sr.Dataset(rows["X"], rows["y"], group=GROUP, sample_weight=rows["weight"], docid=rows["id"])
    parts = sr.Parts.from_arrays(
        array(rows["X"]), array(rows["y"]), group=groups(), sample_weight=array(rows["weight"]), docid=array(rows["id"])
    )
    found = computed(parts)
    assert [len(each) for each in found] == list(ROWS)
    assert np.concatenate([each.qids for each in found]).tolist() == whole.qids.tolist()
    for name in ("features", "labels", "sample_weight", "docid"):
        joined = np.concatenate([getattr(each, name) for each in found])
        assert (joined == getattr(whole, name)).all()


def test_series_and_names_of_columns() -> None:
    rows = some_rows()
    frame = pd.DataFrame(rows["X"], columns=["a", "b", "c"]).assign(label=rows["y"], query=QID, weight=rows["weight"])
    parts = dd.from_pandas(frame, npartitions=1).repartition(divisions=[0, 10, 20, 29])
    found = [
        sr.Parts.from_arrays(parts[["a", "b", "c"]], parts.label, qid=parts["query"], sample_weight=parts["weight"]),
        sr.Parts.from_arrays(parts, "label", qid="query", sample_weight="weight"),
        sr.Parts.from_frame(parts, "label", "query", sample_weight="weight"),
    ]
    for each in zip(*map(computed, found), strict=True):
        assert len({(str(part.feature_names), part.features.tobytes(), part.labels.tobytes()) for part in each}) == 1
        assert len({tuple(part.qids.tolist()) for part in each}) == 1


def test_partitions_that_do_not_fit() -> None:
    rows = some_rows()
    X, y, qid = array(rows["X"]), array(rows["y"]), array(QID)
    with pytest.raises(sr.errors.DataError, match=r"y must be a Dask array or series with .* found ndarray"):
        sr.Parts.from_arrays(X, rows["y"], qid=qid)
    with pytest.raises(sr.errors.DataError, match="qid has 1 partitions, but the features have 3"):
        sr.Parts.from_arrays(X, y, qid=da.from_array(QID, chunks=30))
    with pytest.raises(
        sr.errors.DataError, match=r"partition 1 of y has 5 rows, but that of the features has 10: .*y.rechunk\("
    ):
        sr.Parts.from_arrays(X, da.from_array(rows["y"], chunks=((10, 5, 15),)), qid=qid)
    with pytest.raises(sr.errors.DataError, match="partition 0: the sizes in group sum to 6, but X has 10 rows"):
        computed(sr.Parts.from_arrays(X, y, group=da.from_array(np.array(GROUP), chunks=((2, 2, 2),))))
    with pytest.raises(sr.errors.DataError, match="give the labels and qid or group"):
        sr.LambdaMART().fit(X, y)
    with pytest.raises(sr.errors.ArgumentError, match="query_weight cannot be given for Dask arrays"):
        sr.LambdaMART().fit(X, y, qid=qid, query_weight=y)


def test_the_index_of_a_table_may_be_the_query_id() -> None:
    rows = some_rows()
    frame = pd.DataFrame(rows["X"], columns=["a", "b", "c"]).assign(label=rows["y"], qid=QID)
    indexed, expected = frame.set_index("qid"), sr.Dataset.from_frame(frame)
    for found in (sr.Dataset.from_frame(indexed), sr.Dataset.from_frame(frame.set_index(["label", "qid"]))):
        assert found.feature_names == ("a", "b", "c")
        assert (found.labels == expected.labels).all()
        assert (found.qids == expected.qids).all()
    assert list(indexed.columns) == ["a", "b", "c", "label"]
    fitted = sr.MART(n_trees=2).fit(indexed, "label", qid="qid")
    assert (fitted.predict(indexed) == sr.MART(n_trees=2).fit(expected).predict(expected)).all()
    parts = sr.Parts.from_frame(dd.from_pandas(frame, npartitions=2).set_index("qid"))
    assert sum(len(each) for each in computed(parts)) == 30


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def saved(ranker: Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


@pytest.mark.slow
@pytest.mark.cluster
def test_the_calls_of_other_libraries_train_the_model_of_one_process(client: Client, tmp_path: Path) -> None:
    rows, others = some_rows(), some_rows(1)
    ranker = sr.LambdaMART("ndcg@10", n_leaves=5, n_trees=6, min_docs_in_leaf=2)
    expected = saved(
        ranker.fit(
            rows["X"],
            rows["y"],
            group=GROUP,
            sample_weight=rows["weight"],
            eval_set=[(others["X"], others["y"])],
            eval_group=[GROUP],
        ),
        tmp_path,
    )
    X, y, weight = array(rows["X"]), array(rows["y"]), array(rows["weight"])
    as_lightgbm = ranker.fit(
        X,
        y,
        group=groups(),
        sample_weight=weight,
        eval_set=[(array(others["X"]), array(others["y"]))],
        eval_group=[groups()],
    )
    assert saved(as_lightgbm, tmp_path) == expected
    scores: Any = as_lightgbm.predict(X)
    assert (scores.compute() == as_lightgbm.predict(rows["X"])).all()

    names = ["a", "b", "c"]
    tables = [pd.DataFrame(each["X"], columns=names).assign(label=each["y"], qid=QID) for each in (rows, others)]
    train, vali = (dd.from_pandas(each, npartitions=1).repartition(divisions=[0, 10, 20, 29]) for each in tables)
    expected = saved(ranker.fit(tables[0], "label", qid="qid", valid=tables[1]), tmp_path)
    as_xgboost = ranker.fit(
        train[names], train.label, qid=train.qid, eval_set=[(vali[names], vali.label)], eval_qid=[vali.qid]
    )
    history = as_xgboost.history_["valid_0"]
    for valid in ((vali[names], vali.label, vali.qid), vali, tables[1]):
        assert saved(ranker.fit(train[names], train.label, qid=train.qid, valid=valid), tmp_path) == expected
    assert ranker.history_["valid"] == history
    by_index = ranker.fit(train.set_index("qid"), valid=vali.set_index("qid"))
    assert saved(by_index, tmp_path) == expected
    parts = sr.Parts.from_arrays(train[names], train.label, qid=train.qid)
    measured = sr.evaluate(parts, ranker, ["ndcg@10"])["ndcg@10"].mean
    assert measured == sr.evaluate(sr.Dataset.from_frame(tables[0]), ranker, ["ndcg@10"])["ndcg@10"].mean


@pytest.mark.slow
@pytest.mark.cluster
def test_a_query_in_two_partitions_is_named(client: Client) -> None:
    rows = some_rows()
    with pytest.raises(sr.errors.DataError, match=r"the query '0' is in two parts, partition [01] and partition [01]"):
        sr.MART(n_trees=2).fit(array(rows["X"]), array(rows["y"]), qid=array(np.sort(QID % 4)))
