"""The section on single queries: differences from the baseline, largest gains and losses."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.rendering.tables import decimals
from swaprank.reporting.markup import Html, join, paragraph, shortened, table, tag
from swaprank.reporting.plots import Axes, Scale, bars, chart, dots, fill_bar, legend, level, scale_of, thinned
from swaprank.reporting.subject import Section, Subject, row_sample, section

_MOST_BARS = 240
_MOST_DOTS = 500
_MOST_QUERIES = 8
_NO_CHANGE = 1e-12
"""Smaller differences are ties, as in `compare`."""


def win_loss_section(subject: Subject) -> Section:
    """All differences sorted, a scatter plot against the baseline, and the largest gains and losses.

    >>> import swaprank as sr
    >>> from swaprank.reporting.win_loss import win_loss_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "Largest gains" in win_loss_section(subject).body
    True
    """
    ours, theirs = subject.result.per_query, subject.baseline_evaluation.results[0].per_query
    change = changes(ours, theirs)
    known = np.flatnonzero(~np.isnan(change))
    if not len(known):
        return section("queries", "Query by query", "This metric leaves out every query.")
    difference = subject.difference
    words = (
        f"{subject.name} wins {difference.wins:,} queries, ties {difference.ties:,} and loses {difference.losses:,} "
        f"against {subject.baseline}. The tables list the queries with the largest gains and losses."
    )
    charts = tag("div", _waterfall(subject, change, known), _scatter(subject, ours, theirs, known), class_="pair")
    tables = tag("div", *_extremes(subject, ours, theirs, change, known), class_="pair")
    return section("queries", "Query by query", words, charts, tables)


def changes(ours: Floats, theirs: Floats) -> Floats:
    """The difference of each query; NaN if the query is left out.

    >>> import numpy as np
    >>> from swaprank.reporting.win_loss import changes
    >>> changes(np.array([0.5, np.nan, 0.3]), np.array([0.25, 0.1, 0.3 + 1e-15])).tolist()
    [0.25, nan, 0.0]
    """
    change: Floats = ours - theirs
    return np.where(np.abs(change) < _NO_CHANGE, 0.0, change)


def in_groups(values: Floats, most: int) -> list[Ints]:
    """Positions of the values in descending order, in at most `most` groups of neighbours.

    >>> import numpy as np
    >>> from swaprank.reporting.win_loss import in_groups
    >>> [group.tolist() for group in in_groups(np.array([3.0, 1.0, 2.0]), 2)]
    [[0, 2], [1]]
    """
    return np.array_split(np.argsort(-values, kind="stable"), min(len(values), most))


def _waterfall(subject: Subject, change: Floats, known: Ints) -> Html:
    groups = [known[group] for group in in_groups(change[known], _MOST_BARS)]
    values = np.array([change[group].mean() for group in groups])
    edges = np.concatenate(([0], np.cumsum([len(group) for group in groups]))).astype(np.float64)
    metric = subject.metric
    axes = Axes(
        Scale(0.0, float(edges[-1])),
        scale_of(values, include=(0.0,), pad=0.08),
        "queries, sorted by difference",
        f"difference in {metric}",
    )
    qids = subject.data.qids
    tips = [
        f"query {shortened(qids[group[0]], 60)}\n{decimals(value, signed=True)}"
        if len(group) == 1
        else f"{len(group):,} queries\n{decimals(value, signed=True)} on average"
        for group, value in zip(groups, values.tolist(), strict=True)
    ]
    classes = _styles(values)
    classes = [f"{style} thin" for style in classes] if len(classes) > 50 else classes
    difference = subject.difference
    alt = (
        f"Bar chart of the difference in {metric} of {len(known):,} queries, "
        f"{decimals(values.max(), signed=True)} to {decimals(values.min(), signed=True)}: {difference.wins:,} above 0, "
        f"{difference.losses:,} below."
    )
    shown = thinned(len(groups), 11).tolist()
    rows = [[f"{edges[at] + 1:,.0f}", decimals(values[at], signed=True)] for at in shown]
    return chart(
        "Difference of every query",
        alt,
        axes,
        join([bars(edges, values, axes, tips, classes), level(axes, 0.0, "zero")]),
        legend=legend([("up", "gains"), ("down", "loses")]),
        numbers=table(["position", "difference"], rows, left=0),
        class_="tall",
    )


def _scatter(subject: Subject, ours: Floats, theirs: Floats, known: Ints) -> Html:
    chosen = known[row_sample(len(known), _MOST_DOTS)]
    both = np.concatenate((ours[chosen], theirs[chosen]))
    scale = Scale(0.0, 1.0) if both.min() >= 0 and both.max() <= 1 else scale_of(both)
    axes = Axes(
        scale, scale, f"{subject.metric} of {shortened(subject.baseline, 48)}", f"{subject.metric} of {subject.name}"
    )
    change = changes(ours, theirs)[chosen]
    tips = [
        f"query {shortened(subject.data.qids[q], 60)}\n{decimals(theirs[q])} → {decimals(ours[q])}"
        for q in chosen.tolist()
    ]
    of_all = "" if len(chosen) == len(known) else f" ({len(chosen):,} of {len(known):,})"
    diagonal = tag("line", x1="0%", y1="100%", x2="100%", y2="0%", class_="rule")
    alt = (
        f"Scatter plot of {len(chosen):,} queries: {subject.metric} of {subject.baseline} and of {subject.name}. "
        f"{int((change > 0).sum()):,} lie above the diagonal, {int((change < 0).sum()):,} below."
    )
    return chart(
        f"Baseline against {shortened(subject.name, 30)}{of_all}",
        alt,
        axes,
        join([diagonal, dots(theirs[chosen], ours[chosen], axes, tips, _styles(change))]),
        legend=legend([("up", "better"), ("down", "worse")]),
        class_="tall",
    )


def _extremes(subject: Subject, ours: Floats, theirs: Floats, change: Floats, known: Ints) -> list[Html]:
    order = known[np.argsort(-change[known], kind="stable")]
    gains, losses = order[change[order] > 0][:_MOST_QUERIES], order[change[order] < 0][::-1][:_MOST_QUERIES]
    reach = max(float(np.abs(change[known]).max()), 1e-300)
    lengths, qids = np.diff(subject.data.indptr), [shortened(qid, 200) for qid in subject.data.qids.tolist()]
    parts = []
    for title, chosen, style in (("Largest gains", gains, "up"), ("Largest losses", losses, "down")):
        rows = [
            [
                tag("bdi", qids[q], class_="one-line", data_tip=f"query {qids[q]}\n{lengths[q]:,} documents"),
                decimals(theirs[q]),
                decimals(ours[q]),
                tag("span", decimals(change[q], signed=True), class_=style),
                fill_bar(abs(change[q]) / reach, style),
            ]
            for q in chosen.tolist()
        ]
        found = table(["Query", "Baseline", "Now", "Change", ""], rows, class_="data extremes")
        parts.append(tag("div", tag("h3", title), found if rows else paragraph("None.", class_="note")))
    return parts


def _styles(changes: Floats) -> list[str]:
    return ["up" if change > 0 else "down" if change < 0 else "tie" for change in changes.tolist()]
