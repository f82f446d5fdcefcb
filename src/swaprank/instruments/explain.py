"""Explains the ranked list of one query by the lambdas on its documents, as in [Burges2010, Figure 1]."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy.special import expit

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, did_you_mean
from swaprank.evaluation.evaluate import evaluate
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import PAIRWISE
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import as_written, axes_for, new_axes, save_figure
from swaprank.rendering.result import Result, plain, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, blocks_text

_ARROW = 10
"""The length of the longest arrow, in characters."""
_LONGEST_ARROW = 3.0
"""The length of the longest arrow of a figure, in ranks."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class QueryExplanation(Result):
    """The documents of one query in rank order with the forces on them; `print` shows the forces as arrows.

    Its data frame has one row per document.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[3.0], [2.0]], [0, 1], qid=[7, 7])
    >>> explanation = sr.explain_query(sr.LinearRegressionRanker(regularization=0.0).fit(data), data)
    >>> isinstance(explanation, sr.instruments.QueryExplanation)
    True
    >>> explanation.to_frame()[["rank", "row", "label"]]
       rank  row  label
    0     1    1    1.0
    1     2    0    0.0
    """

    qid: Any
    metric: str
    value: float
    """The metric of this query."""
    rows: Ints
    """Rows of the data set in rank order. All arrays below have the same order."""
    docids: AnyArray | None
    labels: Floats
    scores: Floats
    swap_gains: Floats
    """[i, j]: the change of the metric if the documents at ranks i and j swap places."""
    pair_forces: Floats
    """[i, j]: the force of the pair that pushes the document at rank i up and the one at rank j down."""

    @property
    def forces(self) -> Floats:
        """The lambda on each document; positive values push upwards."""
        total: Floats = self.pair_forces.sum(axis=1)
        return total

    def hardest_pairs(self, n: int = 5) -> list[tuple[int, int, float]]:
        """The n pairs with the largest forces as (rank pushed up, rank pushed down, force); ranks count from 1."""
        return _largest(self.pair_forces, n)

    def best_swaps(self, n: int = 5) -> list[tuple[int, int, float]]:
        """The n swaps with the largest gains as (rank, lower rank, gain of the metric); ranks count from 1."""
        return _largest(np.triu(self.swap_gains), n)

    def to_text(self, n_documents: int = 20, n_pairs: int = 5) -> str:
        """A table of the first documents, the pairs with the largest forces and the best swaps."""
        return blocks_text(self._blocks(n_documents, n_pairs))

    def _blocks(self, n_documents: int = 20, n_pairs: int = 5) -> Blocks:
        forces, shown = self.forces, min(n_documents, len(self.rows))
        longest = max(float(np.abs(forces).max()), 1e-300)
        names = self.rows if self.docids is None else self.docids
        rows = [
            [
                str(r + 1),
                str(names[r]),
                f"{self.labels[r]:g}",
                f"{self.scores[r]:.4f}",
                f"{forces[r]:+.4f}",
                _arrow(forces[r] / longest),
            ]
            for r in range(shown)
        ]
        header = ["rank", "row" if self.docids is None else "document", "label", "score", "lambda", ""]
        more = f"… and {len(self.rows) - shown:,} more" if shown < len(self.rows) else ""
        parts: list[Table | str] = [
            f"query {self.qid}: {self.metric} {self.value:.4f}",
            Table(header, rows, left=0, note=more),
        ]
        pairs = [
            [f"{i} over {j}", f"{force:.4f}", f"{self.swap_gains[i - 1, j - 1]:+.4f}"]
            for i, j, force in self.hardest_pairs(n_pairs)
        ]
        swaps = [[f"{i} with {j}", f"{gain:+.4f}"] for i, j, gain in self.best_swaps(n_pairs)]
        if pairs:
            parts.append(Table(["hardest pushes, by rank", "force", "swap changes the metric by"], pairs))
        if swaps:
            parts.append(Table(["best swaps, by rank", "gain"], swaps))
        return parts

    def to_dict(self, n_documents: int = 20, n_pairs: int = 5) -> dict[str, Any]:
        """The first documents and the strongest pairs, as plain Python values; a metric without a value is None."""
        values: dict[str, Any] = plain(self._values(n_documents, n_pairs))
        return values

    def _values(self, n_documents: int = 20, n_pairs: int = 5) -> dict[str, Any]:
        return {
            "qid": str(self.qid),
            "metric": self.metric,
            "value": self.value,
            "n_documents": len(self.rows),
            "documents": self._documents()[:n_documents],
            "hardest_pairs": [{"up": i, "down": j, "force": force} for i, j, force in self.hardest_pairs(n_pairs)],
            "best_swaps": [{"rank": i, "with": j, "gain": gain} for i, j, gain in self.best_swaps(n_pairs)],
        }

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._documents())

    def _documents(self) -> list[dict[str, Any]]:
        forces = self.forces
        return [
            {
                "rank": r + 1,
                "row": int(self.rows[r]),
                "docid": None if self.docids is None else str(self.docids[r]),
                "label": float(self.labels[r]),
                "score": float(self.scores[r]),
                "lambda": float(forces[r]),
            }
            for r in range(len(self.rows))
        ]

    def plot(self, ax: Any = None, *, n_documents: int = 30) -> Any:
        """Draw the ranked list with the forces as arrows.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            n_documents: The number of documents, from the top.

        Returns:
            The axes.
        """
        shown, (width, height) = min(n_documents, len(self.rows)), self._figure_size(n_documents)
        axes = axes_for(ax, width, height)
        largest, best = (max(float(values.max()), 1e-300) for values in (np.abs(self.forces), self.labels))
        for x, header in ((-0.4, "rank"), (-0.15, "label")):
            axes.text(x, -1.0, header, ha="center", va="center")
        for rank, force in enumerate(self.forces[:shown]):
            # Relevant documents are darker.
            shade = 0.9 - 0.7 * max(float(self.labels[rank]), 0.0) / best
            axes.barh(rank, 1.0, height=0.8, color=str(shade), edgecolor="black", linewidth=0.5)
            axes.text(-0.4, rank, f"{rank + 1}", ha="center", va="center")
            axes.text(-0.15, rank, f"{self.labels[rank]:g}", ha="center", va="center")
            if abs(force) > 0.02 * largest:
                _draw_arrow(axes, rank, force / largest)
        axes.set(xlim=(-0.6, 2.3), ylim=(shown + 0.6, -1.8))
        axes.set_title(as_written(f"query {self.qid}: {self.metric} {self.value:.4f}"))
        axes.set_axis_off()
        return axes

    def draw(self, path: str | Path, n_documents: int = 30) -> None:
        """Draw this picture into a file (.svg, .png, .pdf)."""
        save_figure(self.plot(new_axes(*self._figure_size(n_documents)), n_documents=n_documents), Path(path))

    def _figure_size(self, n_documents: int) -> tuple[float, float]:
        """The width and the height of the figure, in inches."""
        return 5.0, max(2.0, 0.8 + 0.28 * min(n_documents, len(self.rows)))


