"""What is explored: two rankings of judged documents, measured query by query, once, at the start."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.evaluation.given_scores import scores_of
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.reporting.subject import best_feature
from swaprank.reporting.win_loss import changes

MOST_SEGMENTS = 50
"""A column with more values than this is searched as text, and is no list to choose from."""
ORDERS = {
    "loss": "Largest losses",
    "gain": "Largest gains",
    "change": "Largest changes",
    "low": "Lowest values",
    "given": "As in the data",
}
"""How queries can be sorted."""


class Ranking(NamedTuple):
    """A ranking: its name, one score per row, and the ranker that gave them, if one did.

    >>> import numpy as np
    >>> from swaprank.reporting.explorer.exploration import Ranking
    >>> Ranking("old", np.array([0.5])).ranker is None
    True
    """

    name: str
    scores: Floats
    ranker: sr.Ranker | None = None
    matched: sr.Dataset | None = None
    """The data with the features of the ranker."""


@final
@dataclass(frozen=True, eq=False)
class Exploration:
    """Two rankings of the same documents; the first is compared with the second.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import Exploration, make_exploration
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> made = make_exploration(data, {"new": sr.MART(n_trees=2).fit(data), "old": "1"}, "map")
    >>> isinstance(made, Exploration), made.changes(0).shape
    (True, (20,))
    """

    data: sr.Dataset
    rankings: tuple[Ranking, Ranking]
    metrics: tuple[sr.metrics.Metric, ...]
    values: Floats
    """[metric, ranking, query]: the value of each query."""
    attributes: Mapping[str, list[str]]
    """The side columns that have one value for all documents of a query: one text per query."""
    segments: Mapping[str, list[str]]
    """The values of those attributes that are few enough to choose from."""
    words: list[str]
    """What is searched: the id of each query and its attributes, in lower case."""

    def changes(self, metric: int) -> Floats:
        """The first ranking minus the second, one value per query; NaN if the metric leaves the query out."""
        return changes(self.values[metric, 0], self.values[metric, 1])

    def chosen(
        self, metric: int = 0, order: str = "loss", text: str = "", segments: Mapping[str, str] | None = None
    ) -> Ints:
        """The numbers of the queries that fit, sorted; queries without a value come last.

        Args:
            metric: The number of the metric.
            order: One of `ORDERS`.
            text: What the id or an attribute of a query contains, in any case.
            segments: The value of each segment column that the queries have.

        >>> import swaprank as sr
        >>> from swaprank.reporting.explorer.exploration import make_exploration
        >>> data = sr.Dataset([[1, 2], [2, 1]] * 2, [1, 0, 0, 1], qid=["red shoes", "red shoes", "hats", "hats"])
        >>> made = make_exploration(data, {"new": "1", "old": "2"}, "mrr")
        >>> made.chosen(order="loss").tolist(), made.chosen(order="gain").tolist(), made.chosen(text="RED").tolist()
        ([0, 1], [1, 0], [0])
        """
        taken = np.ones(self.data.n_queries, np.bool_)
        for name, value in (segments or {}).items():
            if name not in self.segments:
                raise DataError(f"there is no segment column '{name}'; {did_you_mean(name, list(self.segments))}")
            taken &= np.array([each == value for each in self.attributes[name]], np.bool_)
        if wanted := text.strip().casefold():
            taken &= np.array([wanted in each for each in self.words], np.bool_)
        queries = np.flatnonzero(taken)
        keys = self._keys(metric, order)[queries]
        return queries[np.argsort(np.where(np.isnan(keys), np.inf, keys), kind="stable")]

    def _keys(self, metric: int, order: str) -> Floats:
        """Numbers that sort the queries in ascending order."""
        if order not in ORDERS:
            raise ParameterError(f"there is no order '{order}'; {did_you_mean(order, list(ORDERS))}")
        change = self.changes(metric)
        given: Floats = np.arange(len(change), dtype=np.float64)
        keys: dict[str, Floats] = {
            "loss": change,
            "gain": -change,
            "change": -np.abs(change),
            "low": self.values[metric, 0],
        }
        return keys.get(order, given)


def make_exploration(
    data: sr.Dataset,
    rankings: Mapping[str, Any],
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric] | None = None,
    *,
    convention: str = "standard",
) -> Exploration:
    """Score and measure all queries.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> [each.name for each in make_exploration(data, {"new": sr.MART(n_trees=2).fit(data)}).rankings]
    ['new', 'feature 1']
    """
    if not isinstance(data, sr.Dataset):
        raise DataError(f"expected a Dataset to explore; found {type(data).__name__}.")
    if len(rankings) not in (1, 2):
        raise DataError(f"one or two rankings can be explored; found {len(rankings)}.")
    found = [_ranking(data, name, given) for name, given in rankings.items()]
    ranker = found[0].ranker
    usual = "ndcg@10" if ranker is None else ranker.training_metric()
    parsed = parse_metrics(usual if metrics is None else metrics, convention)
    if len(found) == 1:
        found.append(Ranking(*best_feature(found[0].matched or data, parsed[0])))
    evaluated = [sr.evaluate(data, each.scores, parsed) for each in found]
    values = np.array([[result.per_query for result in each.results] for each in evaluated]).swapaxes(0, 1)
    attributes = query_attributes(data)
    lists = {name: sorted(set(texts)) for name, texts in attributes.items()}
    words = zip(map(str, data.qids.tolist()), *attributes.values(), strict=True)
    return Exploration(
        data,
        (found[0], found[1]),
        tuple(parsed),
        values,
        attributes,
        {name: texts for name, texts in lists.items() if 1 < len(texts) <= MOST_SEGMENTS},
        ["\n".join(each).casefold() for each in words],
    )


def query_attributes(data: sr.Dataset) -> dict[str, list[str]]:
    """The side columns with one value for all documents of a query, as one text per query.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import query_attributes
    >>> query_attributes(sr.Dataset([[1.0], [2.0]], [1, 0], qid=[7, 8]))
    {}
    """
    found, starts = {}, data.indptr[:-1]
    for name, values in data.columns.items():
        texts = np.asarray(data.by_query(values)).astype(str)
        first = texts[starts]
        if (texts == np.repeat(first, np.diff(data.indptr))).all():
            found[name] = first.tolist()
    return found


def _ranking(data: sr.Dataset, name: str, given: Any) -> Ranking:
    if isinstance(given, Ranking):
        return given._replace(name=name)
    if isinstance(given, sr.Ranker):
        matched = given.matched(data)
        return Ranking(name, given.predict(matched), given, matched)
    return Ranking(name, scores_of(data, given))
