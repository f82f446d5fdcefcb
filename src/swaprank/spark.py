"""Train rankers on Spark data frames, and score them (`swaprank[spark]`).

PySpark is imported when it is first needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from swaprank.cluster.arrow_rows import Rows, chosen_columns, validation_rows, vector_to_score
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.cluster.spark_launcher import Spark
from swaprank.cluster.spark_rows import check_frame, column_names, entry_names, features_of, vector_columns
from swaprank.data.matching import matching_columns

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker
    from swaprank.rankers.training import TrainableRanker

__all__ = ["estimator", "fit", "transform"]

Trained = TypeVar("Trained", bound="TrainableRanker")


def fit(
    ranker: Trained,
    data: Any,
    label: str = "label",
    qid: str = "qid",
    *,
    features: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    query_weight: str | None = None,
    base_score: str | None = None,
    docid: str | None = None,
    columns: Sequence[str] = (),
    categorical_features: Iterable[str | int] | None = None,
    valid: Any = None,
    n_workers: int | None = None,
    max_restarts: int = 3,
    silence: float = SILENCE_SECONDS,
    **options: Any,
) -> Trained:
    """Train a ranker on a Spark data frame; returns the ranker.

    The tasks of one stage train together, each on whole queries. The model is that of one process with all rows, byte
    for byte.

    Args:
        ranker: `LambdaMART`, `MART` or `RandomForest`.
        data: A Spark data frame with a row for each document.
        label: The column of labels.
        qid: The column of query ids.
        features: Columns of features: numbers, or text, which is categorical; or one column of vectors, as Spark's
            VectorAssembler makes it. By default the vectors called "features", or if there are none, all columns that
            have no other use.
        sample_weight: A column of weights of rows.
        query_weight: A column of weights of queries.
        base_score: A column of scores to start from.
        docid: A column of document ids. With it, the order of rows does not matter.
        columns: Columns that are no features, but that metrics or goals name.
        categorical_features: Columns of numbers that are categories.
        valid: Validation data, or several by name: Spark data frames with the same columns; tuples of a data frame and
            its columns of labels and query ids; or data in memory, as `fit` of the ranker takes it.
        n_workers: The number of tasks. By default as many as can run at the same time.
        max_restarts: How many times training goes on after a task was lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost.
        options: Other arguments of the ranker's `fit`: metrics, base_ranker, callbacks, checkpoint, verbose, …

    >>> import swaprank as sr, swaprank.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    >>> rows = [(q, q % 2 ^ d % 2, float(d)) for q in range(20) for d in range(10)]
    >>> data = spark.createDataFrame(rows, ["query", "clicked", "bm25"])
    >>> sr.spark.fit(sr.LambdaMART(n_trees=5), data, label="clicked", qid="query", n_workers=2).size_
    '5 trees'
    """
    check_frame(data)
    vectors = vector_columns(data)
    chosen = chosen_columns(
        data.columns,
        vectors,
        label,
        qid,
        features,
        side=columns,
        categorical=categorical_features,
        sample_weight=sample_weight,
        query_weight=query_weight,
        base_score=base_score,
        docid=docid,
    )
    if chosen.is_vector:
        chosen = chosen._replace(names=entry_names(data, chosen.features[0]))
    given = valid if isinstance(valid, Mapping) or valid is None else {"valid": valid}
    sets = {str(name): validation_rows(str(name), each, chosen, column_names) for name, each in (given or {}).items()}
    cluster = Spark(data.sparkSession, n_workers, max_restarts=max_restarts, silence=silence)
    ranker.fit(Rows(data, chosen).as_parts(), valid=sets or None, cluster=cluster, **options)
    return ranker


def transform(ranker: "Ranker", data: Any, *, features: str | None = None, column: str = "score") -> Any:
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
    ['chance', 'score']
    """
    check_frame(data)
    ranker.check_fitted()
    from pyspark.sql import functions
    from pyspark.sql.types import IntegralType

    known = [str(name) for name in ranker.feature_names_in_]
    if vector := vector_to_score(data.columns, vector_columns(data), known, features):
        return data.withColumn(column, _scorer(ranker, None)(*features_of(data, [vector], ())))
    chosen = matching_columns(known, data.columns, type(ranker).__name__, "the data frame")
    names = data.columns if chosen is None else [data.columns[at] for at in chosen.tolist()]
    expressions = features_of(data, names, ranker.categories_)
    for at, name in enumerate(names):
        if name in ranker.categories_ and isinstance(data.schema[name].dataType, IntegralType):
            # With missing values, pandas would make floats of whole numbers.
            expressions[at] = expressions[at].cast("string").alias(name)
    return data.withColumn(column, _scorer(ranker, names)(functions.struct(*expressions)))


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


def estimator(ranker: "TrainableRanker", **arguments: Any) -> Any:
    """A ranker as a stage of a `pyspark.ml.Pipeline`.

    Its model adds scores to a data frame, and has the fitted ranker as `model.ranker`, whose `save` keeps it.

    Args:
        ranker: Not fitted; a copy is trained.
        arguments: Arguments of `fit`; also `column`, the name of the column of scores.

    >>> import swaprank as sr, swaprank.spark
    >>> sr.spark.estimator(sr.LambdaMART(), label="clicked", qid="query").ranker.metric
    'ndcg@10'
    """
    return _stages()[0](ranker, **arguments)


@cache
def _stages() -> tuple[Any, Any]:
    """The classes of an estimator and its model, made here because their base classes are Spark's."""
    from pyspark import ml

    class RankerModel(ml.Model):  # type: ignore[misc]
        """A fitted ranker that adds a column of scores."""

        def __init__(self, ranker: "Ranker", features: str | Sequence[str] | None, column: str) -> None:
            super().__init__()
            self.ranker, self.features, self.column = ranker, features, column

        def _transform(self, dataset: Any) -> Any:
            vector = self.features if isinstance(self.features, str) else None
            return transform(self.ranker, dataset, features=vector, column=self.column)

    class RankerEstimator(ml.Estimator):  # type: ignore[misc]
        """A ranker that is not fitted."""

        def __init__(self, ranker: "TrainableRanker", *, column: str = "score", **arguments: Any) -> None:
            super().__init__()
            self.ranker, self.column, self.arguments = ranker, column, arguments

        def _fit(self, dataset: Any) -> Any:
            fitted = fit(copy(self.ranker), dataset, **self.arguments)
            return RankerModel(fitted, self.arguments.get("features"), self.column)

    return RankerEstimator, RankerModel
