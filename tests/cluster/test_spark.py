"""Training and scoring on Spark: the model of one process, byte for byte."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
import swaprank.spark
from swaprank.cluster import spark_launcher
from tests.cluster.engine_data import COLUMNS, NUMBERS, TRAIN, VALI, ancestors, dataset, saved

pyspark: Any = pytest.importorskip("pyspark", reason="PySpark is not installed")
if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("Spark needs Java", allow_module_level=True)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.spark,
    # Of PySpark, about pandas and its own use of sockets and of other libraries.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def boosted(**options: Any) -> sr.LambdaMART:
    return sr.LambdaMART(**{"n_trees": 4, "n_leaves": 5} | options)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Workers take the first python3 of the path otherwise.
    made = SparkSession.builder.master("local[2]").appName("swaprank tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "70",
    }.items():
        made = made.config(name, value)
    session = made.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frames(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Files in several pieces, one of them empty; validation data in one."""
    folder = tmp_path_factory.mktemp("frames")
    for number, rows in enumerate((TRAIN[:150], TRAIN[150:390], TRAIN[:0], TRAIN[390:])):
        rows.to_parquet(folder / f"part-{number}.parquet", index=False)
    VALI.to_parquet(folder / "vali.parquet", index=False)
    return spark.read.parquet(str(folder / "part-*.parquet")), spark.read.parquet(str(folder / "vali.parquet"))


def test_the_model_is_that_of_one_process(frames: tuple[Any, Any], tmp_path: Path) -> None:
    train, vali = (each.drop("id") for each in frames)
    collected, options = train.toPandas(), dict[str, Any](categorical_features=["shop"])
    alone = boosted().fit(dataset(collected, **options), valid=dataset(VALI, **options))
    fitted = sr.spark.fit(boosted(), train, **COLUMNS, **options, valid=vali, n_workers=2)
    assert fitted.categories_["shop"] == ("1", "2", "3", "4", "5")
    assert saved(fitted, tmp_path) == saved(alone, tmp_path)
    local = sr.spark.fit(boosted(), train, **COLUMNS, **options, valid=VALI.drop(columns=["id"]), n_workers=1)
    assert saved(local, tmp_path) == saved(alone, tmp_path)


def test_with_ids_no_order_of_rows_matters(frames: tuple[Any, Any], tmp_path: Path) -> None:
    train, options = frames[0].drop("shop"), {"docid": "id", "ignore": ["shop"]}
    alone = boosted(n_trees=3, document_fraction=0.5).fit(dataset(TRAIN, **options))
    shuffled = train.repartition(3).orderBy("age_days")
    fitted = sr.spark.fit(boosted(n_trees=3, document_fraction=0.5), shuffled, **COLUMNS, docid="id")
    assert saved(fitted, tmp_path) == saved(alone, tmp_path)


