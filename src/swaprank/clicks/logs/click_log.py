"""The click log: documents that were shown, their places, and the clicks on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, final, get_args

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints, ReadOnly, read_only
from swaprank.clicks.logs.log_columns import (
    checked_clicks,
    features_of_pairs,
    in_order,
    numbers_between,
    rows_of_pairs,
    shown_documents,
    table_roles,
    with_qid,
)
from swaprank.clicks.logs.log_context import values_of_sessions
from swaprank.clicks.logs.log_summary import LogSummary, context_rates
from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.data.frames import role_columns
from swaprank.data.grouping import checked_fractions, query_of_row
from swaprank.errors import DataError, Hint, ParameterError
from swaprank.parameters import check_word
from swaprank.rendering.tables import counted
from swaprank.seeds import random_generator

Missing = Literal["error", "drop", "nan"]


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClickLog(ReadOnly):
    """A log of clicks: one row for each document that was shown, at one place of one session.

    A session is one page of results for one query. Rows may be in any order; they are sorted by session and position.
    A document is always meant together with its query: such a pair has one number, and its features are stored once.

    Args:
        session: Session ids, one per row: integers or text.
        qid: Query ids, one per row.
        docid: Document ids, one per row.
        position: The place of the document, from 1 at the top.
        click: 1 for a click and 0 for none; or a grade from 0 to 1, such as a share of dwell time, or a purchase.
        propensity: If logged: the probability that the document was shown at this place, above 0, up to 1.
        X: The features of the documents, one row per shown document, as for `Dataset`. Or add them later, with `join`.
        feature_names: One name per feature.
        context: Columns that describe the session, such as the device, the country or the user, by name: one value per
            row, the same in all rows of a session. Numbers, dates or text.
        binary: Any number above 0 in `click` is one click: for logs with numbers of clicks.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=["s1", "s1", "s2", "s2"], qid=[7, 7, 7, 7], docid=["a", "b", "b", "a"],
    ...     position=[1, 2, 1, 2], click=[1, 0, 1, 0],
    ... )
    >>> log
    ClickLog(2 sessions, 4 rows, 1 query, 2 documents, positions 1 to 2, 50.0% clicked)
    >>> log.document.tolist(), log.pair_docid.tolist()
    ([0, 1, 1, 0], ['a', 'b'])
    """

    session_ids: AnyArray
    indptr: Ints
    """Session s has the rows `indptr[s]` to `indptr[s + 1]`."""
    query: Ints
    """The number of each session's query in `qids`."""
    qids: AnyArray
    document: Ints
    """The number of each row's (query, document) pair."""
    pair_query: Ints
    """The number of each pair's query."""
    pair_docid: AnyArray
    """The document id of each pair."""
    pair_indptr: Ints
    """Query q has the pairs `pair_indptr[q]` to `pair_indptr[q + 1]`."""
    position: NDArray[np.int32]
    click: Floats
    propensity: Floats | None
    features: Features | None
    """One row per pair."""
    feature_names: tuple[str, ...]
    categories: Mapping[str, Categories]
    """The values of each categorical feature, as in `Dataset`."""
    context: Mapping[str, AnyArray]
    """Columns with one value per session, by name."""

    def __init__(
        self,
        *,
        session: Any,
        qid: Any,
        docid: Any,
        position: Any,
        click: Any,
        propensity: Any = None,
        X: Any = None,
        feature_names: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        binary: bool = False,
    ) -> None:
        order, shown = shown_documents(session, qid, docid, position)
        n_rows = len(shown["position"])
        given = None if propensity is None else numbers_between("propensity", propensity, n_rows, above_zero=True)
        self._fill(
            **shown,
            click=in_order(checked_clicks(click, n_rows, binary), order),
            propensity=None if given is None else in_order(given, order),
            features=None,
            feature_names=(),
            categories={},
            context=values_of_sessions(context or {}, order, shown["indptr"], shown["session_ids"]),
        )
        if X is not None:
            # The labels are not used; Dataset checks the features and their names.
            rows = Dataset(X, np.zeros(n_rows), group=[n_rows], feature_names=feature_names)
            if propensity is None and "propensity" in rows.feature_names:
                # As a feature, it would tell a ranker what was shown at the top.
                raise DataError(
                    "the column 'propensity' is no feature: if it has logged propensities, say so with ",
                    Hint("propensity", "propensity"),
                    "; or rename it.",
                )
            pair = np.empty(n_rows, np.int64)
            pair[slice(None) if order is None else order] = self.document
            features = features_of_pairs(rows.features, pair, self.n_pairs, self._pair_name)
            self._fill(**_feature_fields(rows, features))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        session: str = "session",
        qid: str = "qid",
        docid: str = "docid",
        position: str = "position",
        click: str = "click",
        *,
        propensity: str | None = None,
        features: Sequence[str] | None = None,
        context: Sequence[str] = (),
        binary: bool = False,
    ) -> ClickLog:
        """A click log from a pandas, Polars or Arrow table, given the names of its columns.

        The default features are all columns without another role; features=[] for none. Columns of text are
        categorical. If session and qid name the same column, every page is a query of its own.

        >>> import pandas as pd, swaprank as sr
        >>> frame = pd.DataFrame({"page": [1, 1], "query": ["shoes"] * 2, "docid": [8, 9], "position": [1, 2],
        ...                       "click": [0, 1], "bm25": [3.5, 1.5]})
        >>> sr.clicks.ClickLog.from_frame(frame, session="page", qid="query").features.tolist()
        [[3.5], [1.5]]
        """
        names = {"session": session, "qid": qid, "docid": docid, "position": position, "click": click}
        roles = table_roles(names, propensity, features, context)
        return cls(**with_qid(role_columns(frame, *roles)), binary=binary)

    @cached_property
    def session(self) -> Ints:
        """The number of each row's session in `session_ids`; made from `indptr` when it is first used."""
        return cast(Ints, read_only(query_of_row(self.indptr)))

    @property
    def n_sessions(self) -> int:
        """The number of sessions."""
        return len(self.query)

    @property
    def n_rows(self) -> int:
        """The number of rows: documents that were shown, once for each session."""
        return len(self.document)

    @property
    def n_pairs(self) -> int:
        """The number of different (query, document) pairs."""
        return len(self.pair_query)

    @property
    def n_queries(self) -> int:
        """The number of different queries."""
        return len(self.qids)

    @property
    def max_position(self) -> int:
        """The last position at which a document was shown."""
        return int(self.position.max())

    def __repr__(self) -> str:
        parts = [
            counted(self.n_sessions, "session", "sessions"),
            counted(self.n_rows, "row", "rows"),
            counted(self.n_queries, "query", "queries"),
            counted(self.n_pairs, "document", "documents"),
            f"positions {self.position.min()} to {self.max_position}",
            f"{self.click.mean():.1%} clicked",
        ]
        if self.features is not None:
            parts.append(counted(len(self.feature_names), "feature", "features"))
        if self.context:
            parts.append(f"context {', '.join(self.context)}")
        return f"ClickLog({', '.join(parts)})"

    def join(self, data: Dataset, *, missing: Missing = "error") -> ClickLog:
        """The same log with the features of a data set, matched by query id and document id.

        Args:
            data: The features, with document ids.
            missing: What to do about documents that the data set does not have. "error": raise a DataError. "drop":
                leave out their rows; the others keep their positions. "nan": their features are missing values.

        >>> import swaprank as sr
        >>> log = sr.clicks.ClickLog(session=[1, 1], qid=[7, 7], docid=["a", "b"], position=[1, 2], click=[1, 0])
        >>> data = sr.Dataset([[0.5], [1.5], [2.5]], [0, 0, 0], qid=[7, 7, 7], docid=["b", "c", "a"])
        >>> log.join(data).features.tolist()
        [[2.5], [0.5]]
        >>> log.join(data.replace(docid=["b", "c", "d"]), missing="drop").position.tolist()
        [2]
        """
        check_word("missing", missing, get_args(Missing))
        rows = rows_of_pairs(self.qids, self.pair_query, self.pair_docid, data, may_lack=missing != "error")
        features = data.features[rows]
        features[rows < 0] = np.nan
        joined = self._with(**_feature_fields(data, features))
        return joined._with_rows(rows[self.document] >= 0) if missing == "drop" else joined

    def _with_rows(self, kept: Bools) -> ClickLog:
        """Some of the rows, and the sessions that have any."""
        sizes = np.add.reduceat(kept.astype(np.int64), self.indptr[:-1])
        chosen = np.flatnonzero(sizes)
        if len(chosen) == 0:
            raise DataError("the data set has none of the documents that these sessions show.")
        return self._with(
            session_ids=self.session_ids[chosen],
            indptr=np.concatenate(([0], np.cumsum(sizes[chosen]))).astype(np.int64),
            query=self.query[chosen],
            document=self.document[kept],
            position=self.position[kept],
            click=self.click[kept],
            propensity=None if self.propensity is None else self.propensity[kept],
            context={name: values[chosen] for name, values in self.context.items()},
        )

    def subset(self, sessions: Any) -> ClickLog:
        """The chosen sessions: given by positions, a slice, or a boolean mask. Positions may repeat, as in a bootstrap.

        Queries and pairs keep their numbers, so that some of them may have no rows in the result.

        >>> import swaprank as sr
        >>> log = sr.clicks.ClickLog(
        ...     session=[4, 4, 5], qid=[7, 7, 8], docid=[1, 2, 1], position=[1, 2, 1], click=[1, 0, 1]
        ... )
        >>> part = log.subset([1])
        >>> part.session_ids.tolist(), part.click.tolist(), part.n_queries
        ([5], [1.0], 2)
        """
        try:
            chosen: Ints = np.arange(self.n_sessions)[sessions if isinstance(sessions, slice) else np.asarray(sessions)]
        except IndexError as error:
            raise DataError(f"there are {self.n_sessions:,} sessions, numbered from 0: {error}.") from None
        if len(chosen) == 0:
            raise DataError("a subset needs at least one session, found none.")
        sizes = np.diff(self.indptr)[chosen]
        indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        rows = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], sizes)
        return self._with(
            session_ids=self.session_ids[chosen],
            indptr=indptr,
            query=self.query[chosen],
            document=self.document[rows],
            position=self.position[rows],
            click=self.click[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
            context={name: values[chosen] for name, values in self.context.items()},
        )

    def split(
        self,
        fractions: Sequence[float],
        random_state: int | None = None,
        *,
        by: Literal["sessions", "queries"] = "sessions",
    ) -> tuple[ClickLog, ...]:
        """Split at random into parts of about the given fractions of the sessions, or of queries with their sessions.

        >>> import swaprank as sr
        >>> log = sr.clicks.ClickLog(session=range(10), qid=[7] * 10, docid=[1] * 10, position=[1] * 10, click=[1] * 10)
        >>> [part.n_sessions for part in log.split((0.8, 0.2), random_state=0)]
        [8, 2]
        """
        if by not in ("sessions", "queries"):
            raise ParameterError(f"by must be 'sessions' or 'queries'; found {by!r}.")
        n = self.n_sessions if by == "sessions" else self.n_queries
        cuts = np.rint(np.cumsum(checked_fractions(fractions)) * n).astype(int)
        part = np.empty(n, np.int64)
        part[random_generator(random_state).permutation(n)] = np.searchsorted(cuts, np.arange(n), side="right")
        of_session = part if by == "sessions" else part[self.query]
        if (np.bincount(of_session, minlength=len(cuts)) == 0).any():
            parts = ", ".join(f"{fraction:.0%}" for fraction in fractions)
            raise DataError(f"there are too few {by} to split them into parts of {parts}: {n:,}.")
        return tuple(self.subset(of_session == number) for number in range(len(cuts)))

    def summarize(self) -> LogSummary:
        """Click rates by position, sizes, and documents that changed places; prints as a table, and has a plot."""
        sessions_of_query = np.bincount(self.query)
        lowest = np.full(self.n_pairs, np.iinfo(np.int32).max, np.int32)
        highest = np.zeros(self.n_pairs, np.int32)
        np.minimum.at(lowest, self.document, self.position)
        np.maximum.at(highest, self.document, self.position)
        moved = highest > lowest
        shown = np.bincount(self.position)[1:]
        clicks = np.bincount(self.position, self.click)[1:]
        most_clicked = np.maximum.reduceat(self.click, self.indptr[:-1])
        n_values, rates = context_rates(
            self.context, np.add.reduceat(self.click, self.indptr[:-1]), np.diff(self.indptr)
        )
        return LogSummary(
            n_sessions=self.n_sessions,
            n_rows=self.n_rows,
            n_queries=int((sessions_of_query > 0).sum()),
            n_repeated=int((sessions_of_query > 1).sum()),
            n_documents=int((highest > 0).sum()),
            n_moved=int(moved.sum()),
            moved_share=float(moved[self.document].mean()),
            n_without_click=int((most_clicked == 0).sum()),
            clicks_per_session=float(self.click.sum() / self.n_sessions),
            has_propensity=self.propensity is not None,
            n_features=len(self.feature_names),
            shown=tuple(shown.tolist()),
            clicks=tuple(clicks.tolist()),
            context_values=n_values,
            context_rates=rates,
        )

    def _pair_name(self, pair: int) -> str:
        return f"document {self.pair_docid[pair]} of query {self.qids[self.pair_query[pair]]}"


def new_log(**arrays: Any) -> ClickLog:
    """A log of arrays that are known to be consistent, with all fields of the class; the context may be left out."""
    log = object.__new__(ClickLog)
    log._fill(**{"context": {}, **arrays})
    return log


def _feature_fields(data: Dataset, features: Features) -> dict[str, Any]:
    return {"features": features, "feature_names": data.feature_names, "categories": data.categories}
