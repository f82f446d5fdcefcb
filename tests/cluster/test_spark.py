"""Training and scoring on Spark: the model of one process, byte for byte."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
import swaprank.spark
from tests.cluster.engine_data import COLUMNS, NUMBERS, TRAIN, VALI, dataset, saved

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
    return sr.LambdaMART(**{"n_trees": 4, "n_leaves": 5, "categorical_features": None} | options)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
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
