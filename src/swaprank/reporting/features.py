"""The section of features: their importances, and effect curves of the most important ones.

An effect (partial dependence) is the mean score as a function of one feature: a curve, or a score per category.
"""

from typing import NamedTuple

import numpy as np

import swaprank as sr
from swaprank.arrays import Features, Floats, read_only
from swaprank.rankers.ranker_figures import permutation_importances
from swaprank.reporting.markup import Html, details, join, paragraph, shortened, table, tag
from swaprank.reporting.plots import Axes, Line, Scale, chart, fill_bar, lines, scale_of, written
from swaprank.reporting.subject import Section, Subject, query_sample, row_sample, section

_SHOWN, _MOST_NAMED = 15, 300
_EFFECTS = 6
_MOST_SCORED = 400_000
"""Upper limit of rows that are scored to compute permutation importances."""
_DOCUMENTS, _VALUES, _CATEGORIES = 400, 24, 8
"""Sizes of an effect: the sample of documents, values of a curve, categories of a table."""


class NamedImportances(NamedTuple):
    """One number per feature, most important first, with the unit and a description of the numbers.

    >>> from swaprank.reporting.features import NamedImportances
    >>> NamedImportances({"age": 1.0}, "gain", "…").unit
    'gain'
    """

    values: dict[str, float]
    unit: str
    meaning: str