def explain_query(
    ranker: Ranker, data: Dataset, qid: Any = None, metric: str | Metric | None = None, *, sigma: float = 1.0
) -> QueryExplanation:
    """Show how a ranker orders one query, and in which direction LambdaRank would push each document.

    The force of a pair is sigma |dZ| / (1 + exp(sigma (s_i - s_j))) [Burges2010, section 4]. Tied documents are ordered
    by the convention of the metric. If that is the expected value over the ties, they are in a seeded random order.

    Args:
        ranker: A fitted ranker.
        data: The data set that contains the query.
        qid: The id of the query. If None, the query with the lowest metric among those with a relevant document.
        metric: The metric of the swaps and forces. If None, the metric that the ranker was trained for.
        sigma: The factor of score differences in the force of a pair.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[3.0], [2.0], [1.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> ranker = sr.LinearRegressionRanker(regularization=0.0).fit(data)
    >>> print(sr.explain_query(ranker, data, qid=7, metric="mrr").to_text(n_pairs=1))
    query 7: mrr 1.0000
    <BLANKLINE>
    rank  row  label    score   lambda
    ----  ---  -----  -------  -------  ---------------
       1    2      2  -1.5000  +0.0237  =========> up
       2    1      1  -3.0000  +0.0000
       3    0      0  -4.5000  -0.0237  =========> down
    <BLANKLINE>
    hardest pushes, by rank   force  swap changes the metric by
    -----------------------  ------  --------------------------
    1 over 3                 0.0237                     -0.5000
    """
    check_parameter("sigma", sigma, Bounds(False, 0, np.inf, open_low=True))
    chosen = ranker.training_metric() if metric is None else parse_metric(metric)
    data = ranker.matched(data)
    query = _lowest_query(ranker, data, chosen) if qid is None else query_number(data, qid)
    part = data.subset([query])
    found = explain_scores(part, ranker.predict(part), chosen, sigma=sigma)
    return replace(found, rows=np.asarray(data.rows(query))[found.rows])


