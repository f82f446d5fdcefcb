"""What would have to change for a document to enter the top k: the smallest change of one feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Features, Floats, read_only
from swaprank.data.matching import feature_positions
from swaprank.errors import DataError, Hint
from swaprank.instruments.explain_pair import Value, shown_value, value_text
from swaprank.instruments.listed_documents import ListedDocuments, listed_documents
from swaprank.instruments.smallest_change import pieces_of, smallest_change
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.ranked_frame import rank_of
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table


class FeatureChange(NamedTuple):
    """A change of one feature, and what it does.

    >>> import swaprank as sr
    >>> sr.instruments.FeatureChange("price", 9.5, 8.0, score=0.7, rank=3).new_value
    8.0
    """

    feature: str
    value: Value
    new_value: Value
    score: float
    """The score with the new value."""
    rank: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class EntryChanges(Result):
    """For each feature whose change is enough, the smallest such change; `print` says it in words.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0], [4.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> ranker = sr.LinearRegressionRanker(regularization=0.0).fit(data)
    >>> found = sr.instruments.changes_to_enter(ranker, data, 0, 1)
    >>> isinstance(found, sr.instruments.EntryChanges), [change.new_value for change in found.changes]
    (True, [4.0])
    """

    qid: Any
    document: str
    k: int
    score: float
    rank: int
    """The rank now; tied documents are in the order of their rows."""
    needed: float
    """The score of the document that is at rank k now."""
    changes: tuple[FeatureChange, ...]
    """In the order of the features of the ranker."""
    tried: tuple[str, ...]
    """The features that were allowed to change."""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        start = f"{self.document} is at rank {self.rank}"
        if self.rank <= self.k:
            return f"{start}, within the top {self.k} already."
        if not self.changes:
            what = f"of {self.tried[0]}" if len(self.tried) == 1 else f"of one of the {len(self.tried):,} features"
            missing = self.needed - self.score
            return f"{start}; no change {what} is enough to enter the top {self.k}: the score is {missing:.4g} too low."
        one = len(self.changes) == 1
        return f"{start}; {'this change' if one else 'each of these changes'} alone lifts it into the top {self.k}."

    def _blocks(self) -> Blocks:
        where = "" if self.qid is None else f"query {self.qid}: "
        rows = [
            [each.feature, _exact_text(each.value), _exact_text(each.new_value), f"{each.score:.4f}", str(each.rank)]
            for each in self.changes
        ]
        table = [Table(["feature", "value", "new value", "score", "rank"], rows)] if rows else []
        return [where + self.sentence, *table]

    def _values(self) -> dict[str, Any]:
        return {
            "qid": None if self.qid is None else str(self.qid),
            "document": self.document,
            "k": self.k,
            "score": self.score,
            "rank": self.rank,
            "needed": self.needed,
            "sentence": self.sentence,
            "tried": self.tried,
            "changes": [each._asdict() for each in self.changes],
        }

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(each, name) for each in self.changes] for name in FeatureChange._fields}


def changes_to_enter(
    ranker: Ranker, data: Any, document: Any, k: int, *, query: Any = None, features: Iterable[str | int] | None = None
) -> EntryChanges:
    """What would have to change for a document to enter the top k: per feature, the smallest change that is enough.

    One feature changes at a time, all other documents stay as they are. Every change is scored by the model itself. For
    trees, all intervals between thresholds of the feature are tried, from the value outwards; for linear models, the
    first value in single precision that is enough is found by bisection. Of categories, the one with the highest score
    is taken. If the value is missing, the change is to the value nearest to 0. No value is changed to a missing one.
    Nets with hidden layers and kernel machines are refused: nothing bounds the search of their values.

    Args:
        ranker: A fitted ranker of trees, with a linear model, or a weighted sum of such.
        data: The data set that contains the document; or a matrix or data frame with the documents of one list.
        document: Its row number in the data, or its document id as text.
        k: The last rank that counts.
        query: The id of the query, if several queries have this document.
        features: The features that may change, by name or position. If None, all.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], [0, 1, 2], qid=[7, 7, 7], feature_names=["text", "age"])
    >>> ranker = sr.MART(n_trees=5, n_leaves=3, min_docs_in_leaf=1).fit(data)
    >>> [change[:3] + change[4:] for change in sr.instruments.changes_to_enter(ranker, data, 0, 2).changes]
    [('text', 1.0, 1.5000001, 2)]
    """
    check_parameter("k", k, Bounds(True, 1, 10**9))
    if data is None:
        raise DataError("give the list that the document should move up in, as ", Hint("data"), ".")
    listed = listed_documents(ranker, data, query, [document])
    scores, place = listed.scores(ranker), listed.chosen[0]
    names = [str(name) for name in ranker.feature_names_in_]
    tried = list(range(len(names))) if features is None else _allowed(features, names)
    rank = rank_of(scores, place)
    changes = _changes(ranker, listed, scores, k, tried) if rank > k else []
    return EntryChanges(
        qid=listed.qid,
        document=listed.names[0],
        k=k,
        score=float(scores[place]),
        rank=rank,
        needed=float(np.sort(scores)[::-1][min(k, len(scores)) - 1]),
        changes=tuple(changes),
        tried=tuple(names[f] for f in tried),
    )


def _changes(ranker: Ranker, listed: ListedDocuments, scores: Floats, k: int, tried: list[int]) -> list[FeatureChange]:
    place, model = listed.chosen[0], ranker.model_
    row, base, pieces = listed.features[place], listed.base[place], pieces_of(model)
    suffices = _entry_test(scores, place, k)
    found = []
    for f in tried:
        name = str(ranker.feature_names_in_[f])
        known = ranker.categories_.get(name)

        def scored(values: Features, f: int = f) -> Floats:
            rows = np.repeat(row[None, :], len(values), axis=0)
            rows[:, f] = values
            return np.asarray(model.score(read_only(rows), 1) + base)

        n_codes = pieces.n_codes.get(f, 0) if known is None else len(known)
        if n_codes:
            value = _best_code(n_codes, scored, suffices)
        else:
            cuts = pieces.thresholds.get(f, np.empty(0, np.float32))
            value = smallest_change(row[f], cuts, f in pieces.slopes, _composed(suffices, scored))
        if value is not None:
            score = float(scored(np.array([value], np.float32))[0])
            new_rank = rank_of(scores, place, score)
            found.append(FeatureChange(name, shown_value(row[f], known), shown_value(value, known), score, new_rank))
    return found


def _entry_test(scores: Floats, place: int, k: int) -> Callable[[Floats], Bools]:
    """Whether a document at this place would be among the first k with these scores: above the last that is there."""
    others = np.delete(np.arange(len(scores)), place)
    last = others[np.argsort(-scores[others], kind="stable")[k - 1]]
    bar, wins_ties = scores[last], place < last
    return lambda new: (new > bar) | ((new == bar) & wins_ties)


def _composed(suffices: Callable[[Floats], Bools], scored: Callable[[Features], Floats]) -> Callable[[Features], Bools]:
    return lambda values: suffices(scored(values))


def _best_code(
    n_codes: int, scored: Callable[[Features], Floats], suffices: Callable[[Floats], Bools]
) -> np.float32 | None:
    """The category with the highest score, if that is enough."""
    totals = scored(np.arange(n_codes, dtype=np.float32))
    best = int(np.argmax(totals))
    return np.float32(best) if suffices(totals[best : best + 1])[0] else None


def _allowed(features: Iterable[str | int], names: list[str]) -> list[int]:
    if isinstance(features, str):
        raise DataError(Hint("features"), f" must be a list of names or positions; found {features!r}.")
    found = sorted({*feature_positions(features, names, Hint("features", option="--change"))})
    if not found:
        raise DataError(
            Hint("features", option="--change"), " is empty: at least one feature must be allowed to change."
        )
    return found


def _exact_text(value: Value) -> str:
    """All digits: a threshold is passed only by the last one."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else value_text(value)
