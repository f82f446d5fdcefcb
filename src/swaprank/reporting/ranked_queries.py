"""The section of ranked lists: some queries with the lambda on each document as an arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Ints
from swaprank.instruments.explain import QueryExplanation, explain_query
from swaprank.rendering.text_tables import decimals
from swaprank.reporting.markup import Html, join, paragraph, shortened, tag
from swaprank.reporting.subject import Section, Subject

MOST_DOCUMENTS = 1_000
"""Longest list that is chosen by default; the cost grows with the number of its pairs."""
_SHOWN, _SHOWN_BELOW = 12, 4
_LONGEST = 2.0
"""Length of the longest arrow, in rows."""
_LANE = 15
"""Distance of neighbouring arrows, in pixels."""


def ranked_section(subject: Subject, qids: Sequence[Any]) -> Section:
    """The lists of the given queries, or of the best, the median and the worst query.

    >>> import swaprank as sr
    >>> from swaprank.reporting.ranked_queries import ranked_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> ranked_section(subject, []).body.count("<article")
    3
    """
    chosen = [("", qid) for qid in qids] or typical_queries(subject)
    words = (
        "Documents in the order of the ranker. An arrow is the lambda on a document: the force, up or down, with which "
        f"all its pairs push it to raise {subject.metric}. Long arrows mark errors of the ranker."
    )
    if not chosen:
        words = "No query has documents with different labels: every order is equally good."
    explained = [(word, explain_query(subject.ranker, subject.data, qid, subject.metric)) for word, qid in chosen]
    # All lists share one scale, so that a well ordered list has short arrows.
    longest = max([float(np.abs(each.forces).max()) for _, each in explained], default=0.0)
    lists = [_list(each, word, max(longest, 1e-300)) for word, each in explained]
    style = "lists" if subject.data.docid is None else "lists named"
    body = join([paragraph(words, class_="lead"), tag("div", *lists, class_=style)])
    return Section("lists", "Ranked lists", body)


def typical_queries(subject: Subject) -> list[tuple[str, Any]]:
    """The best, the median and the worst query among those with different labels and lists that are not too long.

    >>> import swaprank as sr
    >>> from swaprank.reporting.ranked_queries import typical_queries
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> [word for word, _ in typical_queries(subject)]
    ['best', 'median', 'worst']
    """
    data, values = subject.data, subject.result.per_query
    labels = data.by_query(data.labels)
    lowest = np.minimum.reduceat(labels, data.indptr[:-1])
    highest = np.maximum.reduceat(labels, data.indptr[:-1])
    # A custom metric may be evaluated for every swap.
    most = MOST_DOCUMENTS if subject.metric.names else MOST_DOCUMENTS // 10
    eligible = np.flatnonzero((lowest < highest) & ~np.isnan(values) & (np.diff(data.indptr) <= most))
    order = eligible[np.argsort(-values[eligible], kind="stable")]
    if not len(order):
        return []
    places = {"best": 0, "median": len(order) // 2, "worst": len(order) - 1}
    found: dict[int, str] = {}
    for word, place in places.items():
        found.setdefault(int(order[place]), word)
    return [(word, data.qids[query]) for query, word in found.items()]


def shown_ranks(explanation: QueryExplanation) -> Ints:
    """Ranks, from 0, of the first documents and of the largest forces below them.

    >>> import swaprank as sr
    >>> from swaprank.reporting.ranked_queries import shown_ranks
    >>> (data,) = sr.datasets.random_net((5,), n_features=3, random_state=0)
    >>> len(shown_ranks(sr.explain_query(sr.MART(n_trees=1).fit(data), data, qid=2)))
    16
    """
    n = len(explanation.rows)
    below = np.arange(min(_SHOWN, n), n)
    hardest = below[np.argsort(-np.abs(explanation.forces[below]), kind="stable")[:_SHOWN_BELOW]]
    return np.concatenate((np.arange(min(_SHOWN, n)), np.sort(hardest)))


def _list(explanation: QueryExplanation, word: str, longest: float) -> Html:
    ranks = shown_ranks(explanation).tolist()
    entries: list[int | None] = []
    for before, rank in zip([-1, *ranks[:-1]], ranks, strict=True):
        entries += [None, rank] if rank > before + 1 else [rank]
    left_out = len(explanation.rows) - 1 - ranks[-1]
    badge, n = tag("span", word, class_="badge") if word else "", len(explanation.rows)
    head = tag(
        "header",
        tag("h3", badge, "query ", tag("bdi", shortened(explanation.qid, 60))),
        tag("p", f"{explanation.metric} ", tag("b", decimals(explanation.value)), f" over {n:,} documents"),
    )
    body = tag("tbody", *(_row(explanation, rank) for rank in entries))
    names = "Row" if explanation.docids is None else "Document"
    columns = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in ("#", "Label", names, "Score", "λ"))))
    more = paragraph(f"… and {left_out:,} more", class_="note") if left_out else ""
    swaps = [f"{i} with {j} ({gain:+.4f})" for i, j, gain in explanation.best_swaps(3)]
    best = paragraph("Swaps of ranks with the largest gains: ", ", ".join(swaps), ".", class_="note") if swaps else ""
    return tag(
        "article",
        head,
        tag(
            "div",
            tag(
                "table",
                columns,
                body,
                class_="docs steps",
                tabindex=0,
                aria_label=f"Ranked list of query {explanation.qid}",
            ),
            _arrows(entries, explanation.forces, longest),
            class_="list",
        ),
        more,
        best,
        class_="query",
    )


def _row(explanation: QueryExplanation, rank: int | None) -> Html:
    if rank is None:
        return tag("tr", tag("td", "⋯", colspan=5), class_="gap")
    label, score, force = (
        float(values[rank]) for values in (explanation.labels, explanation.scores, explanation.forces)
    )
    names = explanation.rows if explanation.docids is None else explanation.docids
    best = max(float(explanation.labels.max()), 1e-300)
    shade = min(4, max(0, round(4 * label / best)))
    tip = f"rank {rank + 1}: {shortened(names[rank], 80)}\nlabel {label:g}\nscore {score:.4f}\nlambda {force:+.4f}"
    return tag(
        "tr",
        tag("td", rank + 1),
        tag("td", tag("span", f"{label:g}", class_=f"grade g{shade}")),
        tag("td", tag("bdi", shortened(names[rank], 40)), class_="name"),
        tag("td", f"{score:.3f}"),
        tag("td", f"{force:+.3f}" if abs(force) >= 0.0005 else "0"),
        data_tip=tip,
    )


def _arrows(entries: list[int | None], forces: Any, longest: float) -> Html:
    """Vertical arrows next to the rows, in as many lanes as needed to keep them from overlapping."""
    ends: list[float] = []
    marks = []
    for row, rank in enumerate(entries):
        length = 0.0 if rank is None else _LONGEST * float(forces[rank]) / longest
        if abs(length) < 0.04:
            continue
        start, stop = row + 0.5, row + 0.5 - length
        top, bottom = min(start, stop), max(start, stop)
        lane = next((at for at, end in enumerate(ends) if end < top), len(ends))
        ends[lane : lane + 1] = [bottom + 0.25]
        x, style = 10 + _LANE * lane, "up" if length > 0 else "down"
        marks.append(
            tag(
                "g",
                tag("circle", cx=x, cy=_y(start, entries), r=2.5, class_=f"fill {style}"),
                tag(
                    "line",
                    x1=x,
                    x2=x,
                    y1=_y(start, entries),
                    y2=_y(stop, entries),
                    class_=f"arrow {style}",
                    marker_end=f"url(#head-{style})",
                ),
            )
        )
    width = 10 + _LANE * max(len(ends), 1)
    return tag(
        "svg",
        *marks,
        class_="lambdas",
        width=width,
        role="img",
        aria_label="Arrows: the lambda of each document, up or down; the column λ has the numbers.",
    )


def _y(row: float, entries: list[int | None]) -> str:
    return f"{100 * row / len(entries):.2f}%"
