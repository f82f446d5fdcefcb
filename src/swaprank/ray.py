"""Train rankers on data sets of Ray Data, and score them (`swaprank[ray]`).

Ray is imported when it is first needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from swaprank.cluster.arrow_rows import Rows, chosen_columns, matrix_of, validation_rows, vector_to_score
from swaprank.cluster.ray_launcher import Ray
from swaprank.cluster.ray_rows import check_dataset, column_names, vector_columns
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.data.matching import matching_columns

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker
    from swaprank.rankers.training import TrainableRanker

__all__ = ["fit", "transform"]

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
    cpus_per_worker: int = 1,
    max_restarts: int = 3,
    silence: float = SILENCE_SECONDS,
    **options: Any,
) -> Trained:
    """Train a ranker on a data set of Ray Data; returns the ranker.

    Actors train together, each on whole queries. The model is that of one process with all rows, byte for byte.

    Args:
        ranker: `LambdaMART`, `MART` or `RandomForest`.
        data: A `ray.data.Dataset` with a row for each document.
        label: The column of labels.
        qid: The column of query ids.
        features: Columns of features: numbers, or text, which is categorical; or one column of vectors: lists, or
            tensors of one dimension. By default the vectors called "features", or if there are none, all columns that
            have no other use.
        sample_weight: A column of weights of rows.
        query_weight: A column of weights of queries.
        base_score: A column of scores to start from.
        docid: A column of document ids. With it, the order of rows does not matter.
        columns: Columns that are no features, but that metrics or goals name.
        categorical_features: Columns of numbers that are categories.
        valid: Validation data, or several by name: data sets of Ray with the same columns; tuples of a data set and its
            columns of labels and query ids; or data in memory, as `fit` of the ranker takes it.
        n_workers: The number of actors. By default as many as there are CPUs for.
        cpus_per_worker: The CPUs of each actor, and the number of its threads.
        max_restarts: How many times training goes on after an actor was lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost.
        options: Other arguments of the ranker's `fit`: metrics, base_ranker, callbacks, checkpoint, verbose, …

    >>> import swaprank as sr, swaprank.ray
    >>> import ray.data
    >>> rows = [{"qid": q, "label": q % 2 ^ d % 2, "bm25": d} for q in range(20) for d in range(10)]
    >>> data = ray.data.from_items(rows)
    >>> sr.ray.fit(sr.LambdaMART(n_trees=5), data, n_workers=1).size_
    '5 trees'
    """
    check_dataset(data)
    chosen = chosen_columns(
        column_names(data) or (),
        vector_columns(data),
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
    given = valid if isinstance(valid, Mapping) or valid is None else {"valid": valid}
    sets = {str(name): validation_rows(str(name), each, chosen, column_names) for name, each in (given or {}).items()}
    cluster = Ray(n_workers, cpus_per_worker, max_restarts=max_restarts, silence=silence)
    ranker.fit(Rows(data, chosen).as_parts(), valid=sets or None, cluster=cluster, **options)
    return ranker


def transform(ranker: "Ranker", data: Any, *, features: str | None = None, column: str = "score") -> Any:
    """The data set with the scores of a fitted ranker as one more column; computed when Ray needs them.

    Args:
        ranker: A fitted ranker.
        data: A `ray.data.Dataset` with the features of the ranker, which are matched by name; or with a column of
            vectors, whose entries are taken in their order.
        features: The column of vectors. By default "features" if it holds vectors and the ranker's features are no
            columns.
        column: The name of the column of scores.

    >>> import swaprank as sr, swaprank.ray
    >>> import ray.data
    >>> train, test = sr.datasets.random_search((50, 20), n_documents=10, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=5).fit(train)
    >>> data = ray.data.from_items([dict(zip(test.feature_names, map(float, row))) for row in test.features])
    >>> sr.ray.transform(ranker, data).columns()[-2:]
    ['chance', 'score']
    """
    check_dataset(data)
    ranker.check_fitted()
    known, columns = [str(name) for name in ranker.feature_names_in_], column_names(data) or []
    vector = vector_to_score(columns, vector_columns(data), known, features)
    if vector is None:
        matching_columns(known, columns, type(ranker).__name__, "the data set")
    own = copy(ranker)
    # Other tasks use the other cores.
    own.n_threads = 1
    arguments = {"ranker": own, "names": known, "vector": vector, "column": column}
    return data.map_batches(_with_scores, batch_format="pyarrow", fn_kwargs=arguments)


def _with_scores(table: Any, ranker: "Ranker", names: Sequence[str], vector: str | None, column: str) -> Any:
    """A batch with its scores, in a task of Ray."""
    import pyarrow as pa

    rows = table if vector is None else matrix_of(table[vector], vector)
    scores = pa.array(ranker.predict(rows) if table.num_rows else [], pa.float64())
    if column in table.column_names:
        return table.set_column(table.column_names.index(column), column, scores)
    return table.append_column(column, scores)
