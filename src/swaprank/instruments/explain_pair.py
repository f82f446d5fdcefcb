"""Why one document is above another: the difference of their scores by features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from swaprank.arrays import Floats, read_only
from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.instruments.exchange_game import MOST_EXACT, differing_features, exchange_contributions
from swaprank.instruments.listed_documents import ListedDocuments, listed_documents
from swaprank.instruments.shap_objects import shap_class
from swaprank.rankers.ranked_frame import rank_of
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import as_written, axes_for, chart_height, name_rows, new_axes, save_figure, write_right
from swaprank.rendering.result import Result, plain
from swaprank.rendering.tables import Blocks, Table, blocks_text

Value = float | str | None
"""The value of a feature: a number, the text of a category, or None if it is missing."""
BASE_SCORE = "base score"
"""What the difference of the base scores of the data is called among the features."""
CONTRIBUTIONS = "contributions"
EXCHANGE = "exchange"
SAMPLED = "sampled"
_METHODS = {
    CONTRIBUTIONS: "Exact contributions of {a} minus those of {b}.",
    EXCHANGE: "Exact Shapley values of exchanging the values of {b} for those of {a}.",
    SAMPLED: "Shapley values of exchanging the values of {b} for those of {a}, over 1,000 random orders.",
}
_MOST_REASONS = 3
_UP, _DOWN = "C2", "C3"
_WIDTH = 8.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class PairExplanation(Result):
    """The difference of the scores of two documents by features, the largest share first; `print` says it in words.

    Its data frame has one row per feature.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[3.0, 1.0], [2.0, 1.0], [1.0, 0.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> pair = sr.explain_pair(sr.LinearRegressionRanker(regularization=0.0).fit(data), data, 2, 0)
    >>> isinstance(pair, sr.instruments.PairExplanation), pair.ranks
    (True, (1, 3))
    >>> bool(abs(pair.contributions.sum() - pair.difference) < 1e-12)
    True
    """

    qid: Any
    """The id of the query; None if the documents are rows of features."""
    documents: tuple[str, str]
    """What a and b are called: their ids, or "row 3"."""
    scores: tuple[float, float]
    ranks: tuple[int, int] | None
    """Their ranks in the list; tied documents are in the order of their rows. None without a list."""
    features: tuple[str, ...]
    """The largest contribution first, and so the arrays below. "base score" is that of the data set, if it has one."""
    values: tuple[tuple[Value, Value], ...]
    """The values of a and b: numbers, categories as text, None for missing values."""
    contributions: Floats
    """What each feature adds to the score of a, relative to that of b."""
    method: str
    """ "contributions": those of a minus those of b; "exchange": Shapley values of exchanging the values of b;
    "sampled": an estimate of these by random orders."""

    @property
    def difference(self) -> float:
        """The score of a minus the score of b: the sum of the contributions."""
        return self.scores[0] - self.scores[1]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        a, b = self.documents
        if self.difference == 0:
            return f"{a} and {b} have the same score."
        sign = 1.0 if self.difference > 0 else -1.0
        start = f"{a} is {'above' if sign > 0 else 'below'} {b} by {abs(self.difference):.4g}"
        reasons = [at for at in range(len(self.features)) if sign * self.contributions[at] > 0]
        if not reasons:  # a difference that is only rounding
            return f"{start}."
        wanted, chosen, total = 0.8 * abs(self.difference), list[int](), 0.0
        for at in reasons[:_MOST_REASONS]:
            chosen.append(at)
            total += abs(float(self.contributions[at]))
            if total >= wanted:
                break
        told = [f"{_spoken(self.features[at])} ({self._told(at)})" for at in chosen]
        joined = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
        return f"{start}, mostly because of {joined}."

    def _told(self, at: int) -> str:
        return f"{self._both_values(at)}: {self.contributions[at]:+.4g}"

    def _both_values(self, at: int) -> str:
        mine, other = (value_text(value) for value in self.values[at])
        return f"{mine} in both" if mine == other else f"{mine} against {other}"

    def to_text(self, n_features: int = 10) -> str:
        """The sentence, and a table of the features with the largest contributions."""
        return blocks_text(self._blocks(n_features))

    def _blocks(self, n_features: int = 10) -> Blocks:
        a, b = self.documents
        used = [at for at in range(len(self.features)) if self.contributions[at] != 0]
        shown, others = used[:n_features], used[n_features:]
        rows = [
            [self.features[at], *map(value_text, self.values[at]), f"{self.contributions[at]:+.4f}"] for at in shown
        ]
        if others:
            rest = float(self.contributions[others].sum())
            rows.append([f"{len(others):,} other features", "", "", f"{rest:+.4f}"])
        rows.append(["score", *(f"{score:.4f}" for score in self.scores), f"{self.difference:+.4f}"])
        if self.ranks is not None:
            rows.append(["rank", *map(str, self.ranks), ""])
        note = _METHODS[self.method].format(a=a, b=b)
        where = "" if self.qid is None else f"query {self.qid}: "
        return [where + self.sentence, Table(["feature", a, b, "contribution"], rows, note=note)]

    def to_dict(self) -> dict[str, Any]:
        """The documents, and all features with values and contributions, as plain Python values."""
        values: dict[str, Any] = plain(self._values())
        return values

    def _values(self) -> dict[str, Any]:
        return {
            "qid": None if self.qid is None else str(self.qid),
            "documents": self.documents,
            "scores": self.scores,
            "ranks": self.ranks,
            "difference": self.difference,
            "sentence": self.sentence,
            "method": self.method,
            "features": [
                {"feature": name, "a": mine, "b": other, "contribution": float(share)}
                for name, (mine, other), share in zip(self.features, self.values, self.contributions, strict=True)
            ],
        }

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "feature": list(self.features),
            "a": [mine for mine, _ in self.values],
            "b": [other for _, other in self.values],
            "contribution": self.contributions.tolist(),
        }

    def to_shap(self) -> Any:
        """A `shap.Explanation` from the score of b to that of a, for the plots of SHAP; needs the package shap."""
        return shap_class()(
            values=np.array(self.contributions),
            base_values=self.scores[1],
            data=np.array([mine for mine, _ in self.values], dtype=object),
            feature_names=list(self.features),
        )

    def plot(self, ax: Any = None, *, n_features: int = 10) -> Any:
        """Draw a waterfall: from the score of b to the score of a, one step per feature.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            n_features: How many features have steps of their own; the others are one step.

        Returns:
            The axes.
        """
        steps = self._steps(n_features)
        a, b = self.documents
        axes = axes_for(ax, _WIDTH, chart_height(len(steps) + 2, 0.34))
        places = name_rows(axes, [b, *(name for name, _, _ in steps), a])
        level = self.scores[1]
        for place, (_, _, share) in zip(places[1:-1], steps, strict=True):
            axes.barh(place, share, left=level, height=0.65, color=_UP if share > 0 else _DOWN)
            axes.plot([level, level], [place, place + 1], color="0.6", linewidth=0.8)
            level += share
        axes.plot([level, level], [places[-1], places[-1] + 1], color="0.6", linewidth=0.8)
        axes.plot(self.scores[::-1], [places[0], places[-1]], "D", color="0.25")
        texts = [f"{self.scores[1]:.4g}", *(f"{share:+.4g}  {values}" for _, values, share in steps)]
        write_right(axes, places, map(as_written, [*texts, f"{self.scores[0]:.4g}"]))
        axes.use_sticky_edges = False  # or the first and the last mark would be cut off
        axes.margins(x=0.04)
        axes.set(xlabel="score", ylim=(-0.6, len(places) - 0.4))
        axes.set_title(as_written(_shortened(self.sentence.split(", mostly")[0])), loc="left", fontsize="medium")
        return axes

    def draw(self, path: str | Path, n_features: int = 10) -> None:
        """Draw this picture into a file (.svg, .png, .pdf)."""
        size = chart_height(len(self._steps(n_features)) + 2, 0.34)
        save_figure(self.plot(new_axes(_WIDTH, size), n_features=n_features), Path(path))

    def _steps(self, n_features: int) -> list[tuple[str, str, float]]:
        """The name, both values and the contribution of each step of the waterfall."""
        used = [at for at in range(len(self.features)) if self.contributions[at] != 0]
        steps = [(self.features[at], self._both_values(at), float(self.contributions[at])) for at in used[:n_features]]
        others = used[n_features:]
        if others:
            steps.append((f"{len(others):,} other features", "", float(self.contributions[others].sum())))
        return steps


def explain_pair(
    ranker: Ranker, query: Any, a: Any, b: Any, *, data: Dataset | None = None, method: str | None = None
) -> PairExplanation:
    """Explain why a ranker has one document above another: the exact difference of their scores by features.

    For trees and linear models, a feature's share is its contribution to the score of a minus that to the score of b
    (`Ranker.contributions`, TreeSHAP for trees). The expected score is the same in both and cancels, so the shares sum
    to the difference. A feature with the same value in both may have a share, if it interacts with others. Nets with
    hidden layers and kernel machines have no such contributions: there, the shares are Shapley values of exchanging the
    values of b for those of a, over all orders of up to 12 features that differ. With more, they are the mean over
    1,000 random orders, always the same ones: the sum is exact, each share an estimate.

    Args:
        ranker: A fitted ranker.
        query: The data set that contains both documents; or the id of a query of `data`; or a matrix or data frame with
            the documents of one list; or None, if a and b are rows of features.
        a: The first document: its row number in the data, or its document id as text.
        b: The second document.
        data: The data set, if `query` is the id of a query.
        method: "contributions" or "exchange", see above. If None, the first of them that the model has. With
            "exchange", features with the same value have no share, for trees, too. The `method` of the result is
            "sampled" if more than 12 features differ.

    >>> import swaprank as sr
    >>> shoes = {"price": [90.0, 60.0, 20.0], "brand": ["nike", "puma", "puma"]}
    >>> import pandas as pd
    >>> data = sr.Dataset(pd.DataFrame(shoes), [0, 1, 2], qid=[7, 7, 7], docid=["x", "y", "z"])
    >>> ranker = sr.MART(n_trees=10, n_leaves=3, min_docs_in_leaf=1).fit(data)
    >>> pair = sr.explain_pair(ranker, data, "z", "x")
    >>> pair.ranks, pair.features[0], pair.values[0]
    ((1, 3), 'price', (20.0, 90.0))
    """
    if method not in (None, CONTRIBUTIONS, EXCHANGE):
        raise ParameterError(f"method must be {CONTRIBUTIONS!r} or {EXCHANGE!r}; found {method!r}.")
    given, qid = (data, query) if data is not None else (query, None)
    if data is None and (
        isinstance(query, str) or (query is not None and np.ndim(query) == 0 and not _has_rows(query))
    ):
        raise DataError(f"query {query!r} is the id of a query: give the data set as data.")
    listed = listed_documents(ranker, given, qid, [a, b])
    shares, used = _shares(ranker, listed, method)
    scores = listed.scores(ranker)
    at_a, at_b = listed.chosen
    names = [str(name) for name in ranker.feature_names_in_]
    values = [
        (shown_value(listed.features[at_a, f], known), shown_value(listed.features[at_b, f], known))
        for f, known in ((f, ranker.categories_.get(name)) for f, name in enumerate(names))
    ]
    if listed.base.any():
        names.append(BASE_SCORE)
        values.append((float(listed.base[at_a]), float(listed.base[at_b])))
        shares = np.append(shares, listed.base[at_a] - listed.base[at_b])
    order = np.argsort(-np.abs(shares), kind="stable").tolist()
    return PairExplanation(
        qid=listed.qid,
        documents=(listed.names[0], listed.names[1]),
        scores=(float(scores[at_a]), float(scores[at_b])),
        ranks=(rank_of(scores, at_a), rank_of(scores, at_b)) if listed.is_list else None,
        features=tuple(names[f] for f in order),
        values=tuple(values[f] for f in order),
        contributions=shares[order],
        method=used,
    )


def _shares(ranker: Ranker, listed: ListedDocuments, method: str | None) -> tuple[Floats, str]:
    """What each feature adds to the score of the first document, relative to the second; and the method."""
    model, (a, b) = ranker.model_, listed.features[list(listed.chosen)]
    if method == CONTRIBUTIONS or (method is None and model.has_contributions):
        found = model.contributions(read_only(np.stack((a, b))), 1)
        return found[0, :-1] - found[1, :-1], CONTRIBUTIONS
    exact = len(differing_features(a, b)) <= MOST_EXACT
    return exchange_contributions(model, a, b, ranker.n_threads), EXCHANGE if exact else SAMPLED


def shown_value(value: Any, categories: Categories | None) -> Value:
    """A number with the digits of single precision; the text of a category; None if it is missing."""
    if np.isnan(value):
        return None
    if categories is not None:
        return categories[int(value)] if int(value) < len(categories) else None
    return float(str(np.float32(value)))


def value_text(value: Value) -> str:
    """A value as it is printed."""
    return "missing" if value is None else value if isinstance(value, str) else f"{value:.5g}"


def _spoken(feature: str) -> str:
    """A name that is only a number would be taken for a value."""
    return f"feature {feature}" if feature.isdecimal() else feature


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def _has_rows(query: Any) -> bool:
    return isinstance(query, Dataset) or hasattr(query, "shape") or hasattr(query, "__dataframe__")
