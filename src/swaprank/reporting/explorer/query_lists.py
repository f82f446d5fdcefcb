"""One query in both rankings, one of its documents, two of them, and what an edited document would do."""

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.instruments.explain import explain_scores, rank_order
from swaprank.metrics.metric import BoundMetric, bind_metric
from swaprank.reporting.explorer.exploration import Exploration, Ranking
from swaprank.reporting.ranked_queries import MOST_DOCUMENTS

_BEST_SWAPS = 3
BASE_SCORE = "base score"


class RankedList(NamedTuple):
    """The documents of a query in the order of one ranking.

    >>> import numpy as np
    >>> from swaprank.reporting.explorer.query_lists import RankedList
    >>> RankedList("new", 0.5, np.array([1, 0]), np.array([0.9, 0.3])).best_swaps
    ()
    """

    name: str
    value: float
    """The metric of this query."""
    rows: Ints
    """Positions of the documents within the query, by rank."""
    scores: Floats
    """Their scores, in the same order."""
    best_swaps: tuple[tuple[int, int, float], ...] = ()
    """Ranks, from 1, and what the metric gains if these two documents swap places."""

    @property
    def ranks(self) -> Ints:
        """The rank of each document, from 1."""
        ranks = np.empty(len(self.rows), np.int64)
        ranks[self.rows] = np.arange(1, len(self.rows) + 1)
        return ranks


class PairDifference(NamedTuple):
    """The difference of two scores by features, largest share first; the shares sum to the difference.

    >>> from swaprank.reporting.explorer.query_lists import PairDifference
    >>> PairDifference(0, 1, 0.5, {"bm25": 0.75, "price": -0.25}, None).difference
    0.5
    """

    above: int
    below: int
    difference: float
    shares: dict[str, float]
    swap_gain: float | None
    """What the metric gains if the two swap places; None for lists that are too long."""


class Edit(NamedTuple):
    """A document with edited features: its score, its rank and the metric of the query, before and after.

    >>> from swaprank.reporting.explorer.query_lists import Edit
    >>> Edit((0.2, 0.9), (7, 1), (0.5, 0.8)).ranks
    (7, 1)
    """

    scores: tuple[float, float]
    ranks: tuple[int, int]
    values: tuple[float, float]


