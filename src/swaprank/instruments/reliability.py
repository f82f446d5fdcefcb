"""Reliability: does what a calibrated ranker says come true? Intervals are over queries, not documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import stdtrit

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import axes_for, check_drawing, finish_chart, new_axes, save_figure
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, counted, decimals


class Bin(NamedTuple):
    """Documents with similar predictions."""

    n_documents: int
    n_queries: int
    predicted: float
    """The mean prediction."""
    observed: float
    """The share of relevant documents, or the mean label."""
    low: float
    """The 95% interval of what is observed; NaN if the documents are of one query."""
    high: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Result):
    """Predictions and what came true, from low to high predictions; prints as a table.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((50, 50, 50), n_features=3, random_state=0)
    >>> found = sr.instruments.reliability(sr.MART(n_trees=20).fit(train).calibrate(vali), test)
    >>> isinstance(found, sr.instruments.Reliability), found.error < 0.1
    (True, True)
    """

    target: str
    n_queries: int
    bins: tuple[Bin, ...]

    @property
    def error(self) -> float:
        """The mean of |predicted - observed| over the documents (expected calibration error)."""
        sizes = np.array([each.n_documents for each in self.bins])
        return float((np.abs([each.predicted - each.observed for each in self.bins]) * sizes).sum() / sizes.sum())

    def _blocks(self) -> Blocks:
        rows = [
            [f"{each.predicted:.4f}", f"{each.observed:.4f}", f"{decimals(each.low)} to {decimals(each.high)}",
             f"{each.n_documents:,}", f"{each.n_queries:,}"]
            for each in self.bins
        ]  # fmt: skip
        return [Table(["predicted", "observed", "95% interval", "documents", "queries"], rows, left=0), self.verdict()]

    def verdict(self) -> str:
        """The result in a sentence."""
        what = "probability of relevance" if self.target == "probability" else "expected label"
        n = counted(self.n_queries, "query", "queries")
        return f"The {what} is off by {self.error:.4f} on average, over {n}."

    def _values(self) -> dict[str, Any]:
        bins = [each._asdict() for each in self.bins]
        return {"target": self.target, "n_queries": self.n_queries, "error": self.error, "bins": bins}

    def _columns(self) -> Mapping[str, list[Any]]:
        return rows_as_columns([each._asdict() for each in self.bins])

    def plot(self, ax: Any = None) -> Any:
        """Draw what was observed against what was predicted; returns the Matplotlib axes."""
        return self._drawn(axes_for(ax, 5.0, 4.5))

    def draw(self, path: str | Path) -> None:
        """Draw what was observed against what was predicted to a file (.svg, .png or .pdf)."""
        check_drawing(Path(path))
        save_figure(self._drawn(new_axes(5.0, 4.5)), Path(path))

    def _drawn(self, axes: Any) -> Any:
        x, y, low, high = (
            np.array([getattr(each, name) for each in self.bins]) for name in ("predicted", "observed", "low", "high")
        )
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        axes.plot(ends, ends, color="#999999", linestyle=":", label="as predicted")
        axes.vlines(x, np.where(np.isnan(low), y, low), np.where(np.isnan(high), y, high), color="#1a7f5a")
        axes.plot(x, y, "o-", color="#1a7f5a", linewidth=1, label="observed, 95% interval")
        return finish_chart(axes, f"Reliability ({self.n_queries:,} queries)", "predicted", "observed")


def reliability(ranker: Ranker, data: Dataset, *, n_bins: int = 10) -> Reliability:
    """Compare the calibrated scores of a ranker with labels that it was neither trained nor calibrated with.

    Args:
        ranker: A ranker after `calibrate`.
        data: Judged documents.
        n_bins: Documents are grouped by their predictions into so many bins of about the same size.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((50, 50, 50), n_features=3, random_state=0)
    >>> found = sr.instruments.reliability(sr.MART(n_trees=20).fit(train).calibrate(vali), test, n_bins=5)
    >>> len(found.bins), found.n_queries
    (5, 50)
    """
    check_parameter("n_bins", n_bins, Bounds(True, 1, 1000))
    calibration = ranker.check_calibrated()
    predicted = np.asarray(data.by_query(ranker.calibrated(data)))
    labels = np.asarray(data.by_query(data.labels), np.float64)
    # Equal predictions are in one bin.
    ends = np.unique(np.quantile(predicted, np.arange(1, n_bins + 1) / n_bins, method="inverted_cdf"))
    place = np.searchsorted(ends, predicted)
    query = np.repeat(np.arange(data.n_queries), np.diff(data.indptr))
    span = calibration.high - calibration.low
    truth = (calibration.targets(labels) - calibration.low) / span
    bins = []
    for at in np.unique(place):
        mine = place == at
        observed, low, high = _share(truth[mine], query[mine])
        low, observed, high = (calibration.low + span * each for each in (low, observed, high))
        n_queries = len(np.unique(query[mine]))
        bins.append(Bin(int(mine.sum()), n_queries, float(predicted[mine].mean()), observed, low, high))
    return Reliability(calibration.target, data.n_queries, tuple(bins))


def _share(truth: Floats, query: Ints) -> tuple[float, float, float]:
    """A mean of values from 0 to 1, and its interval over queries."""
    n, mean = len(truth), float(truth.mean())
    residuals = np.bincount(np.unique(query, return_inverse=True)[1], truth - mean)
    if len(residuals) < 2:
        return mean, float("nan"), float("nan")
    # All or none may be relevant by chance: the variance is at least that of independent documents.
    moderate = (truth.sum() + 0.5) / (n + 1)
    least = moderate * (1 - moderate) / n if set(np.unique(truth)) <= {0.0, 1.0} else 0.0
    variance = max((residuals**2).sum() * len(residuals) / (len(residuals) - 1) / n**2, least)
    half = float(-stdtrit(len(residuals) - 1, 0.025) * np.sqrt(variance))
    return mean, max(0.0, mean - half), min(1.0, mean + half)
