"""Importances and contributions of features and learning curves, also as pictures, drawn by Matplotlib."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.data.dataset import Dataset
from swaprank.errors import THE_DATA, DataError, MetricError, ParameterError, did_you_mean
from swaprank.metrics.metric import OWN_SUFFIX, Metric, bind_metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.models.ensemble import trees_of
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.rounds import VALID
from swaprank.rendering.figures import (
    axes_for,
    chart_height,
    finish_chart,
    name_rows,
    shortened,
    whole_numbers,
    write_right,
)
from swaprank.seeds import random_generator

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker


_KINDS = {"gain": "total gain of the splits", "splits": "number of splits"}


class FeatureValues(NamedTuple):
    """One value per feature, the most important first, and what the values are."""

    values: Mapping[str, float]
    unit: str


def plot_importances(ranker: "Ranker", ax: Any, kind: str | None, data: Dataset | None, n_features: int) -> Any:
    """A bar per feature, the most important at the top."""
    found = feature_values(ranker, kind, data)
    shown = dict(list(found.values.items())[:n_features])
    axes = axes_for(ax, 7.0, chart_height(len(shown)))
    places = name_rows(axes, list(shown))
    axes.barh(places, list(shown.values()), height=0.7)
    axes.axvline(0.0, color="0.5", linewidth=1)
    write_right(axes, places, (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" for value in shown.values()))
    axes.set(xlabel=found.unit, ylim=(-0.6, len(shown) - 0.4))
    if len(shown) < len(found.values):
        axes.set_title(f"the first {len(shown):,} of {len(found.values):,} features", loc="left", fontsize="medium")
    return axes


def feature_values(ranker: "Ranker", kind: str | None, data: Dataset | None) -> FeatureValues:
    """The importances of this kind; by default those that the model itself has, or else permutation importances.

    >>> import swaprank as sr
    >>> from swaprank.rankers.ranker_figures import feature_values
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> mart, linear = sr.MART(n_trees=2).fit(data), sr.LinearRegressionRanker().fit(data)
    >>> feature_values(mart, None, None).unit, feature_values(linear, None, data).unit
    ('total gain of the splits', 'weight × standard deviation')
    """
    ranker.check_fitted()
    has_own = hasattr(ranker, "importances") and trees_of(ranker.model_) is not None
    kinds = [*_KINDS, "permutation"] if has_own else ["permutation"]
    if kind not in (None, *kinds):
        raise ParameterError(
            f"{type(ranker).__name__} has no importances of the kind {kind!r}; known are {', '.join(kinds)}."
        )
    if kind in _KINDS or (kind is None and has_own):
        return FeatureValues(ranker.importances(kind or "gain"), _KINDS[kind or "gain"])
    if data is None:
        raise ParameterError(f"importances of {type(ranker).__name__} are measured on data: give it as data.")
    found = None if kind else ranker.model_.importances(ranker._features_of(data))
    if found is None:
        return FeatureValues(ranker.permutation_importances(data), f"fall of {ranker.training_metric()} when shuffled")
    order = np.argsort(-np.abs(found.values), kind="stable").tolist()
    return FeatureValues({str(ranker.feature_names_in_[f]): float(found.values[f]) for f in order}, found.unit)


def permutation_importances(
    ranker: Any, data: Dataset, metric: Metric, n_repeats: int, random_state: int
) -> dict[str, float]:
    """The mean fall of the metric when one feature is shuffled over all rows, the most important feature first."""
    check_parameter("n_repeats", n_repeats, Bounds(True, 1, 10**7))
    bound = bind_metric(metric, data)
    rng = random_generator(random_state)
    X, base = np.array(ranker._features_of(data)), 0.0 if data.base_score is None else data.base_score

    def measured() -> float:
        # Not by predict, which would take the codes of categories for their values.
        scores = ranker.model_.score(read_only(X), ranker.n_threads) + base
        return bound.mean(data.by_query(scores), n_threads=ranker.n_threads)

    unshuffled = measured()
    falls = {}
    for f, name in enumerate(ranker.feature_names_in_):
        original = X[:, f].copy()
        values = []
        for _ in range(n_repeats):
            X[:, f] = rng.permutation(original)
            values.append(measured())
        X[:, f] = original
        falls[str(name)] = unshuffled - float(np.mean(values))
    return dict(sorted(falls.items(), key=lambda item: -item[1]))


def plot_learning_curve(ranker: "Ranker", ax: Any, metric: str | Metric | None) -> Any:
    """A line per data set, and the round whose model was kept."""
    ranker.check_fitted()
    name = _measured_metric(ranker, metric)
    axes = axes_for(ax)
    for at, (set_name, history) in enumerate(ranker.history_.items()):
        values = history.get(name, [])
        marker = "o" if len(values) == 1 else None
        axes.plot(range(1, len(values) + 1), values, marker=marker, color=f"C{at % 10}", label=shortened(set_name))
    kept = f"kept: {ranker.can.round_name} {ranker.best_round_:,}"
    axes.axvline(ranker.best_round_, color="0.5", linestyle="--", linewidth=1, label=kept)
    whole_numbers(axes)
    return finish_chart(axes, "", ranker.can.round_name, name)


def _measured_metric(ranker: "Ranker", metric: str | Metric | None) -> str:
    """The name of a metric in the history: the given one; or the one trained for; or the first that was measured."""
    known = list(
        dict.fromkeys(name for history in ranker.history_.values() for name, values in history.items() if values)
    )
    if not known:
        raise DataError("no round was measured: give a data set to watch, ", VALID, ".")
    wanted = ranker.metric if metric is None else metric
    name = str(wanted).removesuffix(OWN_SUFFIX)
    if name in known:
        return name
    with suppress(MetricError):
        name = str(parse_metric(wanted))
    if name in known:
        return name
    if metric is None:
        return known[0]
    raise MetricError(f"'{metric}' was not measured; {did_you_mean(name, known)}")


_LOW, _MISSING, _HIGH = "#2c6fbb", "#a0a0a0", "#d1285b"
_HEIGHT = 0.42
"""The height of a swarm above and below its line; the lines of the features are 1 apart."""
_BINS, _FULL_BIN = 120, 25
"""A swarm has its full height where a bin of the horizontal axis has at least so many points."""
_MOST_POINTS = 3000
"""Documents drawn, evenly spaced; more points only hide each other."""


def plot_contributions(
    shares: Floats, features: Features, names: Sequence[str], n_features: int, ax: Any = None
) -> Any:
    """Draw the features with the largest mean absolute contributions, and return the axes.

    The color of a point is the rank of the document's feature value among all documents: blue is low, red is high, grey
    is missing or a category.
    """
    if len(shares) == 0:
        raise DataError(THE_DATA, " has no rows, and so no contributions to draw.")
    from matplotlib.colors import LinearSegmentedColormap

    step = -(-len(shares) // _MOST_POINTS)
    shares, features = shares[::step], features[::step]
    order = np.argsort(-np.abs(shares).mean(axis=0), kind="stable")[:n_features]
    axes = axes_for(ax, 7.0, 1.2 + 0.38 * len(order))
    low, high = float(shares[:, order].min()), float(shares[:, order].max())
    colors = LinearSegmentedColormap.from_list("low to high", [_LOW, _HIGH])
    axes.axvline(0.0, color=_MISSING, linewidth=0.8, zorder=0)
    points = None
    for row, f in enumerate(order):
        x, ranks = shares[:, f], value_ranks(features[:, f])
        y = row + _HEIGHT * swarm(x, low, high)
        known = ~np.isnan(ranks)
        style = {"s": 7, "linewidths": 0, "rasterized": True}
        axes.scatter(x[~known], y[~known], color=_MISSING, **style)
        points = axes.scatter(x[known], y[known], c=ranks[known], cmap=colors, vmin=0.0, vmax=1.0, **style)
    axes.set(ylim=(len(order) - 0.4, -0.6), xlabel="contribution to the score")
    axes.set_yticks(range(len(order)), [str(names[f]) for f in order])
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    bar = axes.figure.colorbar(points, ax=axes, aspect=40, pad=0.02, label="value of the feature")
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.outline.set_visible(False)
    return axes


def value_ranks(values: Features) -> Floats:
    """The rank of each value among the others, from 0 to 1, 0.5 if all are equal; NaN where the value is missing.

    >>> import numpy as np
    >>> from swaprank.rankers.ranker_figures import value_ranks
    >>> value_ranks(np.array([7, np.nan, 3, 7, 5], np.float32)).tolist()
    [1.0, nan, 0.0, 1.0, 0.5]
    """
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    distinct, place = np.unique(values[known], return_inverse=True)
    ranks[known] = place / (len(distinct) - 1) if len(distinct) > 1 else 0.5
    return ranks


def swarm(x: Floats, low: float, high: float) -> Floats:
    """Heights from -1 to 1 that keep the points of a bin apart: alternately above and below the line.

    >>> import numpy as np
    >>> from swaprank.rankers.ranker_figures import swarm
    >>> swarm(np.array([0.5, 0.5, 0.9, 0.5]), 0.0, 1.0).tolist()
    [0.0, 0.08, 0.0, -0.08]
    """
    bins: Ints = np.floor((x - low) / ((high - low) or 1.0) * (_BINS - 1)).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[order], np.arange(_BINS))
    position = np.empty(len(x), np.int64)
    position[order] = np.arange(len(x)) - starts[bins[order]]
    heights = (position + 1) // 2 * np.where(position % 2 == 1, 1, -1)
    return heights / max(_FULL_BIN / 2, float(np.abs(heights).max(initial=0)))
