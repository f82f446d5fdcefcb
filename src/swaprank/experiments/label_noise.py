"""Labels that a cross-validated ranker contradicts: which to judge again first, and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

import swaprank as sr
from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.grouping import query_of_row
from swaprank.errors import DataError, ParameterError
from swaprank.experiments.folds import make_folds
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals
from swaprank.seeds import random_generator

_MOST_ROWS = 2_000_000
"""Documents that are measured at once."""
_SHOWN = 10
_MOST_LEVELS = 100


@final
@dataclass(frozen=True, eq=False, repr=False)
class SuspiciousLabels(Result):
    """Documents whose label the scores contradict, the most suspicious first; prints as a table.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((30,), n_features=4, n_documents=10, levels=3, random_state=0)
    >>> found = sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data, "ndcg@5", n_folds=3)
    >>> isinstance(found, sr.experiments.SuspiciousLabels)
    True
    """

    metric: str
    value: float
    """The mean of the metric of the out-of-fold scores, with the labels as they are."""
    rows: Ints
    qid: AnyArray
    docid: AnyArray | None
    label: Floats
    expected: Floats
    """The mean label of documents with such scores."""
    suggested: Floats
    """The label nearest to that."""
    cost: Floats
    """How much the metric of the query would rise if the label were the suggested one."""
    n_changed: int | None = None
    """In the check with labels changed on purpose: how many were."""
    precision: float | None = None
    """The share of changed labels among as many of the most suspicious documents."""
    chance: float | None = None
    """The share of changed labels among all documents."""
    lost: float | None = None
    """How much lower the metric on the true labels is if training saw the changed ones."""

    def _rows(self) -> list[dict[str, Any]]:
        ids = {} if self.docid is None else {"docid": self.docid.tolist()}
        columns = {
            "row": self.rows.tolist(),
            "qid": self.qid.tolist(),
            **ids,
            "label": self.label.tolist(),
            "expected": self.expected.tolist(),
            "suggested": self.suggested.tolist(),
            "cost": self.cost.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _blocks(self) -> Blocks:
        names = ["row", "qid", *([] if self.docid is None else ["docid"])]
        shown = [
            [
                *(str(row[name]) for name in names),
                f"{row['label']:g}",
                f"{row['expected']:.2f}",
                f"{row['suggested']:g}",
                decimals(row["cost"], signed=True),
            ]
            for row in self._rows()[:_SHOWN]
        ]
        more = len(self.rows) - len(shown)
        note = f"… and {more:,} more" if more > 0 else ""
        table = Table([*names, "label", "expected", "suggested", self.metric], shown, len(names), note)
        words = f"{self.metric} of the out-of-fold scores: {decimals(self.value)}."
        if self.precision is not None:
            words += (
                f"\nCheck with {self.n_changed:,} labels changed on purpose: {self.precision:.0%} of as many first "
                f"documents were among them, by chance {self.chance:.0%}. "
                f"They cost {decimals(self.lost or 0.0)} of {self.metric} on the true labels."
            )
        return [table, words]

    def _values(self) -> Mapping[str, Any]:
        check = {"n_changed": self.n_changed, "precision": self.precision, "chance": self.chance, "lost": self.lost}
        return {"metric": self.metric, "value": self.value, "labels": self._rows(), "check": check}

    def _columns(self) -> Mapping[str, Any]:
        return rows_as_columns(self._rows()) if len(self.rows) else {"row": [], "qid": [], "label": [], "cost": []}


def suspicious_labels(
    ranker: sr.Ranker,
    data: sr.Dataset,
    metric: str | sr.metrics.Metric = "ndcg@10",
    *,
    n_folds: int = 5,
    change: float = 0.0,
    random_state: int = 0,
) -> SuspiciousLabels:
    """Find labels to judge again: those that rankers contradict which were trained on other queries.

    Every query is scored by a ranker that did not see it. Within each fold, the mean label of documents with such
    scores (isotonic regression on the scores, or on the scores standardized within queries if that fits better) is what
    to expect. A document is the more suspicious, the farther its label is from that, in standard deviations.

    Args:
        ranker: A ranker with the parameters to train with; it is not changed.
        data: The judged documents.
        metric: What wrong labels cost is measured with it.
        n_folds: Number of parts of the queries, from 3.
        change: If above 0, a check: this share of the labels is changed to another label at random, and the search is
            done again. `precision` says how many of them it finds, and `lost` what they cost. Twice the time.
        random_state: Seed of the folds and of the changes.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((60,), n_features=4, n_documents=10, levels=3, random_state=0)
    >>> found = sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data, "ndcg@5", n_folds=3, change=0.1)
    >>> found.precision > 3 * found.chance
    True
    """
    chosen = parse_metric(metric)
    if isinstance(change, bool) or not isinstance(change, int | float) or not 0 <= change < 1:
        raise ParameterError(f"change must be a share of the labels, from 0 to below 1; found {change!r}.")
    levels = np.unique(data.labels)
    if len(levels) < 2:
        raise DataError("all labels are equal: none is suspicious.")
    if len(levels) > _MOST_LEVELS:
        raise DataError(f"there are {len(levels):,} different labels: this is for at most {_MOST_LEVELS} grades.")
    scores = _out_of_fold(ranker, data, n_folds, random_state)
    value = sr.evaluate(data, scores[0], chosen).results[0].mean
    expected, suspicion = _expected_labels(data, *scores)
    suggested = levels[np.argmin(np.abs(expected[:, None] - levels), axis=1)]
    rows = np.flatnonzero(suggested != data.labels)
    rows = rows[np.argsort(-suspicion[rows], kind="stable")]
    check = _check(ranker, data, chosen, n_folds, change, random_state, value) if change else {}
    return SuspiciousLabels(
        str(chosen),
        value,
        rows,
        data.qids[query_of_row(data.indptr, data.order)][rows],
        None if data.docid is None else data.docid[rows],
        data.labels[rows],
        expected[rows],
        suggested[rows],
        _costs(data, scores[0], chosen, rows, suggested),
        **check,
    )


def _out_of_fold(ranker: sr.Ranker, data: sr.Dataset, n_folds: int, random_state: int) -> tuple[Floats, Ints]:
    """The score of every row by a ranker that did not see its query, and the number of the fold."""
    from sklearn.base import clone

    scores, fold_of = np.empty(len(data)), np.empty(len(data), np.int64)
    for number, fold in enumerate(make_folds(data, n_folds, random_state)):
        parts = fold.load()
        fitted = clone(ranker).fit(parts.train, valid=parts.vali)
        rows = np.concatenate([data.rows(query) for query in _queries_of(data, parts.test)])
        own = np.concatenate([parts.test.rows(query) for query in range(parts.test.n_queries)])
        scores[rows] = fitted.predict(parts.test)[own]
        fold_of[rows] = number
    return scores, fold_of


def _queries_of(data: sr.Dataset, part: sr.Dataset) -> list[int]:
    number = {qid: query for query, qid in enumerate(data.qids.tolist())}
    return [number[qid] for qid in part.qids.tolist()]


def _expected_labels(data: sr.Dataset, scores: Floats, fold_of: Ints) -> tuple[Floats, Floats]:
    """The label to expect of each row, and how far its own is from it, in standard deviations."""
    from sklearn.isotonic import IsotonicRegression

    standing = np.empty(len(data))
    for query in range(data.n_queries):
        rows = data.rows(query)
        standing[rows] = (scores[rows] - scores[rows].mean()) / (scores[rows].std() or 1.0)
    expected, spread = np.empty(len(data)), np.empty(len(data))
    for fold in np.unique(fold_of):
        rows = np.flatnonzero(fold_of == fold)
        labels = data.labels[rows]
        guesses = [IsotonicRegression().fit_transform(by[rows], labels) for by in (scores, standing)]
        errors = [float(((guess - labels) ** 2).mean()) for guess in guesses]
        expected[rows] = guesses[int(np.argmin(errors))]
        spread[rows] = np.sqrt(min(errors))
    return expected, np.abs(data.labels - expected) / np.maximum(spread, 1e-12)


def _costs(data: sr.Dataset, scores: Floats, metric: sr.metrics.Metric, rows: Ints, suggested: Floats) -> Floats:
    """The change of the metric of a row's query if the row had the suggested label."""
    costs, query_of = np.empty(len(rows)), query_of_row(data.indptr, data.order)[rows]
    sizes = np.diff(data.indptr)[query_of]
    start = 0
    while start < len(rows):
        stop = max(start + 1, int(np.searchsorted(np.cumsum(sizes[start:]), _MOST_ROWS)) + start)
        lists = [np.asarray(data.rows(query)) for query in query_of[start:stop]]
        every, bounds = np.concatenate(lists), np.concatenate(([0], np.cumsum(sizes[start:stop]))).astype(np.int64)
        docid = None if data.docid is None else data.docid[every]
        before = data.labels[every]
        changed = np.repeat(rows[start:stop], sizes[start:stop]) == every
        after = np.where(changed, suggested[every], before)
        found = [metric.per_query(labels, scores[every], bounds, docid=docid) for labels in (after, before)]
        costs[start:stop] = np.nan_to_num(found[0]) - np.nan_to_num(found[1])
        start = stop
    return costs


def _check(
    ranker: sr.Ranker,
    data: sr.Dataset,
    metric: sr.metrics.Metric,
    n_folds: int,
    change: float,
    random_state: int,
    value: float,
) -> dict[str, Any]:
    generator, levels = random_generator(random_state), np.unique(data.labels)
    rows = generator.permutation(len(data))[: max(1, round(change * len(data)))]
    labels = data.labels.copy()
    code = np.searchsorted(levels, labels[rows]) + generator.integers(1, len(levels), len(rows))
    labels[rows] = levels[code % len(levels)]
    noisy = data.replace(labels=labels)
    scores = _out_of_fold(ranker, noisy, n_folds, random_state)
    first = np.argsort(-_expected_labels(noisy, *scores)[1], kind="stable")[: len(rows)]
    return {
        "n_changed": len(rows),
        "precision": float(np.isin(first, rows).mean()),
        "chance": len(rows) / len(data),
        "lost": value - sr.evaluate(data, scores[0], metric).results[0].mean,
    }
