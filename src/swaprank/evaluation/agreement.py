"""Agreement of judges about labels: Cohen's kappa, Krippendorff's alpha, the table of who said what.

All of them are functions of sums over queries: of the table of two judges' labels, or of coincidences of labels. So
the bootstrap draws queries, adds up their tables, and computes the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.judgements import Qrels
from swaprank.errors import DataError
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, counted, decimals
from swaprank.seeds import random_generator

_MOST_LABELS = 100


@final
@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """How far judges agree; prints as tables. Look up a measure by its name: `agreement["kappa"]`.

    >>> import swaprank as sr
    >>> isinstance(sr.evaluation.agreement([1, 0, 1], [1, 0, 0]), sr.evaluation.Agreement)
    True
    """

    values: Mapping[str, float]
    """agreement, kappa, kappa linear, kappa quadratic (two judges); alpha nominal, alpha ordinal, alpha interval."""
    intervals: Mapping[str, tuple[float, float]]
    """95% intervals by a bootstrap over queries; NaN for fewer than two queries."""
    labels: Floats
    confusion: Ints | None
    """For two judges: how often the first gave the label of the row, and the second that of the column."""
    n_documents: int
    """Documents with two judgements or more."""
    n_single: int
    """Documents with one judgement or none, which say nothing about agreement."""
    n_queries: int

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"measure": name, "value": value, "low": self.intervals[name][0], "high": self.intervals[name][1]}
            for name, value in self.values.items()
        ]

    def _blocks(self) -> Blocks:
        rows = [
            [row["measure"], decimals(row["value"]), f"{decimals(row['low'])} to {decimals(row['high'])}"]
            for row in self._rows()
        ]
        documents, queries = (
            counted(self.n_documents, "document", "documents"),
            counted(self.n_queries, "query", "queries"),
        )
        known = f"{documents} of {queries} with two labels or more, {self.n_single:,} with fewer."
        blocks: list[Table | str] = [Table(["measure", "value", "95% interval"], rows), known]
        if self.confusion is not None:
            names = [f"{label:g}" for label in self.labels.tolist()]
            cells = [[name, *map(str, row)] for name, row in zip(names, self.confusion.tolist(), strict=True)]
            blocks.insert(1, Table(["first \\ second", *names], cells))
        return blocks

    def _values(self) -> Mapping[str, Any]:
        return {
            "measures": self._rows(),
            "labels": self.labels,
            "confusion": self.confusion,
            "n_documents": self.n_documents,
            "n_single": self.n_single,
            "n_queries": self.n_queries,
        }

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._rows())


def agreement(*judges: Any, qid: ArrayLike | None = None, n_resamples: int = 1_000, random_state: int = 0) -> Agreement:
    """How far two or more judges, such as people and a language model, agree about the labels of documents.

    Args:
        judges: For each judge, one label per document in the same order, NaN where there is none; or TREC judgements
            of each, which are matched by query and document.
        qid: The query of each document, for intervals. TREC judgements have their own. If None, every document is a
            query of its own.
        n_resamples: Number of draws of queries for the intervals.
        random_state: Seed of the draws.

    >>> import swaprank as sr
    >>> people, model = [0, 0, 1, 1, 2, 2, 0, 1], [0, 0, 1, 2, 2, 2, 0, 0]
    >>> print(sr.evaluation.agreement(people, model, qid=[1, 1, 2, 2, 3, 3, 4, 4]))
    measure           value      95% interval
    ...
    """
    if len(judges) < 2:
        raise DataError(f"agreement needs the labels of two judges or more, found {len(judges)}.")
    ratings, queries = _from_qrels(judges) if isinstance(judges[0], Qrels) else _from_arrays(judges, qid)
    labels = np.unique(ratings[~np.isnan(ratings)])
    if len(labels) > _MOST_LABELS:
        raise DataError(f"there are {len(labels)} different labels: agreement is for at most {_MOST_LABELS} grades.")
    enough = (~np.isnan(ratings)).sum(axis=0) >= 2
    if not enough.any():
        raise DataError("no document has labels of two judges.")
    ratings, queries = ratings[:, enough], np.unique(queries[enough], return_inverse=True)[1]
    codes = np.where(np.isnan(ratings), -1, np.searchsorted(labels, ratings)).astype(np.int64)
    measures = _measures(labels, len(judges))
    tables = {"coincidences": _coincidences(codes, queries, len(labels))}
    if len(judges) == 2:
        tables["confusion"] = _confusions(codes, queries, len(labels))
    whole = {name: table.sum(axis=0) for name, table in tables.items()}
    values = {name: measure(whole[source]) for name, (source, measure) in measures.items()}
    n_queries = int(queries.max()) + 1
    intervals = _intervals(measures, tables, n_queries, n_resamples, random_state)
    confusion = np.round(whole["confusion"]).astype(np.int64) if "confusion" in whole else None
    return Agreement(values, intervals, labels, confusion, int(enough.sum()), int((~enough).sum()), n_queries)


Measure = Callable[[Floats], float]


def _measures(labels: Floats, n_judges: int) -> dict[str, tuple[str, Measure]]:
    """Each measure with the table that it is a function of."""
    ranks = np.arange(len(labels), dtype=np.float64)
    apart = np.abs(ranks[:, None] - ranks)
    kappas: dict[str, tuple[str, Measure]] = {
        "agreement": ("confusion", lambda table: float(np.trace(table) / table.sum())),
        "kappa": ("confusion", lambda table: _kappa(table, (apart > 0).astype(np.float64))),
        "kappa linear": ("confusion", lambda table: _kappa(table, apart)),
        "kappa quadratic": ("confusion", lambda table: _kappa(table, apart**2)),
    }
    alphas: dict[str, tuple[str, Measure]] = {
        "alpha nominal": ("coincidences", lambda table: _alpha(table, (apart > 0).astype(np.float64))),
        "alpha ordinal": ("coincidences", lambda table: _alpha(table, _ordinal(table))),
        "alpha interval": ("coincidences", lambda table: _alpha(table, (labels[:, None] - labels) ** 2)),
    }
    return (kappas if n_judges == 2 else {}) | alphas


def _kappa(table: Floats, costs: Floats) -> float:
    """Cohen's kappa, with a cost for each pair of labels [Cohen1968]; NaN if chance alone never disagrees."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    by_chance = float((costs * expected).sum())
    return 1.0 - float((costs * table).sum()) / by_chance if by_chance > 0 else float("nan")


