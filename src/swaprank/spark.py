"""Train rankers on Spark data frames, and score them (`swaprank[spark]`).

PySpark is imported when it is first needed.
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.cluster.arrow_rows import feature_columns
from swaprank.cluster.spark_rows import check_frame, features_of, vector_columns
from swaprank.data.matching import matching_columns
from swaprank.errors import DataError

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker

__all__ = ["transform"]


def transform(
    ranker: "Ranker", data: Any, *, features: str | Sequence[str] | None = None, column: str = "score"
) -> Any:
    """The data frame with the scores of a fitted ranker as one more column.

    Scores are computed when Spark needs them, on the executors, in batches of Arrow; only features are sent to Python.

    Args:
        ranker: A fitted ranker.
        data: A Spark data frame with the features of the ranker, which are matched by name; or with a column of
            vectors, whose entries are taken in their order.
        features: The column of vectors. By default "features" if it holds vectors and the ranker's features are no
            columns.
        column: The name of the column of scores.

    >>> import swaprank as sr, swaprank.spark
    >>> from pyspark.sql import SparkSession
    >>> train, test = sr.datasets.random_search((50, 20), n_documents=10, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=5).fit(train)
    >>> spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    >>> data = spark.createDataFrame(test.features.tolist(), list(test.feature_names))
    >>> sr.spark.transform(ranker, data).columns[-2:]
    ['query_length', 'score']
    """
    check_frame(data)
    ranker.check_fitted()
    from pyspark.sql import functions
    from pyspark.sql.types import IntegralType

    known = [str(name) for name in ranker.feature_names_in_]
    if vector := _vector_to_score(data, known, features):
        return data.withColumn(column, _scorer(ranker, None)(*features_of(data, [vector], ())))
    chosen = matching_columns(known, data.columns, type(ranker).__name__, "the data frame")
    names = data.columns if chosen is None else [data.columns[at] for at in chosen.tolist()]
    expressions = features_of(data, names, ranker.categories_)
    for at, name in enumerate(names):
        if name in ranker.categories_ and isinstance(data.schema[name].dataType, IntegralType):
            # With missing values, pandas would make floats of whole numbers.
            expressions[at] = expressions[at].cast("string").alias(name)
    return data.withColumn(column, _scorer(ranker, names)(functions.struct(*expressions)))


def _vector_to_score(data: Any, known: Sequence[str], features: str | Sequence[str] | None) -> str | None:
    """The column of vectors to score; None if columns have the features."""
    vectors = vector_columns(data)
    if features is None and {*known} <= {*data.columns}:
        return None
    (first, *others) = feature_columns(data.columns, vectors, features)
    if first in vectors:
        return first
    if features is not None:
        found = ", ".join(f"'{name}'" for name in [first, *others][:3])
        raise DataError(f"features must be the name of a column of vectors; found {found}.")
    return None


def _scorer(ranker: "Ranker", names: Sequence[str] | None) -> Any:
    """The function of Spark that scores a struct of features, or vectors if there are no names."""
    import pandas
    from pyspark.sql.functions import pandas_udf

    def score(rows: pandas.DataFrame) -> pandas.Series:
        return pandas.Series(_scores(ranker, rows), dtype=float)

    def score_vectors(rows: pandas.Series) -> pandas.Series:
        return pandas.Series(_scores(ranker, np.stack(rows.to_list())) if len(rows) else [], dtype=float)

    return pandas_udf(score if names is not None else score_vectors, "double")


def _scores(ranker: "Ranker", rows: Any) -> Any:
    """The scores of a batch, in a task of Spark."""
    from pyspark import TaskContext

    task, own = TaskContext.get(), copy(ranker)
    # Other tasks use the other cores.
    own.n_threads = 1 if task is None else task.cpus()
    return own.predict(rows) if len(rows) else []
