"""Evaluate scores: labels and scores of every query, from a data set, from TREC files, or on a cluster."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, final, overload

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints, contiguous_floats
from swaprank.cluster.parts import Parts, as_parts
from swaprank.data.dataset import Dataset
from swaprank.data.frames import split_columns
from swaprank.data.judgements import Qrels, Run
from swaprank.data.pairs import PairLists, pairs_by_query
from swaprank.errors import DataError, Wording
from swaprank.evaluation.given_scores import scores_of
from swaprank.evaluation.results import Evaluation, MetricResult, pooled
from swaprank.evaluation.segment_evaluation import SegmentEvaluation
from swaprank.evaluation.segments import By, segments_of
from swaprank.metrics.grades import warn_if_no_grades
from swaprank.metrics.metric import Metric, measure_each
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.metrics.terms import Lists


@overload
def evaluate(
    data: Any,
    scores: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: None = None,
    convention: str = ...,
    subtopics: Any = ...,
    n_threads: int | None = ...,
) -> Evaluation: ...


@overload
def evaluate(
    data: Any,
    scores: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: By,
    convention: str = ...,
    subtopics: Any = ...,
    n_threads: int | None = ...,
) -> SegmentEvaluation: ...


def evaluate(
    data: Any,
    scores: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: By | None = None,
    convention: str = "standard",
    subtopics: Any = None,
    n_threads: int | None = None,
) -> Evaluation | SegmentEvaluation:
    """Evaluate scores on judged documents.

    Args:
        data: The judged documents: a Dataset; TREC judgements, if the scores are a TREC run; or data on a cluster.
        scores: A fitted ranker; the name of a side column or a feature; one number per row, in row order; or a TREC
            run. For data on a cluster, a fitted ranker.
        metrics: One or several metrics, or their names.
        by: Evaluate segments of the queries, too: the name of a side column or a feature with one value per query;
            "n_documents" or "n_relevant", the size of queries in ranges; or one value per query.
        convention: The tool whose definitions to use: "standard", "trec", "letor", "mslr" or "lightgbm".
        subtopics: For metrics of diversity on a Dataset: labels for subtopics, with a row for each row of the data and
            a column for each subtopic. TREC judgements have their own.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((100,), random_state=0)
    >>> print(sr.evaluate(data, "1", ["ndcg@10", "map"]))  # ranked by feature 1
    metric     mean      95% interval  queries  no relevant  left out
    -------  ------  ----------------  -------  -----------  --------
    ndcg@10  0.2776  0.2545 to 0.3019      100            0         0
    map      0.8228  0.8093 to 0.8355      100            0         0
    <BLANKLINE>
    ndcg@10: normalized discounted cumulative gain to rank 10; ...
    map: average precision; ...
    """
    data = as_parts(data)
    segments = None if by is None else segments_of(data, by)
    if isinstance(data, Parts):
        return _evaluate_on_cluster(data, scores, parse_metrics(metrics, convention), convention, n_threads)
    lists = _ranked_lists(data, scores, subtopics)
    parsed = parse_metrics(metrics, convention)
    if isinstance(data, Dataset):
        warn_if_no_grades(parsed, lists.labels)
    bound = [metric.bind(lists.labels, lists.indptr, **lists.beside._asdict()) for metric in parsed]
    values = measure_each(bound, lists.scores, n_threads)
    results = (
        MetricResult(each.metric, found, np.array(each.terms.is_empty, np.bool_))
        for each, found in zip(bound, values, strict=True)
    )
    whole = Evaluation(tuple(results), lists.qids, convention)
    return whole if segments is None else SegmentEvaluation.of(whole, segments)


def _evaluate_on_cluster(
    data: Parts, ranker: Any, metrics: list[Metric], convention: str, n_threads: int | None
) -> Evaluation:
    """Each worker measures its queries, and their values come here, in the order of the parts.

    Scores would have to be brought together with the parts, so that a ranker gives them where the parts are.
    """
    import dask

    from swaprank.rankers.ranker import Ranker

    if not isinstance(ranker, Ranker):
        raise DataError(f"data on a cluster is evaluated with a fitted ranker; found {type(ranker).__name__}.")
    ranker.check_fitted()
    tasks = data.map(_evaluate_part, ranker, metrics, n_threads)
    found = [each for each in dask.compute(*tasks) if each is not None]
    if not found:
        raise DataError("the data has no documents: all parts are empty.")
    return pooled(found, metrics, convention)


def _evaluate_part(data: Dataset | None, ranker: Any, metrics: list[Metric], n_threads: int | None) -> Any:
    return None if data is None else evaluate(data, ranker.predict(data), metrics, n_threads=n_threads)


class _Beside(NamedTuple):
    """What metrics may need beside labels: the keywords of `Metric.bind`."""

    docid: AnyArray | None
    pool: Lists | None = None
    """All judged documents of each query, if some of them were not ranked."""
    pairs: PairLists | None = None
    subtopics: Floats | None = None
    judged: Bools | None = None
    columns: Mapping[str, AnyArray] | None = None


class _RankedLists(NamedTuple):
    """Labels, scores and ids, grouped by query."""

    qids: AnyArray
    labels: Floats
    scores: Floats
    indptr: Ints
    beside: _Beside


def _ranked_lists(judged: Dataset | Qrels, scores: Any, subtopics: Any) -> _RankedLists:
    """Match scores (an array in row order, or a TREC run) with the judged documents."""
    if isinstance(judged, Qrels):
        if not isinstance(scores, Run):
            raise DataError("TREC judgements need the scores as a TREC run", Wording(": see read_run", ""), ".")
        if subtopics is not None:
            raise DataError(
                "TREC judgements have their own subtopics",
                Wording(", read_qrels(file, subtopics=True)", ""),
                ": give no others.",
            )
        return _from_trec(judged, scores)
    if not isinstance(judged, Dataset):
        raise DataError(f"expected a Dataset or Qrels, found {type(judged).__name__}.")
    given = scores_of(judged, scores)
    return _RankedLists(
        qids=judged.qids,
        labels=contiguous_floats(judged.by_query(judged.labels)),
        scores=judged.by_query(given),
        indptr=judged.indptr,
        beside=_Beside(
            docid=None if judged.docid is None else judged.by_query(judged.docid),
            pairs=None if judged.pairs is None else pairs_by_query(judged.pairs, judged.indptr, judged.order),
            subtopics=None if subtopics is None else judged.by_query(subtopic_table(subtopics, len(judged))),
            columns={name: judged.by_query(values) for name, values in judged.columns.items()},
        ),
    )


def subtopic_table(given: Any, n_rows: int) -> Floats:
    """Labels of documents for subtopics, in row order, from an array, a sparse matrix or a data frame."""
    try:
        dense = given.toarray() if hasattr(given, "toarray") else given
        table = np.asarray(dense, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"subtopics must be a table of numbers: {error}.") from None
    if table.ndim != 2 or len(table) != n_rows:
        raise DataError(
            f"subtopics must be a table with {n_rows:,} rows, one per document, and a column for each subtopic; "
            f"found shape {table.shape}."
        )
    return table


def _from_trec(qrels: Qrels, run: Run) -> _RankedLists:
    """The run's lists for every judged query; documents without a judgement have label -1.

    Their gain is 0, they are not relevant unless `rel` is negative, and bpref ignores them. For `pairwise`, they are
    worse than any judged document, and a user's own functions are called with -1.

    A judged query without results in the run has an empty list and counts in the mean, as with trec_eval -c.
    """
    judged, answers = qrels.to_dict(), run.to_dict()
    if not judged.keys() & answers.keys():
        raise DataError("the run and the judgements have no query in common.")
    # The ideal list of alpha-NDCG takes the largest id of those that are equally good, as ndeval does.
    judged = {qid: {docid: labels[docid] for docid in sorted(labels, reverse=True)} for qid, labels in judged.items()}
    retrieved = [
        (docid, score, labels.get(docid, -1))
        for qid, labels in judged.items()
        for docid, score in answers.get(qid, {}).items()
    ]
    docids, scores, found = zip(*retrieved, strict=True)
    return _RankedLists(
        qids=np.array(list(judged)),
        labels=np.array(found, dtype=np.float64),
        scores=np.array(scores),
        indptr=_bounds([len(answers.get(qid, {})) for qid in judged]),
        beside=_Beside(
            docid=np.array(docids),
            pool=Lists(
                np.array([label for labels in judged.values() for label in labels.values()], dtype=np.float64),
                _bounds([len(labels) for labels in judged.values()]),
                subtopics=_subtopics_of(qrels, [(qid, docid) for qid, labels in judged.items() for docid in labels]),
            ),
            subtopics=_subtopics_of(qrels, [(qid, docid) for qid in judged for docid in answers.get(qid, {})]),
            judged=np.array([docid in labels for qid, labels in judged.items() for docid in answers.get(qid, {})]),
        ),
    )


def _subtopics_of(qrels: Qrels, documents: list[tuple[str, str]]) -> Floats | None:
    """The label of each (query, document) for the subtopics of its query, numbered within the query."""
    if qrels.subtopic is None:
        return None
    labels, numbers = qrels.subtopic_labels(), dict[str, dict[str, int]]()
    for qid, subtopic in zip(qrels.qid.tolist(), qrels.subtopic.tolist(), strict=True):
        of_query = numbers.setdefault(qid, {})
        of_query.setdefault(subtopic, len(of_query))
    table = np.full((len(documents), max(map(len, numbers.values()))), np.nan)
    for row, (qid, docid) in enumerate(documents):
        for subtopic, label in labels[qid].get(docid, {}).items():
            table[row, numbers[qid][subtopic]] = label
    return table


def _bounds(sizes: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@final
class RankingScorer:
    """A metric for `scoring` in scikit-learn's searches; the query ids are a column of X, or are routed.

    Args:
        metric: The metric, or its name.
        qid: The name of the column of query ids. If None, they are routed: see scikit-learn's metadata routing.

    >>> import pandas as pd, swaprank as sr
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=10, random_state=0)
    >>> frame = pd.DataFrame(data.features).assign(query=[i // 10 for i in range(120)])
    >>> scorer = sr.evaluation.RankingScorer("ndcg@10", qid="query")
    >>> folds = GroupKFold(3).split(frame, data.labels, frame["query"])
    >>> scores = cross_val_score(
    ...     sr.LambdaMART(n_trees=3), frame, data.labels, cv=folds, scoring=scorer, params={"qid": "query"}
    ... )
    >>> scores.shape
    (3,)
    """

    def __init__(self, metric: str | Metric, *, qid: str | None = None) -> None:
        self.metric, self.qid = parse_metric(metric), qid

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn that it takes a routed qid."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: Any, *, qid: Any = None) -> float:
        """The mean of the metric for the scores that an estimator predicts; larger is better."""
        name = qid if isinstance(qid, str) else self.qid
        if qid is None and name is None:
            raise DataError(
                Wording(
                    "RankingScorer has no query ids: name their column of X, RankingScorer(…, qid='COLUMN'), or route "
                    "them with sklearn.set_config(enable_metadata_routing=True) and qid=… of the search.",
                    "",
                )
            )
        if qid is None or isinstance(qid, str):
            qid = split_columns(X, {"qid": str(name)})[1]["qid"]
        labels = Dataset(np.zeros((len(qid), 1)), y, qid=qid)
        return evaluate(labels, estimator.predict(X), self.metric).results[0].mean

    def __repr__(self) -> str:
        return f"RankingScorer('{self.metric}', qid='{self.qid}')"