@final
class QueryLists:
    """One query of an exploration, measured with one metric. Documents are named by their position in the query.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.query_lists import QueryLists
    >>> data = sr.Dataset([[1, 5], [2, 4], [3, 3]], [2, 1, 0], qid=[7, 7, 7])
    >>> lists = QueryLists(make_exploration(data, {"new": "1", "old": "2"}, "ndcg"), 0)
    >>> [each.rows.tolist() for each in lists.lists()]
    [[2, 1, 0], [0, 1, 2]]
    >>> lists.lists()[0].best_swaps[0][:2]
    (1, 3)
    """

    def __init__(self, exploration: Exploration, query: int, metric: int = 0) -> None:
        if not 0 <= query < exploration.data.n_queries:
            raise DataError(f"there is no query number {query}; there are {exploration.data.n_queries:,}.")
        if not 0 <= metric < len(exploration.metrics):
            raise DataError(f"there is no metric number {metric}; there are {len(exploration.metrics)}.")
        self.exploration, self.query, self.metric = exploration, query, exploration.metrics[metric]
        self.rows = np.asarray(exploration.data.rows(query))
        self.part = exploration.data.subset([query])

    def lists(self) -> list[RankedList]:
        """The documents in the order of both rankings."""
        return [self._list(at) for at in (0, 1)]

    def swap_gains(self, ranking: int, document: int) -> Floats | None:
        """What the metric gains if a document swaps places with each other one; None for lists that are too long."""
        gains = self._swap_gains(ranking)
        return None if gains is None else gains[document]

    def feature_values(self, ranking: int, document: int) -> dict[str, str]:
        """The features of a document that the ranker sees, as texts that can be edited; missing values are empty."""
        ranker, _ = self._ranker(ranking)
        one = self._documents(ranking, [document])
        values = one.features[0].tolist() if isinstance(one.features, np.ndarray) else list(one.features[0])
        return {
            name: _written(value, one.categories.get(name))
            for name, value in zip(ranker.feature_names_in_.tolist(), values, strict=True)
        }

    def shares(self, ranking: int, document: int) -> dict[str, float]:
        """The share of each feature in the score of a document; empty if the model has no exact shares."""
        ranker, _ = self._ranker(ranking)
        try:
            found = ranker.contributions(self._documents(ranking, [document]))[0]
        except ParameterError:
            return {}
        return dict(zip(ranker.feature_names_in_.tolist(), found[:-1].tolist(), strict=True))

    def pair(self, ranking: int, a: int, b: int) -> PairDifference:
        """Why one document is above another: the difference of their scores by features."""
        ranker, _ = self._ranker(ranking)
        for document in (a, b):
            self.check_document(document)
        ranks = self._list(ranking).ranks
        above, below = (a, b) if ranks[a] <= ranks[b] else (b, a)
        found = ranker.contributions(self._documents(ranking, [above, below]))
        names = [*ranker.feature_names_in_.tolist(), BASE_SCORE]
        shares = dict(zip(names, (found[0] - found[1]).tolist(), strict=True))
        if not shares[BASE_SCORE]:
            del shares[BASE_SCORE]
        gains = self.swap_gains(ranking, above)
        scores = self._scores(ranking)
        return PairDifference(
            above,
            below,
            float(scores[above] - scores[below]),
            dict(sorted(shares.items(), key=lambda share: -abs(share[1]))),
            None if gains is None else float(gains[below]),
        )

    def edit(self, ranking: int, document: int, values: Mapping[str, str]) -> Edit:
        """Score a document with other values of some features; an empty text is a missing value."""
        ranker, matched = self._ranker(ranking)
        one = self._documents(ranking, [document])
        features = np.array(one.features, np.float32)
        names = ranker.feature_names_in_.tolist()
        for name, text in values.items():
            if name not in names:
                raise DataError(f"the ranker has no feature '{name}'; {did_you_mean(name, names)}")
            features[0, names.index(name)] = _read(name, text, matched.categories.get(name))
        scores = np.array(self._scores(ranking))
        before, after = float(scores[document]), float(ranker.predict(one.replace(features=features))[0])
        old = self._list(ranking)
        scores[document] = after
        order = rank_order(self._bound, self.part, scores)
        place = int(np.flatnonzero(order == document)[0]) + 1
        return Edit((before, after), (int(old.ranks[document]), place), (old.value, self._bound.mean(scores)))

    @property
    def _bound(self) -> BoundMetric:
        return bind_metric(self.metric, self.part)

    def _scores(self, ranking: int) -> Floats:
        scores: Floats = self.exploration.rankings[ranking].scores[self.rows]
        return scores

    def _list(self, ranking: int) -> RankedList:
        scores, name = self._scores(ranking), self.exploration.rankings[ranking].name
        if self._is_short:
            found = explain_scores(self.part, scores, self.metric)
            return RankedList(name, found.value, found.rows, found.scores, tuple(found.best_swaps(_BEST_SWAPS)))
        order = rank_order(self._bound, self.part, scores)
        return RankedList(name, self._bound.mean(scores), order, scores[order])

    def _swap_gains(self, ranking: int) -> Floats | None:
        if not self._is_short:
            return None
        found = explain_scores(self.part, self._scores(ranking), self.metric)
        gains = np.empty_like(found.swap_gains)
        gains[np.ix_(found.rows, found.rows)] = found.swap_gains
        return gains

    @property
    def _is_short(self) -> bool:
        """True if the gains of all swaps take no time; a custom metric may be evaluated for every swap."""
        return len(self.rows) <= (MOST_DOCUMENTS if self.metric.names else MOST_DOCUMENTS // 10)

    def _ranker(self, ranking: int) -> tuple[sr.Ranker, sr.Dataset]:
        chosen: Ranking = self.exploration.rankings[ranking]
        if chosen.ranker is None or chosen.matched is None:
            raise DataError(f"'{chosen.name}' has scores but no model that could explain or rescore a document.")
        return chosen.ranker, chosen.matched

    def _documents(self, ranking: int, documents: list[int]) -> sr.Dataset:
        """Some documents of this query, with the features of the ranker."""
        _, matched = self._ranker(ranking)
        for document in documents:
            self.check_document(document)
        rows = self.rows[documents]
        base = matched.base_score
        return sr.Dataset(
            matched.stored.rows(rows),
            matched.labels[rows],
            qid=np.zeros(len(rows), np.int64),
            base_score=None if base is None else base[rows],
        )

    def check_document(self, document: int) -> None:
        """Raise DataError if the query has no such document."""
        if not 0 <= document < len(self.rows):
            raise DataError(f"the query has no document number {document}; it has {len(self.rows):,}.")


def _written(value: Any, categories: tuple[str, ...] | None) -> str:
    if np.isnan(value):
        return ""
    if categories is not None:
        return categories[int(value)]
    return str(np.float32(value)).removesuffix(".0")


def _read(name: str, text: str, categories: tuple[str, ...] | None) -> float:
    """The number of a feature's value that was written as text."""
    if not text.strip():
        return float("nan")
    if categories is not None:
        if text not in categories:
            raise DataError(f"the model knows no category '{text}' of '{name}'; {did_you_mean(text, categories)}")
        return float(categories.index(text))
    try:
        value = float(text)
    except ValueError:
        raise DataError(f"the value of '{name}' must be a number; found '{text}'.") from None
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise DataError(f"the value of '{name}' must be a finite number; found '{text}'.")
    return value
