"""Training on the processes of a Dask cluster: the model of one process, byte for byte."""

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, cast

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import swaprank as sr
from swaprank.cluster import Dask
from swaprank.cluster.dask_supervisor import heartbeats
from swaprank.rankers.ranker import Ranker

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def frame(n_queries: int, seed: int, first: int = 0) -> pd.DataFrame:
    """Missing values, categories, weights."""
    (data,) = sr.datasets.random_search((n_queries,), n_documents=20, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.array(data.features, np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    brands = np.array(["nike", "asics", "puma", "7", None], dtype=object)
    return pd.DataFrame(X, columns=list(data.feature_names)).assign(
        brand=brands[rng.integers(0, 5, len(X))],
        qid=np.repeat(np.arange(first, first + n_queries), 20),
        label=data.labels,
        weight=rng.uniform(0.1, 1, len(X)),
    )


TRAIN, VALI = frame(40, 0), frame(12, 1, 1000)


def dataset(of: pd.DataFrame) -> sr.Dataset:
    return sr.Dataset.from_frame(of, sample_weight="weight")


def parts_of(of: pd.DataFrame, n_parts: int) -> list[pd.DataFrame]:
    return [of[of.qid % n_parts == number] for number in range(n_parts)]


def gain(labels: Any) -> float:
    total = 0.0
    for rank in range(len(labels)):
        total += labels[rank] / (rank + 2.0) ** 2
    return total


RANKERS: dict[str, Callable[[], Ranker]] = {
    "ndcg@10": lambda: sr.LambdaMART("ndcg@10", n_trees=4, n_leaves=7),
    "map": lambda: sr.LambdaMART("map", n_trees=4, n_leaves=7, document_fraction=0.5, random_state=3),
    "own metric": lambda: sr.LambdaMART(sr.metrics.CustomMetric(evaluate=gain, name="gain"), n_trees=3, n_leaves=7),
    "MART": lambda: sr.MART(objective="squared", n_trees=30, n_leaves=7, early_stopping_rounds=3),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def on_workers(client: Client, frames: Sequence[pd.DataFrame], n_workers: int) -> sr.Parts:
    """Parts that are in the memory of as many workers."""
    workers = sorted(heartbeats(client))
    return sr.Parts(
        [client.scatter(dataset(each), workers=[workers[n % n_workers]], hash=False) for n, each in enumerate(frames)]
    )


def saved(ranker: Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


@pytest.mark.parametrize("name", RANKERS)
def test_any_number_of_workers_trains_the_model_of_one_process(name: str, client: Client, tmp_path: Path) -> None:
    expected = saved(RANKERS[name]().fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    for n_workers in (1, 2, 3, 4):
        train, vali = on_workers(client, parts_of(TRAIN, 5), n_workers), on_workers(client, parts_of(VALI, 3), 4)
        assert saved(RANKERS[name]().fit(train, valid=vali), tmp_path) == expected


def test_data_frames_files_and_delayed_values_are_the_same_data(client: Client, tmp_path: Path) -> None:
    expected = saved(RANKERS["ndcg@10"]().fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    by_query = dd.from_pandas(TRAIN.sort_values("qid"), npartitions=1).repartition(npartitions=1)
    partitions = dd.from_delayed([dask.delayed(each) for each in [*parts_of(TRAIN, 3), TRAIN[:0]]], meta=TRAIN[:0])
    (parts := tmp_path / "parts").mkdir()
    for number, each in enumerate(parts_of(TRAIN, 3)):
        each.to_parquet(parts / f"part-{number}.parquet", index=False)
    delayed = [dask.delayed(dataset)(each) for each in parts_of(TRAIN, 3)]
    cases: list[tuple[Any, dict[str, Any]]] = [
        (by_query, {"sample_weight": "weight"}),
        (partitions, {"sample_weight": "weight"}),
        (sr.Parts.read(parts, sample_weight="weight"), {}),
        (delayed, {}),
    ]
    for data, names in cases:
        fitted = RANKERS["ndcg@10"]().fit(data, valid=dataset(VALI), **names)
        assert saved(fitted, tmp_path) == expected


def test_columns_are_named_as_for_a_table_in_memory(client: Client, tmp_path: Path) -> None:
    names = {"label": "clicked", "qid": "query"}
    train, vali = TRAIN.rename(columns=names), VALI.rename(columns=names)
    by_name: dict[str, Any] = {"y": "clicked", "qid": "query", "sample_weight": "weight"}
    expected = saved(RANKERS["MART"]().fit(train, **by_name, valid=vali), tmp_path)
    assert expected == saved(RANKERS["MART"]().fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    parts = dd.from_delayed([dask.delayed(each) for each in parts_of(TRAIN, 3)], meta=TRAIN[:0]).rename(columns=names)
    unweighted = vali.drop(columns="weight")
    frame = dd.from_pandas(unweighted, npartitions=1)
    for valid in (
        vali,
        dd.from_pandas(vali, npartitions=1),
        (unweighted, "clicked", "query"),
        (frame, "clicked", "query"),
    ):
        assert saved(RANKERS["MART"]().fit(parts, **by_name, valid=valid), tmp_path) == expected
    X, y = unweighted.drop(columns=["clicked", "query"]), vali.clicked
    pairs = RANKERS["MART"]().fit(parts, **by_name, eval_set=[(X, y)], eval_qid=[vali["query"]])
    history = RANKERS["MART"]().fit(train, **by_name, valid=vali).history_["valid"]
    assert pairs.history_ == {"valid_0": history}


def test_with_document_ids_no_order_of_rows_matters(client: Client, tmp_path: Path) -> None:
    named = TRAIN.assign(product=[f"p{row}" for row in range(len(TRAIN))])
    names: dict[str, Any] = {"docid": "product", "sample_weight": "weight"}
    models = set()
    for seed in range(2):
        shuffled = named.sample(frac=1, random_state=seed)
        parts = dd.from_delayed([dask.delayed(each) for each in parts_of(shuffled, 3)], meta=named[:0])
        models |= {saved(RANKERS["map"]().fit(table, **names), tmp_path) for table in (shuffled, parts)}
        models.add(saved(RANKERS["map"]().fit(sr.Parts.from_frame(parts, **names)), tmp_path))
    assert len(models) == 1


def test_a_base_ranker_and_other_metrics_are_as_on_one_machine(client: Client, tmp_path: Path) -> None:
    base = sr.MART(n_trees=2, n_leaves=5).fit(dataset(frame(10, 7)[["match", "brand", "qid", "label", "weight"]]))
    train, vali = dataset(TRAIN[["match", "brand", "qid", "label", "weight"]]), dataset(VALI)
    expected = RANKERS["ndcg@10"]().fit(
        train, valid={"one": vali, "two": train}, metrics=["err", "map"], base_ranker=base
    )
    parts = sr.Parts([train.subset(slice(n, None, 2)) for n in range(2)])
    fitted = RANKERS["ndcg@10"]().fit(
        parts, valid={"one": vali, "two": parts}, metrics=["err", "map"], base_ranker=base
    )
    assert fitted.history_ == expected.history_
    assert saved(fitted, tmp_path) == saved(expected, tmp_path)


def test_callbacks_run_here_and_stop_all_workers(client: Client) -> None:
    seen: list[sr.rankers.Progress] = []

    def stop(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 3

    ranker = sr.LambdaMART(n_trees=50, n_leaves=5)
    ranker.fit(on_workers(client, parts_of(TRAIN, 3), 3), valid=dataset(VALI), callbacks=[stop])
    assert [progress.round for progress in seen] == [1, 2, 3]
    assert ranker.n_rounds_ == 3
    assert ranker.history_["valid"]["ndcg@10"] == [progress.measured["valid"]["ndcg@10"] for progress in seen]
    assert not ranker.interrupted_


def test_progress_is_shown_here(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    parts = on_workers(client, parts_of(TRAIN, 2), 2)
    sr.MART(n_trees=4, n_leaves=4).fit(parts, valid=dataset(VALI), verbose=2)
    shown = capsys.readouterr().err.splitlines()
    assert [line[:11] for line in shown] == ["tree 2 of 4", "tree 4 of 4"]


def test_ctrl_c_keeps_the_rounds_that_were_finished(client: Client) -> None:
    def press_ctrl_c(progress: sr.rankers.Progress) -> None:
        if progress.round == 3:
            raise KeyboardInterrupt

    parts = on_workers(client, parts_of(TRAIN, 3), 3)
    with pytest.raises(sr.errors.Interrupted) as stopped:
        sr.MART(n_trees=1000, n_leaves=4).fit(parts, callbacks=[press_ctrl_c])
    assert stopped.value.result.interrupted_
    assert stopped.value.result.n_rounds_ == 3


def test_an_error_of_a_callback_ends_training_and_the_cluster_trains_again(client: Client) -> None:
    def fail(progress: sr.rankers.Progress) -> None:
        raise ValueError("bad luck")

    parts = on_workers(client, parts_of(TRAIN, 3), 3)
    with pytest.raises(ValueError, match="bad luck"):
        sr.MART(n_trees=1000, n_leaves=4).fit(parts, callbacks=[fail])
    assert sr.MART(n_trees=2, n_leaves=4).fit(parts).n_rounds_ == 2


def test_nothing_of_a_turn_stays_in_the_client(client: Client) -> None:
    def running() -> int:
        found = [each for each in gc.get_objects() if type(each).__name__ == "Semaphore"]
        return sum(each.refresh_callback.is_running() for each in found if hasattr(each, "refresh_callback"))

    before = running()
    with Dask(client).turn():
        assert running() == before + 1
    end = monotonic() + 10
    while running() > before and monotonic() < end:
        sleep(0.05)
    assert running() == before


def test_a_checkpoint_is_kept_here_and_training_goes_on(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "mart.checkpoint"

    def make(n_trees: int) -> Ranker:
        return sr.MART(n_trees=n_trees, n_leaves=5)

    few = on_workers(client, parts_of(TRAIN, 4), 4)
    make(5).fit(few, valid=dataset(VALI), checkpoint=file, checkpoint_every=2)
    seen: list[sr.rankers.Progress] = []
    again = on_workers(client, parts_of(TRAIN, 3), 2)
    ranker = make(8).fit(again, valid=dataset(VALI), checkpoint=file, callbacks=[seen.append])
    assert [progress.round for progress in seen] == [6, 7, 8]
    assert saved(ranker, tmp_path) == saved(make(8).fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    with pytest.raises(sr.errors.DataError, match="was saved with another configuration") as caught:
        sr.MART(n_trees=8, n_leaves=7).fit(on_workers(client, [TRAIN], 1), valid=dataset(VALI), checkpoint=file)
    assert str(caught.value).startswith(str(file))


def test_errors_in_partitions_name_them_and_the_row(client: Client) -> None:
    bad = TRAIN.assign(label=[None if row == 411 else 1 for row in range(len(TRAIN))])
    partitions = dd.from_delayed([dask.delayed(each) for each in (TRAIN[:400], bad[400:])], meta=TRAIN[:0])
    with pytest.raises(sr.errors.DataError, match="partition 1: column 'label', row 11: the value is missing"):
        sr.MART(n_trees=2).fit(partitions)


def test_bad_parts_are_named(client: Client, tmp_path: Path) -> None:
    twice = [*parts_of(TRAIN, 3), TRAIN[TRAIN.qid == 7]]
    with pytest.raises(
        sr.errors.DataError, match=r"training data: the query '7' is in two parts, part [13] and part [13]"
    ):
        sr.MART(n_trees=2).fit(on_workers(client, twice, 3))
    (tmp_path / "bad.csv").write_text("qid,label,x\n1,0,many\n")
    (tmp_path / "good.csv").write_text("qid,label,x\n2,0,3\n2,1,4\n")
    with pytest.raises(sr.errors.DataError, match=r"bad.csv: column 'x', line 2: 'many' is not a number"):
        sr.MART(n_trees=2).fit(sr.Parts.read(tmp_path))
    with pytest.raises(sr.errors.ParameterError, match="RankNet has no training on a cluster"):
        sr.RankNet().fit(on_workers(client, parts_of(TRAIN, 2), 2))
    with pytest.raises(
        sr.errors.DataError, match=r"give the labels and qid or group: .* qid may also be the name of a column"
    ):
        sr.MART().fit(dd.from_pandas(TRAIN, npartitions=2), qid=TRAIN.qid)


def test_few_validation_parts_are_divided_by_queries(client: Client, tmp_path: Path) -> None:
    vali = VALI[VALI.qid < 1005]
    one_and_four = [vali[vali.qid == 1000], vali[vali.qid > 1000]]
    expected = saved(sr.MART(n_trees=3, n_leaves=5).fit(dataset(TRAIN), valid=dataset(vali)), tmp_path)
    parts = on_workers(client, parts_of(TRAIN, 4), 4)
    for few in (dataset(vali), on_workers(client, one_and_four, 2)):
        assert saved(sr.MART(n_trees=3, n_leaves=5).fit(parts, valid=few), tmp_path) == expected
    with pytest.raises(
        sr.errors.DataError, match="the set 'valid' has fewer queries than there are workers, 4: take more"
    ):
        sr.MART(n_trees=3, n_leaves=5).fit(parts, valid=dataset(one_and_four[0]))


def test_without_a_cluster_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: Any) -> Any:
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.default_client", none)
    with pytest.raises(sr.errors.ClusterError, match=r"there is no Dask client: .*client = distributed.Client"):
        sr.MART().fit(sr.Parts([dataset(TRAIN)]))


def test_prediction_and_evaluation_are_as_on_one_machine(client: Client) -> None:
    ranker = RANKERS["ndcg@10"]().fit(dataset(TRAIN))
    vali = VALI.set_index(np.arange(len(VALI)) + 7)
    frames = [*parts_of(vali, 3), vali[:0]]
    partitions = dd.from_delayed([dask.delayed(each) for each in frames], meta=vali[:0])
    scores: pd.Series = cast(Any, ranker.predict(partitions)).compute()
    expected = pd.Series(ranker.predict(dataset(vali)), index=vali.index)
    pd.testing.assert_series_equal(scores.sort_index(), expected, check_names=False)
    parts = on_workers(client, frames[:3], 3)
    by_part = np.concatenate(dask.compute(*ranker.predict(parts)))
    np.testing.assert_array_equal(by_part, scores.to_numpy())
    alone = sr.evaluate(dataset(vali), ranker.predict(dataset(vali)), ["ndcg@10", "err"])
    for data in (partitions, parts):
        found = sr.evaluate(data, ranker, ["ndcg@10", "err"])
        assert sorted(zip(found.qids, found["err"].per_query, strict=True)) == sorted(
            zip(alone.qids, alone["err"].per_query, strict=True)
        )
        assert found["ndcg@10"].mean == alone["ndcg@10"].mean
    in_segments = sr.evaluate(parts, ranker, "ndcg@10", by="n_relevant")
    expected_segments = sr.evaluate(dataset(vali), ranker, "ndcg@10", by="n_relevant")
    assert list(in_segments) == list(expected_segments)
    for name in in_segments:
        found_values, values = (each[name]["ndcg@10"].per_query for each in (in_segments, expected_segments))
        np.testing.assert_array_equal(np.sort(found_values), np.sort(values))
    with pytest.raises(sr.errors.DataError, match="segments of data on a cluster are given by the name"):
        sr.evaluate(parts, ranker, "ndcg@10", by=["phone"])
