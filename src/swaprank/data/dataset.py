"""The data set class: judged documents grouped by query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints, ReadOnly
from swaprank.collective import ALONE
from swaprank.data import row_values, side_columns
from swaprank.data.categories import Categories
from swaprank.data.features import given_features, replaced_features
from swaprank.data.frames import columns_of
from swaprank.data.grouping import (
    Grouping,
    chosen_queries,
    group_rows,
    order_within,
    query_of_row,
    runs_of_groups,
    split_queries,
)
from swaprank.data.ids import document_ids
from swaprank.data.matching import position_among, position_of
from swaprank.data.pairs import Pairs, check_pairs, pairs_in_order, pairs_within
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import THE_DATA, DataError
from swaprank.peer_names import check_arguments

if TYPE_CHECKING:
    from swaprank.data.document_places import Places


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Dataset(ReadOnly):
    """Documents with features and labels, grouped by query.

    Rows may be in any order. Every array with one value per row (features, labels, docid, …) keeps the order of the
    input rows, and so do the scores that a ranker predicts. `order` and `indptr` define which rows belong to which
    query. The arrays are read-only. A contiguous float32 matrix is not copied, so changing it changes the data set.

    Args:
        X: Documents x features: an array, nested lists, a scipy.sparse matrix, or a pandas, Polars or Arrow table, of
            which all columns are features. NaN, null and masked values are missing values. Values are stored as
            float32; a PrecisionWarning names columns that lose most of their distinct values, such as time stamps.
            Columns of text or of categories are categorical features.
        y: Labels, one per row: any finite numbers, larger is better.
        qid: Query ids, one per row: integers of any size, or text.
        group: Instead of qid: the number of rows of each query, if the rows are grouped, as for LightGBM and XGBoost.
        sample_weight: Training weights, one per row, 0 or more.
        query_weight: Training weights, one per query in the order in which the queries first appear, or by query id;
            or the name of a side column. They multiply sample_weight.
        base_score: Initial scores for training, one per row.
        docid: Document ids, one per row: integers or text, empty text for none. They may repeat. If those of a query
            differ, the order of its rows does not matter to trees.
        pairs: Preferences (i, j, p, w): row i is above row j with probability p, and counts w. Both are 1 by default.
        columns: Side columns by name, one value per row: numbers, dates or text that are no features. Segments, prices,
            the scores of another ranking: evaluation, metrics and weights name them.
        feature_names: One name per feature. The default is the column names of a table, or "1", "2", … as in LETOR
            files.
        categorical_features: Features whose values are categories and not quantities, by name or by position from 0:
            shop numbers, for example. Columns of text need not be declared. Values are whole numbers or text.
        unknown: None; arguments of other libraries raise an ArgumentError that says what they are called here.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[0.1], [0.7], [0.4]], [0, 2, 1], qid=["shoes", "shoes", "hats"])
    >>> data
    Dataset(3 documents, 2 queries, 1 feature, labels 0 to 2)
    >>> data.qids.tolist(), data.indptr.tolist()
    (['shoes', 'hats'], [0, 2, 3])

    A categorical feature is stored as the number of its category:

    >>> data = sr.Dataset([[0.1, 7], [0.7, 12], [0.4, 7]], [0, 2, 1], qid=[1, 1, 1], categorical_features=[1])
    >>> data.categories, data.column(1).tolist()
    ({'2': ('7', '12')}, [0.0, 1.0, 0.0])
    """

    stored: StoredFeatures
    """The features with their names and categories, as values or as bins."""
    labels: Floats
    qids: AnyArray
    """One id per query, in the order in which the queries first appear."""
    indptr: Ints
    """Query q has the rows `order[indptr[q]:indptr[q + 1]]`, or `indptr[q]` to `indptr[q + 1]` if order is None."""
    order: Ints | None
    """The rows grouped by query; None if the input rows are grouped already."""
    sample_weight: Floats | None
    base_score: Floats | None
    docid: AnyArray | None
    pairs: Pairs | None
    columns: Mapping[str, AnyArray]
    """Side columns: named values of rows that are no features."""

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        docid: Any = None,
        pairs: Any = None,
        columns: Mapping[str, Any] | None = None,
        feature_names: Sequence[str] | None = None,
        categorical_features: Iterable[str | int] | None = None,
        **unknown: Any,
    ) -> None:
        check_arguments(unknown, _ARGUMENTS, "Dataset")
        if y is None:
            raise DataError("y is missing: one label per row of ", THE_DATA, ".")
        stored = given_features(X, feature_names, categorical_features)
        n_rows = stored.n_rows
        labels = row_values.number_column("y", y, n_rows)
        if (qid is None) == (group is None):
            raise DataError("give qid, one query id per row, or group, the number of rows of each query.")
        grouping = group_rows(runs_of_groups(group, n_rows) if qid is None else qid, n_rows)
        side = side_columns.checked_columns(columns, n_rows, stored.names)
        if isinstance(query_weight, str):
            query_weight = _of_queries(side, query_weight, grouping)
        self._fill(
            stored=stored,
            labels=labels,
            qids=grouping.qids,
            indptr=grouping.indptr,
            order=grouping.order,
            sample_weight=row_values.row_weights(sample_weight, query_weight, grouping, n_rows),
            base_score=None if base_score is None else row_values.base_scores(base_score, n_rows),
            docid=None if docid is None else document_ids(docid, n_rows),
            pairs=None if pairs is None else check_pairs(pairs, grouping.indptr, grouping.order),
            columns=side,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str = "label",
        qid: str = "qid",
        features: Sequence[str] | None = None,
        *,
        sample_weight: str | None = None,
        query_weight: str | None = None,
        base_score: str | None = None,
        docid: str | None = None,
        pairs: Any = None,
        columns: Sequence[str] = (),
        categorical_features: Iterable[str | int] | None = None,
        ignore: Iterable[str] = (),
    ) -> Dataset:
        """A data set from a pandas, Polars or Arrow table. The default features are all columns without another role.

        Columns of text and of categories are categorical features; `categorical_features` declares others. `columns`
        are side columns, and so is that of `query_weight`. Those of `ignore` are left out.

        >>> import pandas as pd, swaprank as sr
        >>> frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "bm25": [3.2, 8.1], "brand": ["nike", "asics"]})
        >>> data = sr.Dataset.from_frame(frame)
        >>> data.feature_names, data.categories
        (('bm25', 'brand'), {'brand': ('asics', 'nike')})
        >>> sr.Dataset.from_frame(frame, columns=["brand"])
        Dataset(2 documents, 1 query, 1 feature, labels 0 to 1, column brand)
        """
        roles = {"sample_weight": sample_weight, "base_score": base_score, "docid": docid}
        side = tuple(dict.fromkeys((*columns, *([] if query_weight is None else [query_weight]))))
        table = columns_of(frame, label, qid, features, roles, categorical_features, side=side, ignore=ignore)
        return cls(
            table.X,
            table.label,
            qid=table.qid,
            query_weight=query_weight,
            pairs=pairs,
            columns=table.side,
            **table.roles,
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.qids)

    @property
    def features(self) -> Features:
        """Documents x features; a binned data set has none, which is a DataError."""
        return self.stored.values

    @property
    def is_binned(self) -> bool:
        """True if it has the bins of features instead of their values."""
        return self.stored.is_binned

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.stored.names

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    @property
    def categories(self) -> Mapping[str, Categories]:
        """The values of each categorical feature as text; the feature matrix has their numbers, from 0."""
        return self.stored.categories

    @property
    def categorical(self) -> Ints:
        """The positions of the categorical features."""
        return self.stored.categorical

    @property
    def places(self) -> Places:
        """The place of each document, grouped by query, which its random choices depend on."""
        # Imported here because importing Numba takes time.
        from swaprank.data.document_places import Places, query_keys

        return Places(np.array(self.indptr), query_keys(self.qids))

    def __repr__(self) -> str:
        def count(n: int, one: str, many: str) -> str:
            return f"{n:,} {one if n == 1 else many}"

        parts = [
            count(len(self), "document", "documents"),
            count(self.n_queries, "query", "queries"),
            count(self.n_features, "feature", "features")
            + (f" ({len(self.categories):,} categorical)" if self.categories else ""),
            f"labels {self.labels.min():g} to {self.labels.max():g}",
            *([] if self.pairs is None else [count(len(self.pairs.above), "pair", "pairs")]),
            *([f"column{'s' if len(self.columns) > 1 else ''} {', '.join(self.columns)}"] if self.columns else []),
            *(["binned"] if self.is_binned else []),
        ]
        return f"Dataset({', '.join(parts)})"

    def rows(self, query: int) -> Ints:
        """The rows of one query, given its position in `qids`, in input order.

        >>> import swaprank as sr
        >>> sr.Dataset([[1.0], [2.0], [3.0]], [0, 0, 1], qid=[5, 6, 5]).rows(0).tolist()
        [0, 2]
        """
        position = position_among("query", query, self.n_queries)
        start, stop = self.indptr[position], self.indptr[position + 1]
        return np.arange(start, stop) if self.order is None else self.order[start:stop]

    def column(self, feature: int | str) -> Features:
        """One feature of every row, by position or name; it can serve as scores unless it is categorical.

        Side columns are in `columns`.

        >>> import swaprank as sr
        >>> sr.Dataset([[1, 9], [2, 8]], [0, 1], qid=[1, 1], feature_names=["age", "bm25"]).column("bm25")
        array([9., 8.], dtype=float32)
        """
        return self.stored.column(position_of(feature, self.feature_names))

    def of_queries(self, column: str) -> AnyArray:
        """A side column or a feature with one value per query, categories as text; an error if the rows of one differ.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[7, 7, 8], columns={"device": ["phone", "phone", "web"]})
        >>> data.of_queries("device").tolist()
        ['phone', 'web']
        """
        columns = self.columns
        if column not in columns and column in self.feature_names:
            columns = {column: self._feature_values(column)}
        return _of_queries(columns, column, Grouping(self.qids, self.indptr, self.order))

    def _feature_values(self, name: str) -> AnyArray:
        """A feature as values of rows: numbers, or the text of categories."""
        values = self.column(name)
        if name not in self.categories:
            return values
        known = self.categories[name]
        return np.array([side_columns.MISSING if code != code else known[int(code)] for code in values.tolist()])

    def replace(
        self,
        *,
        labels: Any = ...,
        features: Any = ...,
        sample_weight: Any = ...,
        base_score: Any = ...,
        docid: Any = ...,
        pairs: Any = ...,
        columns: Any = ...,
    ) -> Dataset:
        """The same documents and queries with other values of what is given; everything else is shared, not copied.

        Args:
            labels: One label per row.
            features: One row of features per row, as X of a data set. An array of as many columns keeps the names and
                categories of the columns; a table has its own.
            sample_weight: One training weight per row, or None for none.
            base_score: One initial score per row, or None.
            docid: One document id per row, or None.
            pairs: Preferences between rows, or None.
            columns: Side columns by name, instead of all that there are; or None.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[0.1], [0.7]], [0, 2], qid=["shoes", "shoes"], docid=["a", "b"])
        >>> relabeled = data.replace(labels=data.labels > 0, docid=None)
        >>> relabeled.labels.tolist(), relabeled.docid, relabeled.features is data.features
        ([0.0, 1.0], None, True)
        """
        n_rows, changes = len(self), dict[str, Any]()
        if labels is not ...:
            changes["labels"] = row_values.number_column("labels", labels, n_rows)
        if features is not ...:
            changes["stored"] = replaced_features(self.stored, features)
        if sample_weight is not ...:
            changes["sample_weight"] = (
                None if sample_weight is None else row_values.checked_weights(sample_weight, n_rows)
            )
        if base_score is not ...:
            changes["base_score"] = None if base_score is None else row_values.base_scores(base_score, n_rows)
        if docid is not ...:
            changes["docid"] = None if docid is None else document_ids(docid, n_rows)
        if pairs is not ...:
            changes["pairs"] = None if pairs is None else check_pairs(pairs, self.indptr, self.order)
        if columns is not ...:
            changes["columns"] = side_columns.checked_columns(columns, n_rows, self.feature_names)
        return self._with(**changes)

    def with_features(
        self,
        names: Sequence[str],
        *,
        categories: Mapping[str, Categories] | None = None,
        new_categories: bool = False,
        whose: str = "the model",
        where: str = "the data",
    ) -> Dataset:
        """The same documents with the features of a model, matched by name; itself if it has just these.

        Other features are dropped. If one of the two has no names but numbers, the features must be as many, are taken
        in their order, and get the names of the other.

        Args:
            names: The names of the features.
            categories: The categories of the model, by feature name: values are matched as text and get the numbers of
                the model. A category that the model does not know becomes a missing value. If None, features keep
                their own categories.
            new_categories: Categories that the model does not know are numbered after its own instead.
            whose: For error messages: whose features are wanted.
            where: For error messages: where they are wanted.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1, 9], [2, 8]], [0, 1], qid=[1, 1], feature_names=["age", "bm25"])
        >>> data.with_features(["bm25"]).features.tolist()
        [[9.0], [8.0]]
        >>> data.with_features(["age"], categories={"age": ("2", "3")}).features.tolist()
        [[nan], [0.0]]
        """
        matched = self.stored.matched(names, categories, new_categories, whose, where)
        return self if matched is self.stored else self._with(stored=matched)

    def by_query(self, values: AnyArray) -> AnyArray:
        """Reorder one value per row so that they are grouped by query, as `indptr` expects."""
        return values if self.order is None else values[self.order]

    def as_given(self, values: AnyArray) -> AnyArray:
        """The inverse of `by_query`: back to the order of the input rows."""
        if self.order is None:
            return values
        given = np.empty_like(values)
        given[self.order] = values
        return given

    def by_docid(self) -> Dataset:
        """The same rows, with the documents of each query in an order that their ids decide, if there are ids.

        It is the order of hashes of the ids, which says nothing of labels. Documents of a query with the same id, or
        without one, keep their order. Trees are trained in this order, so that the order of the rows does not matter.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[7, 7, 7], docid=["x", "y", "z"])
        >>> data.by_docid().rows(0).tolist()
        [0, 2, 1]
        """
        if self.docid is None:
            return self
        # Imported here because importing Numba takes time.
        from swaprank.data.document_places import query_keys

        order = np.lexsort((query_keys(self.docid), query_of_row(self.indptr, self.order))).astype(np.int64)
        pairs = None if self.pairs is None else pairs_in_order(self.pairs, order)
        return self._with(order=order, pairs=pairs)

    def subset(self, queries: Any) -> Dataset:
        """The chosen queries with all their rows: given by positions, a slice, or a boolean mask over queries.

        Rows keep their order. Consecutive rows share memory with this data set; other choices are copied.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[5, 6, 7])
        >>> data.subset([0, 2]).qids.tolist()
        [5, 7]
        """
        is_chosen = chosen_queries(queries, self.n_queries)
        rows = np.flatnonzero(is_chosen[query_of_row(self.indptr, self.order)])
        contiguous = rows[-1] - rows[0] + 1 == len(rows)
        take: Any = slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows
        by_row = {name: getattr(self, name) for name in ("labels", "sample_weight", "base_score", "docid")}
        return self._with(
            **{name: None if values is None else values[take] for name, values in by_row.items()},
            columns={name: values[take] for name, values in self.columns.items()},
            stored=self.stored.rows(take),
            qids=self.qids[is_chosen],
            indptr=np.concatenate(([0], np.cumsum(np.diff(self.indptr)[is_chosen]))),
            order=None if self.order is None else order_within(self.order, rows),
            pairs=None if self.pairs is None else pairs_within(self.pairs, rows, len(self)),
        )

    def binned(self, like: Dataset | None = None, *, max_bins: int = 255, n_threads: int | None = None) -> Dataset:
        """The same documents with bins instead of values: a byte each instead of four.

        Rankers made of trees learn the same model from bins as from values, if they have the same `max_bins`.

        Args:
            like: A binned data set whose cuts are taken, for validation data: that of training.
            max_bins: How many bins a feature has at most.
            n_threads: The number of threads. The default is all cores.

        >>> import swaprank as sr
        >>> train, vali = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
        >>> binned = train.binned()
        >>> ranker = sr.LambdaMART(n_trees=5).fit(binned, valid=vali.binned(like=binned))
        >>> (ranker.predict(train) == ranker.predict(binned)).all()
        np.True_
        """
        from swaprank.data.cuts import checked_bins, cuts_of

        if like is not None:
            cuts, whose = cuts_of(like), "the data it is binned like"
            stored = self.stored.matched(like.feature_names, like.categories, False, whose, "the data")
            return self._with(stored=stored.binned(cuts, n_threads))
        if self.is_binned:
            return self
        # Imported here because importing Numba takes time.
        from swaprank.data.document_places import sampled_places

        cuts = self.stored.find_cuts(sampled_places(self), self.order, checked_bins(max_bins), n_threads, ALONE)
        return self._with(stored=self.stored.binned(cuts, n_threads))

    def save_bins(self, path: str | os.PathLike[str]) -> None:
        """Write a binned data set to a file, whose name ends in .bins; `swaprank.read` memory-maps it.

        >>> import pathlib, tempfile, swaprank as sr
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.bins"
        >>> (data,) = sr.datasets.random_net((20,), n_features=5, random_state=0)
        >>> data.binned().save_bins(path)
        >>> sr.read(path)
        Dataset(1,000 documents, 20 queries, 5 features, labels 0 to 5, binned)
        """
        from swaprank.data.bins_writing import write_bins

        write_bins(self, path)

    def split(self, fractions: Sequence[float], random_state: int | None = None) -> tuple[Dataset, ...]:
        """Split the queries at random into parts of about the given fractions.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[float(i)] for i in range(10)], [0, 1] * 5, qid=[i // 2 for i in range(10)])
        >>> [part.n_queries for part in data.split((0.6, 0.2, 0.2), random_state=0)]
        [3, 1, 1]
        """
        return tuple(self.subset(part) for part in split_queries(self.n_queries, fractions, random_state))


def _of_queries(columns: Mapping[str, AnyArray], name: str, grouping: Grouping) -> AnyArray:
    values = side_columns.known_column(columns, name)
    by_query = values if grouping.order is None else values[grouping.order]
    return side_columns.first_of_groups(f"'{name}'", by_query, grouping.indptr, "query", grouping.qids)


_ARGUMENTS = [name for name in signature(Dataset).parameters if name != "unknown"]