def importances_of(ranker: sr.Ranker, data: sr.Dataset, metric: sr.metrics.Metric) -> NamedImportances:
    """The importances that the model defines; permutation importances if it defines none.

    >>> import swaprank as sr
    >>> from swaprank.reporting.features import importances_of
    >>> (data,) = sr.datasets.random_net((30,), n_features=4, random_state=0)
    >>> importances_of(sr.LinearRegressionRanker().fit(data), data, sr.metric("ndcg@10")).unit
    'weight × standard deviation'
    """
    found = ranker.model_.importances(data.features)
    if found is not None:
        return NamedImportances(_sorted(found.values, data), found.unit, found.meaning)
    n_repeats = 3
    part = query_sample(data, max(500, _MOST_SCORED // (n_repeats * data.n_features)))
    falls = permutation_importances(ranker, part, metric, n_repeats, 0)
    meaning = (
        f"How much {metric} falls when a feature's values are shuffled over the documents: the mean of {n_repeats} "
        f"shuffles on {part.n_queries:,} queries."
    )
    return NamedImportances(falls, f"fall of {metric}", meaning)


def _sorted(values: Floats, data: sr.Dataset) -> dict[str, float]:
    """Values by feature name, largest absolute value first. Names are those of this data, not of the training data."""
    return {data.feature_names[f]: float(values[f]) for f in np.argsort(-np.abs(values), kind="stable").tolist()}


class Effect(NamedTuple):
    """One feature's curve.

    >>> import numpy as np
    >>> from swaprank.reporting.features import Effect
    >>> Effect("age", np.array([0.0, 1.0]), np.array([-0.5, 0.5]), np.array([0.5]), None).name
    'age'
    """

    name: str
    grid: Floats
    scores: Floats
    """The mean score at each value of the grid, minus the mean score of the unchanged documents."""
    deciles: Floats
    missing: float | None
    """The same for a missing value; None if the feature is never missing."""
    categories: tuple[str, ...] = ()
    """The categories of the grid if the feature is categorical, the most frequent first."""


def effect_of(ranker: sr.Ranker, data: sr.Dataset, feature: int) -> Effect:
    """The curve of one feature from its 1% to its 99% quantile, or its most frequent categories, on a sample.

    >>> import swaprank as sr
    >>> from swaprank.reporting.features import effect_of
    >>> (data,) = sr.datasets.random_net((30,), n_features=4, random_state=0)
    >>> ranker = sr.LinearRegressionRanker().fit(data)
    >>> effect = effect_of(ranker, data, 2)
    >>> slope = (effect.scores[-1] - effect.scores[0]) / (effect.grid[-1] - effect.grid[0])
    >>> bool(abs(slope - ranker.coef_[2]) < 1e-6)
    True
    """
    sample = np.array(data.features[row_sample(len(data), _DOCUMENTS)])
    values = data.column(feature)
    known = values[~np.isnan(values)]
    if not len(known):
        return Effect(data.feature_names[feature], np.empty(0), np.empty(0), np.empty(0), None)
    categories = data.categories.get(data.feature_names[feature])
    grid = _grid(known) if categories is None else _most_frequent(known)
    points = grid if len(known) == len(values) else np.append(grid, np.nan)
    rows = np.tile(sample, (len(points), 1))
    rows[:, feature] = np.repeat(points, len(sample)).astype(np.float32)
    # Not by predict, which would take the codes of categories for their values.
    means = ranker.model_.score(read_only(rows), ranker.n_threads).reshape(len(points), len(sample)).mean(axis=1)
    means -= ranker.model_.score(read_only(sample), ranker.n_threads).mean()
    missing = float(means[-1]) if len(points) > len(grid) else None
    name, means = data.feature_names[feature], means[: len(grid)]
    if categories is not None:
        return Effect(name, grid, means, np.empty(0), missing, tuple(categories[int(code)] for code in grid))
    deciles = np.quantile(known, np.linspace(0.1, 0.9, 9))
    inside = deciles[(deciles >= grid[0]) & (deciles <= grid[-1])].astype(np.float64)
    return Effect(name, grid, means, inside, missing)


def _most_frequent(codes: Features) -> Floats:
    """The codes of the most frequent categories."""
    counts = np.bincount(codes.astype(np.int64))
    most = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    return most[counts[most] > 0].astype(np.float64)


def _grid(known: Features) -> Floats:
    """All values if there are few, else quantiles and evenly spaced values."""
    distinct = np.unique(known[row_sample(len(known), 100_000)].astype(np.float64))
    if len(distinct) <= _VALUES:
        return distinct
    low, high = np.quantile(known, [0.01, 0.99])
    if low == high:
        low, high = float(known.min()), float(known.max())
    between = np.quantile(known, np.linspace(0.01, 0.99, _VALUES // 2))
    grid: Floats = np.unique(np.concatenate((np.linspace(low, high, _VALUES // 2), between)).astype(np.float64))
    return grid


def features_section(subject: Subject) -> Section:
    """A table of feature importances, and effect curves of the most important features.

    >>> import swaprank as sr
    >>> from swaprank.reporting.features import features_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "Effect curves" in features_section(subject).body
    True
    """
    found = importances_of(subject.ranker, subject.data, subject.metric)
    used = [name for name, value in found.values.items() if value != 0 and np.isfinite(value)]
    curves = [
        effect_of(subject.ranker, subject.data, subject.data.feature_names.index(name)) for name in used[:_EFFECTS]
    ]
    curves = [curve for curve in curves if len(curve.grid) > 1]
    parts = [tag("div", tag("h3", "Importances"), _ranking(found))]
    any_categories = any(curve.categories for curve in curves)
    if curves:
        words = (
            "How the mean score of a sample of documents changes if one feature is set to the same value in all of "
            "them. All charts have the same vertical scale. Ticks mark the deciles of the feature's values."
            f"{' Of a categorical feature, the most frequent values are listed.' if any_categories else ''}"
        )
        charts = tag("div", *_effect_charts(curves), class_="trio")
        parts.append(tag("div", tag("h3", "Effect curves"), paragraph(words, class_="note"), charts))
    return section("features", "Features", _lead(found, used), tag("div", *parts, class_="third"))


def feature_title(name: str, most: int) -> str:
    """The title of a feature: its name, or "feature 25" if the name is a number.

    >>> from swaprank.reporting.features import feature_title
    >>> feature_title("25", 20), feature_title("bm25", 20)
    ('feature 25', 'bm25')
    """
    return f"feature {name}" if name.isdecimal() else shortened(name, most)


def _lead(found: NamedImportances, used: list[str]) -> str:
    if not used:
        return "All importances are 0: the ranker gives every document the same score, or shuffling changes no order."
    return f"{len(used):,} of {len(found.values):,} features matter, {feature_title(used[0], 60)} most. {found.meaning}"


def _ranking(found: NamedImportances) -> Html:
    """A table with bars."""
    items = list(found.values.items())
    reach = max((abs(value) for _, value in items if np.isfinite(value)), default=0.0) or 1.0
    header = ["Feature", found.unit[0].upper() + found.unit[1:], ""]

    def row(name: str, value: float) -> list[object]:
        return [tag("bdi", shortened(name, 48)), _written(value, found.unit), _bar(value, reach)]

    shown = table(header, [row(*item) for item in items[:_SHOWN]], class_="data ranking")
    rest = items[_SHOWN:_MOST_NAMED]
    if not rest:
        return shown
    others = table(header[:2], [[tag("bdi", shortened(name, 48)), _written(value, found.unit)] for name, value in rest])
    beyond = f", {len(items) - _MOST_NAMED:,} more are not listed" if len(items) > _MOST_NAMED else ""
    return join([shown, details(f"The other {len(rest):,} features{beyond}", others)])


def _written(value: float, unit: str) -> str:
    return f"{100 * value:.1f}%" if unit.startswith("share") else f"{value:+.4f}" if value else "0"


def _effect_charts(curves: list[Effect]) -> list[Html]:
    y = scale_of(np.concatenate([curve.scores for curve in curves]), include=(0.0,), pad=0.08)
    return [_category_table(curve, y) if curve.categories else _curve_chart(curve, y) for curve in curves]


def _curve_chart(curve: Effect, y: Scale) -> Html:
    x = scale_of(curve.grid, pad=0.0)
    axes = Axes(x, y, "", "score", list(zip(x.ticks(3), written(x.ticks(3)), strict=True)))
    line = Line(curve.name, curve.grid, curve.scores)
    tips = [
        (at, f"{shortened(curve.name, 60)} = {at:.4g}\n{score:+.4f}")
        for at, score in zip(curve.grid.tolist(), curve.scores.tolist(), strict=True)
    ]
    deciles = [
        tag("line", x1=axes.x.across(at), x2=axes.x.across(at), y1="100%", y2="96%", class_="decile")
        for at in curve.deciles.tolist()
    ]
    rows = [[f"{at:.5g}", f"{score:+.4f}"] for at, score in zip(curve.grid, curve.scores, strict=True)]
    missing = "" if curve.missing is None else f" Missing value: {curve.missing:+.4f}."
    alt = (
        f"Line chart: as feature {curve.name} goes from {curve.grid[0]:.4g} to {curve.grid[-1]:.4g}, the mean "
        f"score goes from {curve.scores[0]:+.4f} to {curve.scores[-1]:+.4f}.{missing}"
    )
    marks = join([tag("g", *deciles), lines([line], axes, tips)])
    numbers = join([table(["value", "score"], rows, left=0), paragraph(missing, class_="note") if missing else ""])
    return chart(feature_title(curve.name, 36), alt, axes, marks, numbers=numbers, class_="small")


def _category_table(curve: Effect, y: Scale) -> Html:
    """The score of each category with a bar: their names have room in a table, and not below bars."""
    reach = max(abs(y.low), abs(y.high))
    values = [*zip(curve.categories, curve.scores.tolist(), strict=True)]
    rows = [[tag("bdi", shortened(name, 16)), f"{score:+.3f}", _bar(score, reach)] for name, score in values]
    if curve.missing is not None:
        rows.append(["(missing)", f"{curve.missing:+.3f}", _bar(curve.missing, reach)])
    title = tag("figcaption", tag("span", feature_title(curve.name, 36), class_="title"))
    return tag("figure", title, table(["Category", "Score", ""], rows, class_="data ranking"), class_="chart")


def _bar(value: float, reach: float) -> Html:
    """A bar beside its number, which screen readers read: it has no text description."""
    return fill_bar(min(abs(value) / reach, 1.0), "s0" if value >= 0 else "down")
