"""The section on distributions: scores by label, labels, and list lengths."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.reporting.markup import Html, join, paragraph, table, tag
from swaprank.reporting.plots import Axes, Scale, bars, chart, line_path, scale_of, stretched
from swaprank.reporting.subject import Section, Subject, section

_MOST_LABELS = 8
_BINS = 48
_LENGTH_BINS = 30


def distributions_section(subject: Subject) -> Section:
    """Scores by label, labels, and list lengths.

    >>> import swaprank as sr
    >>> from swaprank.reporting.distributions import distributions_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "Scores by label" in distributions_section(subject).body
    True
    """
    data = subject.data
    groups = label_groups(data.labels)
    below = tag("div", _labels(groups, len(data)), _lengths(np.diff(data.indptr)), class_="pair")
    words = (
        "The distribution of scores for each label: the less the curves overlap, the better scores separate labels. "
        "Scores are only comparable within a query, so that curves may overlap although every list is in order."
    )
    return section("distributions", "Scores and labels", words, _ridges(subject.scores, groups), below)


def label_groups(labels: Floats) -> list[tuple[str, Ints]]:
    """Labels with their rows, largest label first; if there are many labels, ranges of labels.

    >>> import numpy as np
    >>> from swaprank.reporting.distributions import label_groups
    >>> [(name, rows.tolist()) for name, rows in label_groups(np.array([0.0, 2.0, 0.0]))]
    [('2', [1]), ('0', [0, 2])]
    """
    distinct = np.unique(labels)
    if len(distinct) <= _MOST_LABELS:
        return [(f"{label:g}", np.flatnonzero(labels == label)) for label in distinct[::-1]]
    edges = np.unique(np.quantile(labels, np.linspace(0, 1, _MOST_LABELS - 1)))
    group = np.clip(np.searchsorted(edges, labels, side="right") - 1, 0, len(edges) - 2)
    return [
        (f"{edges[at]:.3g} to {edges[at + 1]:.3g}", rows)
        for at in range(len(edges) - 2, -1, -1)
        if len(rows := np.flatnonzero(group == at))
    ]


def _ridges(scores: Floats, groups: list[tuple[str, Ints]]) -> Html:
    low, high = np.quantile(scores, [0.002, 0.998])
    x = scale_of([low, high], pad=0.02)
    edges = np.linspace(x.low, x.high, _BINS + 1)
    inside = np.clip(scores, x.low, x.high)
    hills = [_smooth(np.histogram(inside[rows], edges)[0]) for _, rows in groups]
    n = len(groups)
    axes = Axes(
        x,
        Scale(0.0, float(n)),
        "score",
        "label",
        None,
        [(float(n - 1 - at), name) for at, (name, _) in enumerate(groups)],
    )
    marks, rows_of_table = [], []
    across = np.concatenate(([x.low], (edges[:-1] + edges[1:]) / 2, [x.high]))
    for at, ((name, rows), hill) in enumerate(zip(groups, hills, strict=True)):
        floor, shade = n - 1 - at, round(4 * (n - 1 - at) / max(n - 1, 1))
        outline = np.concatenate(([floor], floor + 0.9 * hill, [floor]))
        area = stretched(line_path(across, outline, axes, f"hill g{shade}"))
        quartiles = np.quantile(scores[rows], [0.25, 0.5, 0.75])
        middle_half = f"middle half {quartiles[0]:.4g} to {quartiles[2]:.4g}"
        tip = f"label {name}\n{len(rows):,} documents\nmedian score {quartiles[1]:.4g}\n{middle_half}"
        place = axes.x.across(float(np.clip(quartiles[1], x.low, x.high)))
        median = tag("line", x1=place, x2=place, y1=axes.y.down(floor), y2=axes.y.down(floor + 0.3), class_="median")
        marks.append(tag("g", area, median, class_="mark hill", data_tip=tip))
        rows_of_table.append([name, f"{len(rows):,}", *(f"{value:.4g}" for value in quartiles)])
    alt = "Density curves of the scores, one per label; medians: " + ", ".join(
        f"label {row[0]} {row[3]}" for row in rows_of_table
    )
    return chart(
        "Scores by label",
        alt,
        axes,
        join(marks),
        class_=f"ridges n{min(n, _MOST_LABELS)}",
        numbers=table(["label", "documents", "lower quartile", "median", "upper quartile"], rows_of_table),
    )


def _smooth(counts: Ints) -> Floats:
    """Counts smoothed with their neighbours and scaled to a maximum of 1."""
    padded = np.pad(counts.astype(np.float64), 1)
    smooth: Floats = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return smooth / max(float(smooth.max()), 1e-300)


def _labels(groups: list[tuple[str, Ints]], n_documents: int) -> Html:
    groups = groups[::-1]
    shares = np.array([len(rows) for _, rows in groups]) / n_documents
    edges = np.arange(len(groups) + 1, dtype=np.float64)
    ticks = [(at + 0.5, name) for at, (name, _) in enumerate(groups)]
    axes = Axes(Scale(0.0, float(len(groups))), scale_of(shares, include=(0.0,)), "label", "share of documents", ticks)
    tips = [f"label {name}\n{len(rows):,} documents ({len(rows) / n_documents:.1%})" for name, rows in groups]
    alt = "Bar chart of the labels: " + ", ".join(f"{name} {len(rows) / n_documents:.1%}" for name, rows in groups)
    rows = [[name, f"{len(rows):,}", f"{len(rows) / n_documents:.2%}"] for name, rows in groups]
    shades = [f"g{round(4 * at / max(len(groups) - 1, 1))}" for at in range(len(groups))]
    drawn = bars(edges, shares, axes, tips, shades, gap=0.2)
    return chart("Labels", alt, axes, drawn, numbers=table(["label", "documents", "share"], rows), class_="medium")


def _lengths(lengths: Ints) -> Html:
    low, high = int(lengths.min()), int(lengths.max())
    if low == high:
        words = f"Every query has {low:,} document{'s' if low > 1 else ''}."
        return tag("div", tag("h3", "List lengths"), paragraph(words, class_="note"))
    width = max(1, -(-(high - low + 1) // _LENGTH_BINS))
    edges: Floats = np.arange(low, high + width + 1, width, dtype=np.float64) - 0.5
    counts = np.histogram(lengths, edges)[0].astype(np.float64)
    tips = [
        f"{start + 0.5:,.0f}{f' to {start + width - 0.5:,.0f}' if width > 1 else ''} documents\n{count:,.0f} queries"
        for start, count in zip(edges[:-1].tolist(), counts.tolist(), strict=True)
    ]
    middle = int(np.median(lengths))
    alt = f"Histogram of the number of documents of {len(lengths):,} queries: {low:,} to {high:,}, median {middle:,}."
    ticks = [(float(at), f"{at:,}") for at in sorted({low, middle, high})]
    x, y = Scale(float(edges[0]), float(edges[-1])), scale_of(counts, include=(0.0,))
    axes = Axes(x, y, "documents of a query", "queries", ticks)
    return chart("List lengths", alt, axes, bars(edges, counts, axes, tips, ["s0"] * len(counts), 0.1), class_="medium")
