"""Drift: how far new data lies from what training has seen, beyond what chance explains.

Every share (of a bin and those below it, of a category, of missing values, outside the range) is compared with that of
the training data. Documents of a query resemble each other, so noise is measured between queries:

    z = (share - share in training) / sqrt(V (1 / queries + 1 / queries in training) + V' / rows of the sample)

V: variance over queries, V': of one row, because training keeps a sample of its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import stdtr

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Wording
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.seen import Seen, Values, score_values, see
from swaprank.rendering.figures import (
    axes_for,
    chart_height,
    check_drawing,
    name_rows,
    new_axes,
    save_figure,
    shortened,
)
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, counted, probability

SCORES = "scores"
_SHOWN = 20
_NAMED = 5


class Change(NamedTuple):
    """The change of one feature, or of the scores."""

    name: str
    largest: float
    """The largest change of any share: of values, outside, missing."""
    distance: float
    """The largest change of a share: of values up to a bound (Kolmogorov-Smirnov distance), or of a category."""
    psi: float
    """The population stability index over the same bins."""
    outside: float
    """Share of values outside the training range, or of new categories."""
    missing: float
    missing_before: float
    p: float
    """Probability of such a change by chance, corrected for all features and shares."""
    drifted: bool
    new_categories: tuple[str, ...] = ()
    """Categories that training has not seen, the most frequent first."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Drift(Result):
    """What has changed since training; prints as a table. Its data frame has one row per feature, and the scores.

    >>> import swaprank as sr
    >>> train, new = sr.datasets.random_net((50, 50), n_features=3, random_state=0)
    >>> isinstance(sr.drift(sr.MART(n_trees=2).fit(train), new), sr.instruments.Drift)
    True
    """

    n_queries: int
    n_queries_before: int
    tolerance: float
    alpha: float
    changes: tuple[Change, ...]
    """The largest change first, drifted features before others."""

    @property
    def drifted(self) -> tuple[str, ...]:
        """The features that have drifted, and "scores" if these have."""
        return tuple(change.name for change in self.changes if change.drifted)

    def _blocks(self) -> Blocks:
        rows = [
            [
                each.name,
                f"{each.distance:.1%}",
                f"{each.psi:.3f}",
                f"{each.outside:.1%}",
                f"{each.missing_before:.1%} to {each.missing:.1%}",
                probability(each.p),
                "drift" if each.drifted else "",
            ]
            for each in self.changes[:_SHOWN]
        ]
        header = ["", "moved", "PSI", "outside", "missing", "p", ""]
        rest = len(self.changes) - _SHOWN
        new = [_sentence(each) for each in self.changes if each.new_categories]
        return [Table(header, rows, note=f"… and {rest} more" if rest > 0 else ""), *new, self.verdict()]

    def verdict(self) -> str:
        """The result in a sentence."""
        queries = f"{counted(self.n_queries, 'query', 'queries')}, compared with {self.n_queries_before:,} of training"
        if not self.drifted:
            return f"No drift: {queries}."
        rest = len(self.drifted) - _NAMED
        named = ", ".join(self.drifted[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
        return f"Drift of {named}: {queries}."

    def _values(self) -> dict[str, Any]:
        return {
            "drifted": list(self.drifted),
            "n_queries": self.n_queries,
            "n_queries_before": self.n_queries_before,
            "tolerance": self.tolerance,
            "alpha": self.alpha,
            "changes": [each._asdict() for each in self.changes],
        }

    def _columns(self) -> Mapping[str, list[Any]]:
        return rows_as_columns([each._asdict() for each in self.changes])

    def plot(self, ax: Any = None) -> Any:
        """Draw the largest changes as bars, red where there is drift; returns the Matplotlib axes."""
        return self._drawn(axes_for(ax, height=chart_height(min(_SHOWN, len(self.changes)))))

    def draw(self, path: str | Path) -> None:
        """Draw the largest changes to a file (.svg, .png or .pdf)."""
        check_drawing(Path(path))
        save_figure(self._drawn(new_axes(height=chart_height(min(_SHOWN, len(self.changes))))), Path(path))

    def _drawn(self, axes: Any) -> Any:
        shown = self.changes[:_SHOWN]
        places = name_rows(axes, [each.name for each in shown])
        colors = ["#b3452c" if each.drifted else "#999999" for each in shown]
        axes.barh(places, [100 * each.largest for each in shown], color=colors)
        axes.axvline(100 * self.tolerance, color="#333333", linestyle=":")
        axes.set_xlabel("largest change of a share of the documents, in %")
        axes.set_title(f"Drift since training ({len(self.drifted)} of {len(self.changes)})")
        return axes


def drift(
    trained: Ranker | Dataset,
    data: Dataset,
    *,
    reference: Dataset | None = None,
    tolerance: float = 0.05,
    alpha: float = 0.01,
) -> Drift:
    """Compare new data with what training has seen, per feature: values, missing values, categories, and scores.

    There is drift if a share has changed by `tolerance` or more, and chance explains that with a probability of at most
    `alpha`, for all features together. Noise is measured between queries, not rows.

    Args:
        trained: A fitted ranker, or a data set to compare with, without scores.
        data: New documents; labels are not used.
        reference: The training data, for a ranker that has no counts of it: an imported model, or an old model file.
        tolerance: Smaller changes of shares are no drift.
        alpha: How often data of the same distribution may be called drift.

    >>> import swaprank as sr
    >>> train, new = sr.datasets.random_net((100, 100), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=5).fit(train)
    >>> sr.drift(ranker, new).drifted
    ()
    >>> sr.drift(ranker, new.replace(features=new.features * [1, 3, 1])).drifted
    ('2',)
    """
    check_parameter("tolerance", tolerance, Bounds(False, 0, 1))
    check_parameter("alpha", alpha, Bounds(False, 0, 1))
    if not isinstance(data, Dataset):
        raise DataError(
            f"drift takes new data as a Dataset, whose labels are not used; found {type(data).__name__}",
            Wording(": sr.Dataset(X, np.zeros(len(X)), qid=…).", "."),
        )
    ranker = trained if isinstance(trained, Ranker) else None
    if ranker is None:
        if not isinstance(trained, Dataset):
            raise DataError(f"drift takes a fitted ranker or a Dataset first; found {type(trained).__name__}.")
        names, categories, seen = trained.feature_names, trained.categories, see(trained, None, None, None)
    else:
        names, categories, seen = ranker.learned_.feature_names, ranker.categories_, _seen_by(ranker, reference)
    if data.n_queries < 2:
        raise DataError("drift needs 2 queries or more, because it measures noise between queries; found 1.")
    new = data.with_features(names, categories=categories, new_categories=True, whose="the model")
    found = [
        _compare(name, values, _column(new, at, values), new, seen, categories)
        for at, (name, values) in enumerate(zip(names, seen.features, strict=True))
    ]
    if ranker is not None and seen.scores is not None:
        scores = score_values(ranker.predict(data.replace(base_score=None)))
        found.append(_compare(SCORES, seen.scores, scores, new, seen, {}))
    changes = [_change(each, len(found), tolerance, alpha) for each in found]
    ranked = sorted(changes, key=lambda each: (not each.drifted, -each.largest))
    return Drift(data.n_queries, seen.n_queries, float(tolerance), float(alpha), tuple(ranked))


def _seen_by(ranker: Ranker, reference: Dataset | None) -> Seen:
    if reference is not None:
        return see(ranker.matched(reference), ranker.model_, None, ranker.n_threads)
    seen = ranker.learned_.seen
    if seen is None:
        raise DataError(
            "this model has no counts of its training data, because it was imported, trained in batches, or saved by "
            "an older version: give the training data",
            Wording(", drift(ranker, new_data, reference=train)", " with --reference FILE"),
            ", or train it again.",
        )
    return seen


def _column(data: Dataset, feature: int, values: Values) -> Any:
    """The values of a feature; those of bins, if training has counted between the same cuts."""
    if not data.is_binned or feature in data.categorical:
        return data.column(feature)
    used = [each for each in (*values.cuts, values.low, values.high) if each is not None]
    if not np.isin(np.array(used, np.float32), data.stored.cuts.values[feature]).all():  # type: ignore[attr-defined]
        raise DataError(
            f"the new data has bins with other cuts of '{data.feature_names[feature]}' than the training data: give "
            "the values, or bin them like the training data."
        )
    return data.stored.map_rows(lambda rows: rows[:, 0], None, np.array([feature]))


def _sentence(change: Change) -> str:
    """The new categories of a feature."""
    names = [f"'{shortened(name)}'" for name in change.new_categories[:_NAMED]]
    rest = len(change.new_categories) - _NAMED
    return f"New values of {change.name}: {', '.join(names)}{f' and {rest:,} more' if rest > 0 else ''}."


class _Compared(NamedTuple):
    name: str
    before: Floats
    """The tested shares in training: of values, outside, missing."""
    now: Floats
    errors: Floats
    bins_before: Floats
    bins: Floats
    n_queries: int
    new_categories: tuple[str, ...]


def _compare(
    name: str, values: Values, column: Any, data: Dataset, seen: Seen, categories: Mapping[str, Any]
) -> _Compared:
    x = np.asarray(data.by_query(column))
    is_known = ~np.isnan(x)
    new_categories: tuple[str, ...] = ()
    counts = np.array(values.counts, np.float64)
    known_before = max(1.0, counts.sum())
    if values.codes is None:
        place = np.searchsorted(np.array(values.cuts, np.float32), x)
        outside = np.zeros(len(x), np.bool_)
        if values.low is not None:
            outside |= x <= np.float32(values.low)
        if values.high is not None:
            outside |= x > np.float32(values.high)
        tested = [is_known & (place <= at) for at in range(len(counts) - 1)]
        before = np.cumsum(counts)[:-1] / known_before
    else:
        codes = np.nan_to_num(x, nan=-1.0).astype(np.int64)
        place = np.full(len(x), len(values.codes))
        for at, code in enumerate(values.codes):
            place[codes == code] = at
        outside = codes >= len(categories[name])
        met, times = np.unique(codes[outside], return_counts=True)
        new_categories = tuple(data.categories[name][code] for code in met[np.argsort(-times, kind="stable")])
        tested = [is_known & (place == at) for at in range(len(counts))]
        before = counts / known_before
    everything = np.ones(len(x), np.bool_)
    parts = [(each, is_known) for each in tested] + [(outside & is_known, is_known), (~is_known, everything)]
    share_before = np.array([*before, values.outside / known_before, values.missing / seen.n_rows])
    measured = [_share(part, of, data.indptr, p) for (part, of), p in zip(parts, share_before, strict=True)]
    now, between, size = (np.array(each) for each in zip(*measured, strict=True))
    errors = _errors(now, share_before, between, size, data.n_queries, seen)
    bins = np.bincount(place[is_known], minlength=len(counts)) / max(1, is_known.sum())
    return _Compared(name, share_before, now, errors, counts / known_before, bins, data.n_queries, new_categories)


def _share(part: Any, of: Any, indptr: Ints, before: float) -> tuple[float, float, float]:
    """A share of the documents, its variance per query, and the mean number of documents that count."""
    hits, sizes = (np.add.reduceat(each.astype(np.float64), indptr[:-1]) for each in (part, of))
    n, total = len(hits), sizes.sum()
    if total == 0:
        return before, 0.0, 1.0
    share = hits.sum() / total
    residual = (hits - share * sizes) / (total / n)
    return float(share), float((residual * residual).sum() / (n - 1)), float(total / n)


def _errors(now: Floats, before: Floats, between: Floats, size: Floats, n: int, seen: Seen) -> Floats:
    """The standard errors of the differences of shares.

    A few queries may all lack a rare value, and then do not show how it varies. So the variance is at least that of
    independent documents x the largest design effect of the feature: how much more its shares vary between queries.
    """
    n_before = seen.n_queries
    alone = now * (1 - now) / size
    effect = np.max(between[alone > 0] / alone[alone > 0], initial=1.0)
    pooled = (now * n + before * n_before) / (n + n_before)
    variance = np.maximum(between, effect * pooled * (1 - pooled) / size)
    errors: Floats = np.sqrt(variance * (1 / n + 1 / n_before) + pooled * (1 - pooled) / seen.n_rows)
    return errors


def _change(found: _Compared, n_compared: int, tolerance: float, alpha: float) -> Change:
    difference = np.abs(found.now - found.before)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(difference > 0, difference / found.errors, 0.0)
    p = np.minimum(1.0, 2 * stdtr(found.n_queries - 1, -z) * len(z) * n_compared)
    a, b = (np.maximum(each, 1e-4) for each in (found.bins_before, found.bins))
    return Change(
        found.name,
        float(difference.max()),
        float(difference[:-2].max(initial=0.0)),
        float(((b - a) * np.log(b / a)).sum()),
        float(found.now[-2]),
        float(found.now[-1]),
        float(found.before[-1]),
        float(p.min()),
        bool(((difference >= tolerance) & (p <= alpha)).any()),
        found.new_categories,
    )