def explain_scores(query: Dataset, scores: Floats, metric: str | Metric, *, sigma: float = 1.0) -> QueryExplanation:
    """Explain the order of the documents of one query by their scores, wherever these come from.

    Args:
        query: A data set of one query.
        scores: One score per row.
        metric: The metric of the swaps and forces.
        sigma: The factor of score differences in the force of a pair.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.instruments.explain import explain_scores
    >>> query = sr.Dataset([[3.0], [2.0], [1.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> explain_scores(query, np.array([3.0, 2.0, 1.0]), "mrr").best_swaps(1)
    [(1, 2, 0.5)]
    """
    bound = bind_metric(parse_metric(metric), query)
    value, order = bound.mean(scores), rank_order(bound, query, scores)
    scores, labels = scores[order], query.labels[order]
    gains = bound.metric.swap_gains(labels)
    better = np.sign(labels[:, None] - labels)
    difference = sigma * (scores[:, None] - scores)
    # As in training: for the pairwise metric all pairs weigh the same, however many a swap would change.
    is_pairwise = bound.terms.family == PAIRWISE
    counted = bound.terms.gains[order]
    weights = (counted[:, None] != counted) / bound.terms.divisors[0] if is_pairwise else np.abs(gains)
    forces = better * sigma * weights * expit(-better * difference)
    return QueryExplanation(
        qid=query.qids.tolist()[0],
        metric=str(bound.metric),
        value=value,
        rows=order,
        docids=None if query.docid is None else query.docid[order],
        labels=labels,
        scores=scores,
        swap_gains=gains,
        pair_forces=forces,
    )


def rank_order(bound: BoundMetric, query: Dataset, scores: Floats) -> Ints:
    """The rows of a data set of one query by rank; ties are in the order of the metric, or in a seeded random one.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.instruments.explain import rank_order
    >>> from swaprank.metrics.metric import bind_metric
    >>> query = sr.Dataset([[3.0], [2.0], [1.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> rank_order(bind_metric(sr.metric("map"), query), query, np.array([1.0, 3.0, 2.0])).tolist()
    [1, 2, 0]
    """
    ties = seeded_tie_order(query.places, 0) if bound.metric.ties == "expected" else bound.tie_order
    order: Ints = ties[np.argsort(-scores[ties], kind="stable")]
    return order


def query_number(data: Dataset, qid: Any) -> int:
    """The position of a query in `data.qids`; raises DataError if the data has no such query.

    >>> import swaprank as sr
    >>> from swaprank.instruments.explain import query_number
    >>> query_number(sr.Dataset([[1.0], [2.0]], [1, 0], qid=["shoes", "hats"]), "hats")
    1
    """
    known = [str(known) for known in data.qids.tolist()]
    if str(qid) not in known:
        advice = did_you_mean(str(qid), known) if len(known) <= 100 else f"there are {len(known):,} others."
        raise DataError(f"there is no query {qid!r}; {advice}")
    return known.index(str(qid))


def _lowest_query(ranker: Ranker, data: Dataset, metric: Metric) -> int:
    values = evaluate(data, ranker.predict(data), metric).results[0].per_query
    highest_label = np.maximum.reduceat(data.by_query(data.labels), data.indptr[:-1])
    values = np.where((highest_label > 0) & ~np.isnan(values), values, np.inf)
    if np.isinf(values).all():
        raise DataError("no query has a relevant document: choose a query by ", Hint("qid", ..., "--query ID"), ".")
    return int(values.argmin())


def _largest(values: Floats, n: int) -> list[tuple[int, int, float]]:
    order = np.argsort(-values, axis=None, kind="stable")[:n]
    pairs = (np.unravel_index(at, values.shape) for at in order)
    return [(int(i) + 1, int(j) + 1, float(values[i, j])) for i, j in pairs if values[i, j] > 0]


def _arrow(share: float) -> str:
    """An arrow of ASCII characters."""
    length = round(abs(share) * _ARROW)
    arrow = "=" * (length - 1) + ("> up" if share > 0 else "> down") if length else ""
    return arrow.ljust(_ARROW + len(" down"))


def _draw_arrow(axes: Any, rank: int, share: float) -> None:
    """Draw an arrow. It may be longer than a row is high: neighbours are side by side, up and down are apart."""
    x = (1.2 if share > 0 else 1.75) + 0.12 * (rank % 4)
    style = {"shrinkA": 0, "shrinkB": 0, "color": "C2" if share > 0 else "C3", "linewidth": 1.5}
    # The y axis points down.
    axes.annotate(
        "", xy=(x, rank - _LONGEST_ARROW * share), xytext=(x, rank), arrowprops={"arrowstyle": "-|>", **style}
    )