def test_vectors_callbacks_and_checkpoints(frames: tuple[Any, Any], tmp_path: Path) -> None:
    from pyspark.ml.feature import VectorAssembler

    assembler = VectorAssembler(inputCols=NUMBERS, outputCol="features", handleInvalid="keep")
    train = assembler.transform(frames[0]).select("features", *COLUMNS.values())
    collected = frames[0].toPandas()[[*NUMBERS, *COLUMNS.values()]]
    few, seen = sr.datasets.random_search((2,), n_documents=3, random_state=0)[0], list[sr.rankers.Progress]()
    few = sr.Dataset(few.features[:, :4], few.labels, qid=np.repeat(few.qids, 3), feature_names=NUMBERS)
    alone = boosted(n_trees=6).fit(dataset(collected), valid=few)

    def stop(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 4

    file = tmp_path / "run.checkpoint"
    options: dict[str, Any] = {**COLUMNS, "valid": few, "n_workers": 2, "checkpoint": file, "checkpoint_every": 2}
    sr.spark.fit(boosted(n_trees=6), train, callbacks=[stop], **options)
    assert [each.round for each in seen] == [1, 2, 3, 4]
    again = sr.spark.fit(boosted(n_trees=6), train, callbacks=[seen.append], **options)
    assert [each.round for each in seen] == [1, 2, 3, 4, 5, 6]
    assert list(again.feature_names_in_) == NUMBERS
    assert saved(again, tmp_path) == saved(alone, tmp_path)
    scored = sr.spark.transform(again, train, column="s").toPandas()
    assert sorted(scored["s"]) == sorted(again.predict(collected))


def test_ctrl_c_keeps_the_trees_that_were_finished(frames: tuple[Any, Any]) -> None:
    def press_ctrl_c(progress: sr.rankers.Progress) -> None:
        if progress.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(sr.errors.Interrupted) as stopped:
        sr.spark.fit(boosted(n_trees=1000), frames[0], **COLUMNS, callbacks=[press_ctrl_c])
    assert stopped.value.result.n_rounds_ == 3


def test_a_killed_task_ends_in_the_same_model(frames: tuple[Any, Any], tmp_path: Path) -> None:
    train = frames[0].drop("id")
    alone = boosted(n_trees=8).fit(dataset(train.toPandas()))
    killed = list[int]()

    def kill(progress: sr.rankers.Progress) -> None:
        if progress.round == 5 and not killed:
            killed.append(task_process())
            os.kill(killed[0], signal.SIGKILL)

    fitted = sr.spark.fit(boosted(n_trees=8), train, **COLUMNS, n_workers=2, callbacks=[kill])
    assert killed
    assert saved(fitted, tmp_path) == saved(alone, tmp_path)


def test_the_name_of_a_local_machine_may_lead_elsewhere(spark: Any, frames: tuple[Any, Any]) -> None:
    context, conf = spark.sparkContext, spark.sparkContext.getConf()
    elsewhere = conf.set("spark.driver.host", "192.0.2.1").set("spark.driver.bindAddress", "127.0.0.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(context), "getConf", lambda self: elsewhere)
        assert sr.spark.fit(boosted(), frames[0], **COLUMNS, n_workers=2).n_rounds_ == 4


def test_a_task_that_cannot_reach_the_driver_says_so(frames: tuple[Any, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_launcher, "_driver_addresses", lambda context: ("127.0.0.2", "127.0.0.1"))
        with pytest.raises(sr.errors.ClusterError, match=r"the driver at 127\.0\.0\.2:.*spark\.driver\.host"):
            sr.spark.fit(boosted(), frames[0], **COLUMNS, n_workers=2)


def task_process() -> int:
    """The Python process of a task that trains: another one of PySpark has no threads."""
    for folder in Path("/proc").glob("[0-9]*"):
        command, n_threads = (folder / "cmdline").read_bytes(), len(list((folder / "task").iterdir()))
        if b"pyspark.daemon" in command and n_threads > 2 and os.getpid() in ancestors(int(folder.name)):
            return int(folder.name)
    raise AssertionError("no task was found")


def test_what_is_wrong_is_said(spark: Any, frames: tuple[Any, Any]) -> None:
    from pyspark.sql import functions

    train, vali = frames
    ranker = boosted()
    with pytest.raises(sr.errors.DataError, match="there is no column 'click'; did you mean 'clicked'"):
        sr.spark.fit(ranker, train, label="click", qid="query")
    with pytest.raises(sr.errors.DataError, match="the set 'valid': there is no column 'brand'"):
        sr.spark.fit(ranker, train, **COLUMNS, valid=vali.drop("brand"))
    with pytest.raises(sr.errors.DataError, match="expected a Spark data frame, found DataFrame"):
        sr.spark.fit(ranker, TRAIN, **COLUMNS)
    with pytest.raises(
        sr.errors.ClusterError, match=r"can run 2 tasks at the same time, but training needs 3.*n_workers=2"
    ):
        sr.spark.fit(ranker, train, **COLUMNS, n_workers=3)
    with pytest.raises(sr.errors.ParameterError, match="RankNet has no training on a cluster"):
        sr.spark.fit(sr.RankNet(), train, **COLUMNS)
    with pytest.raises(sr.errors.ParameterError, match="n_workers must be a whole number from 1; found 0"):
        sr.spark.fit(ranker, train, **COLUMNS, n_workers=0)
    with pytest.raises(sr.errors.DataError, match="the training data has no rows"):
        sr.spark.fit(ranker, train.where("1 = 0"), **COLUMNS)
    with pytest.raises(sr.errors.DataError, match=r"rows of Spark: train with swaprank\.spark\.fit"):
        ranker.fit(train, "clicked", qid="query")
    with pytest.raises(sr.errors.DataError, match=r"score with swaprank\.spark\.transform"):
        boosted().fit(dataset(TRAIN)).predict(train)
    missing = train.withColumn("clicked", functions.when(train.id != 7, train.clicked))
    with pytest.raises(sr.errors.DataError, match=r"Spark partition \d: column 'clicked' has rows without a value"):
        sr.spark.fit(ranker, missing, **COLUMNS)
    days = train.withColumn("day", functions.current_date())
    with pytest.raises(sr.errors.DataError, match=r"Spark partition \d: column 'day' holds Date"):
        sr.spark.fit(ranker, days, **COLUMNS)
    one = train.where(train.query == "q3")
    with pytest.raises(sr.errors.DataError, match=r"the set 'valid' has 1 query for 2 workers, .*n_workers=1"):
        sr.spark.fit(ranker, train, **COLUMNS, valid=one, n_workers=2)
    broken = train.withColumn("match", functions.expr("raise_error('bad luck')").cast("double"))
    with pytest.raises(Exception, match="bad luck"):
        sr.spark.fit(ranker, broken, **COLUMNS)


def test_scores_are_those_of_one_process(spark: Any, frames: tuple[Any, Any]) -> None:
    options = {"categorical_features": ["shop"]}
    ranker = boosted().fit(dataset(TRAIN, **options))
    scored = sr.spark.transform(ranker, frames[0])
    assert scored.columns == [*frames[0].columns, "score"]
    found = scored.toPandas()
    np.testing.assert_array_equal(found["score"], ranker.predict(found))
    assert sr.spark.transform(ranker, frames[0].limit(0)).count() == 0
    with pytest.raises(sr.errors.DataError, match="the data frame has no feature 'match', which LambdaMART has"):
        sr.spark.transform(ranker, frames[0].drop("match"))
    with pytest.raises(sr.errors.DataError, match="must be the name of a column of vectors; found 'match'"):
        sr.spark.transform(ranker, frames[0], features="match")


def test_it_is_a_stage_of_a_pipeline(frames: tuple[Any, Any]) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    assembler = VectorAssembler(inputCols=NUMBERS, outputCol="features", handleInvalid="keep")
    stage = sr.spark.estimator(sr.MART(n_trees=3, n_leaves=5), **COLUMNS, n_workers=1, column="predicted")
    model = Pipeline(stages=[assembler, stage]).fit(frames[0])
    found = model.transform(frames[1]).toPandas()
    ranker = model.stages[-1].ranker
    np.testing.assert_array_equal(found["predicted"], ranker.predict(found[NUMBERS]))
    alone = sr.MART(n_trees=3, n_leaves=5).fit(dataset(frames[0].toPandas(), features=NUMBERS))
    assert ranker.history_ == alone.history_
    np.testing.assert_array_equal(ranker.predict(found[NUMBERS]), alone.predict(found[NUMBERS]))