def _alpha(coincidences: Floats, costs: Floats) -> float:
    """Krippendorff's alpha from the coincidences of labels [Krippendorff2011]; NaN if there is only one label."""
    totals = coincidences.sum(axis=0)
    expected = np.outer(totals, totals) - np.diag(totals)
    by_chance = float((costs * expected).sum()) / (totals.sum() - 1.0)
    return 1.0 - float((costs * coincidences).sum()) / by_chance if by_chance > 0 else float("nan")


def _ordinal(coincidences: Floats) -> Floats:
    """The squared number of values between two labels, half of the two themselves included."""
    totals = coincidences.sum(axis=0)
    middle = np.cumsum(totals) - totals / 2.0
    return np.asarray((middle[:, None] - middle) ** 2)


def _coincidences(codes: Ints, queries: Ints, n_labels: int) -> Floats:
    """(queries, labels, labels): ordered pairs of judges of a document; one with m labels counts 1 / (m - 1) each."""
    table = np.zeros((int(queries.max()) + 1, n_labels, n_labels))
    share = 1.0 / ((codes >= 0).sum(axis=0) - 1.0)
    for first in range(len(codes)):
        for second in range(len(codes)):
            both = (codes[first] >= 0) & (codes[second] >= 0)
            if first != second:
                np.add.at(table, (queries[both], codes[first, both], codes[second, both]), share[both])
    return table


def _confusions(codes: Ints, queries: Ints, n_labels: int) -> Floats:
    """(queries, labels, labels): documents by the labels of two judges."""
    table = np.zeros((int(queries.max()) + 1, n_labels, n_labels))
    np.add.at(table, (queries, codes[0], codes[1]), 1.0)
    return table


def _intervals(
    measures: Mapping[str, tuple[str, Measure]],
    tables: Mapping[str, Floats],
    n_queries: int,
    n_resamples: int,
    random_state: int,
) -> dict[str, tuple[float, float]]:
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int) or n_resamples < 1:
        raise DataError(f"n_resamples must be a whole number from 1, found {n_resamples!r}.")
    if n_queries < 2:
        return dict.fromkeys(measures, (float("nan"), float("nan")))
    generator = random_generator(random_state)
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(n_resamples):
        times = np.bincount(generator.integers(0, n_queries, n_queries), minlength=n_queries).astype(np.float64)
        drawn = {name: np.tensordot(times, table, axes=1) for name, table in tables.items()}
        for name, (source, measure) in measures.items():
            found[name].append(measure(drawn[source]))
    return {name: _middle_95(np.array(values)) for name, values in found.items()}


def _middle_95(values: Floats) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975]).tolist()
    return low, high


def _from_arrays(judges: Sequence[Any], qid: ArrayLike | None) -> tuple[Floats, AnyArray]:
    try:
        rows = [np.asarray(judge, np.float64) for judge in judges]
    except (TypeError, ValueError) as error:
        raise DataError(f"labels must be numbers, NaN where there is none: {error}.") from None
    shapes = {row.shape for row in rows}
    if len(shapes) > 1 or rows[0].ndim != 1:
        raise DataError(f"every judge needs one label per document, NaN where there is none; found shapes {shapes}.")
    if any(np.isinf(row).any() for row in rows):
        raise DataError("labels must be finite, or NaN where there is none.")
    queries = np.arange(len(rows[0])) if qid is None else np.asarray(qid)
    if queries.shape != rows[0].shape:
        raise DataError(f"qid must be one per document, {len(rows[0]):,} in all; found shape {queries.shape}.")
    return np.stack(rows), queries


def _from_qrels(judges: Sequence[Any]) -> tuple[Floats, AnyArray]:
    if not all(isinstance(judge, Qrels) for judge in judges):
        raise DataError("give the labels of all judges as arrays, or of all as TREC judgements.")
    given = [judge.to_dict() for judge in judges]
    keys = dict.fromkeys((qid, docid) for labels in given for qid, of_query in labels.items() for docid in of_query)
    ratings = np.array([[labels.get(qid, {}).get(docid, np.nan) for qid, docid in keys] for labels in given])
    return ratings.astype(np.float64), np.array([qid for qid, _ in keys])
