"""Training and scoring on Ray: the model of one process, byte for byte."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import swaprank as sr
import swaprank.ray
from tests.cluster.engine_data import COLUMNS, NUMBERS, TRAIN, VALI, ancestors, dataset, saved

ray: Any = pytest.importorskip("ray", reason="Ray is not installed")
ray_data: Any = pytest.importorskip("ray.data", reason="Ray Data is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.ray,
    # Of Ray, about other libraries and its own use of sockets and processes.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def boosted(**options: Any) -> sr.LambdaMART:
    return sr.LambdaMART(**{"n_trees": 4, "n_leaves": 5} | options)


def rows_of(frame: Any) -> Any:
    """A data set of Ray in several blocks, one of them empty."""
    pieces = [frame[:150], frame[150:151], frame[:0], frame[151:]]
    return ray_data.from_arrow([pa.Table.from_pandas(piece, preserve_index=False) for piece in pieces])


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=10**8,
        log_to_driver=False,
        logging_level="ERROR",
        # Workers import these tests, too: what they are given refers to them.
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}},
    )
    context = ray_data.DataContext.get_current()
    context.enable_progress_bars = False
    yield
    ray.shutdown()


def test_the_model_is_that_of_one_process(tmp_path: Path) -> None:
    frame, vali = TRAIN.drop(columns="id"), VALI.drop(columns="id")
    train, options = rows_of(frame), dict[str, Any](categorical_features=["shop"])
    alone = boosted().fit(dataset(frame, **options), valid=dataset(vali, **options))
    fitted = sr.ray.fit(boosted(), train, **COLUMNS, **options, valid=rows_of(vali), n_workers=2)
    assert fitted.categories_["shop"] == ("1", "2", "3", "4", "5")
    assert saved(fitted, tmp_path) == saved(alone, tmp_path)
    local = sr.ray.fit(boosted(), train, **COLUMNS, **options, valid=vali, n_workers=1)
    assert saved(local, tmp_path) == saved(alone, tmp_path)


def test_vectors_callbacks_and_checkpoints(tmp_path: Path) -> None:
    train, kept = with_vectors(TRAIN), VALI[VALI["query"].isin(["q1000", "q1001"])]
    collected = dataset(TRAIN, features=NUMBERS)
    collected = sr.Dataset(collected.features, collected.labels, qid=TRAIN["query"], sample_weight=TRAIN["weight"])
    alone = boosted(n_trees=6).fit(collected, valid=(kept[NUMBERS].to_numpy(), kept["clicked"], kept["query"]))
    # Two queries: each of two workers takes one, wherever the hashes of their ids would put them.
    few = with_vectors(kept)
    seen = list[sr.rankers.Progress]()

    def stop(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 4

    file = tmp_path / "run.checkpoint"
    options: dict[str, Any] = {**COLUMNS, "valid": few, "n_workers": 2, "checkpoint": file, "checkpoint_every": 2}
    sr.ray.fit(boosted(n_trees=6), train, callbacks=[stop], **options)
    assert [each.round for each in seen] == [1, 2, 3, 4]
    again = sr.ray.fit(boosted(n_trees=6), train, callbacks=[seen.append], **options)
    assert [each.round for each in seen] == [1, 2, 3, 4, 5, 6]
    assert saved(again, tmp_path) == saved(alone, tmp_path)
    scored = sr.ray.transform(again, train, column="s").to_pandas()
    assert sorted(scored["s"]) == sorted(again.predict(TRAIN[NUMBERS].to_numpy()))


def with_vectors(rows: Any) -> Any:
    """A data set of Ray whose features are a column of tensors."""
    others = rows[list(COLUMNS.values())].to_dict("records")
    vectors = zip(rows[NUMBERS].to_numpy(), others, strict=True)
    return ray_data.from_items([{"features": each, **rest} for each, rest in vectors], override_num_blocks=3)


def test_ctrl_c_keeps_the_trees_that_were_finished() -> None:
    def press_ctrl_c(progress: sr.rankers.Progress) -> None:
        if progress.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(sr.errors.Interrupted) as stopped:
        sr.ray.fit(boosted(n_trees=1000), rows_of(TRAIN), **COLUMNS, callbacks=[press_ctrl_c])
    assert stopped.value.result.n_rounds_ == 3


def test_a_killed_actor_ends_in_the_same_model(tmp_path: Path) -> None:
    frame = TRAIN.drop(columns="id")
    alone = boosted(n_trees=8).fit(dataset(frame))
    killed = list[int]()

    def kill(progress: sr.rankers.Progress) -> None:
        if progress.round == 5 and not killed:
            killed.append(actor_process())
            os.kill(killed[0], signal.SIGKILL)

    fitted = sr.ray.fit(boosted(n_trees=8), rows_of(frame), **COLUMNS, n_workers=2, callbacks=[kill])
    assert killed
    assert saved(fitted, tmp_path) == saved(alone, tmp_path)


def actor_process() -> int:
    """The process of an actor that trains."""
    for folder in Path("/proc").glob("[0-9]*"):
        command = (folder / "cmdline").read_bytes()
        if b"ray::RayWorker" in command and os.getpid() in ancestors(int(folder.name)):
            return int(folder.name)
    raise AssertionError("no actor was found")


def test_what_is_wrong_is_said() -> None:
    ranker, train = boosted(), rows_of(TRAIN)
    with pytest.raises(sr.errors.DataError, match="there is no column 'click'; did you mean 'clicked'"):
        sr.ray.fit(ranker, train, label="click", qid="query")
    with pytest.raises(sr.errors.DataError, match=r"expected a data set of Ray Data, .* found pandas's DataFrame"):
        sr.ray.fit(ranker, TRAIN, **COLUMNS)
    with pytest.raises(sr.errors.ClusterError, match=r"Ray has 2 CPUs, but training needs 3: 3 workers .*n_workers=2"):
        sr.ray.fit(ranker, train, **COLUMNS, n_workers=3)
    with pytest.raises(sr.errors.ParameterError, match="RankNet has no training on a cluster"):
        sr.ray.fit(sr.RankNet(), train, **COLUMNS)
    wrong: dict[str, Any]
    for wrong in ({"n_workers": 0}, {"cpus_per_worker": 0.5}, {"max_restarts": -1}):
        with pytest.raises(sr.errors.ParameterError, match=f"{min(wrong)} must be a whole number from [01]; found"):
            sr.ray.fit(ranker, train, **COLUMNS, **wrong)
    with pytest.raises(sr.errors.ParameterError, match=r"silence must be a number of seconds above 0, .* found 0"):
        sr.ray.fit(ranker, train, **COLUMNS, silence=0)
    with pytest.raises(sr.errors.DataError, match=r"rows of Ray: train with swaprank\.ray\.fit"):
        ranker.fit(train, "clicked", qid="query")
    with pytest.raises(sr.errors.DataError, match="column 'clicked' has rows without a value"):
        sr.ray.fit(ranker, rows_of(TRAIN.assign(clicked=TRAIN["clicked"].where(TRAIN["id"] != 7))), **COLUMNS)
    one = VALI[VALI["query"] == "q1003"]
    with pytest.raises(sr.errors.DataError, match=r"the set 'valid' has 1 query for 2 workers, .*n_workers=1"):
        sr.ray.fit(ranker, train, **COLUMNS, valid=rows_of(one), n_workers=2)
    with pytest.raises(sr.errors.DataError, match="the training data: column 'day' holds"):
        sr.ray.fit(ranker, rows_of(TRAIN.assign(day=np.datetime64("2026-01-31", "us"))), **COLUMNS)


def test_scores_are_those_of_one_process() -> None:
    ranker = boosted().fit(dataset(TRAIN, categorical_features=["shop"]))
    found = sr.ray.transform(ranker, rows_of(TRAIN)).to_pandas()
    assert list(found) == [*TRAIN, "score"]
    np.testing.assert_array_equal(found["score"], ranker.predict(found))
    with pytest.raises(sr.errors.DataError, match="the data set has no feature 'match', which LambdaMART has"):
        sr.ray.transform(ranker, rows_of(TRAIN.drop(columns="match")))
