"""The section of ranked lists: some queries with the lambda on each document as an arrow."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Ints
from swaprank.rendering.tables import decimals
from swaprank.reporting.markup import Html, paragraph, shortened, tag
from swaprank.reporting.plots import percent
from swaprank.reporting.subject import Section, Subject, section

MOST_DOCUMENTS = 1_000
"""Longest list that is chosen by default; the cost grows with the number of its pairs."""
_SHOWN, _SHOWN_BELOW, _SWAPS = 12, 4, 3
_NAME_END = 8
"""Characters at the end of a name that are always shown, because names differ most often there."""


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
        "Documents in the order of the ranker. Lambda is the force with which all pairs of a document push it up (▲) "
        f"or down (▼) to raise {subject.metric}. The length of an arrow is the square root of the force; the longest "
        f"arrow of each list has the full width. Of long lists, the first {_SHOWN} documents are shown, those with the "
        "largest forces below them, and those of the best swaps."
    )
    if not chosen:
        words = "No query has documents with different labels: every order is equally good."
    explained = [(word, sr.explain_query(subject.ranker, subject.data, qid, subject.metric)) for word, qid in chosen]
    lists = [_list(each, word) for word, each in explained]
    return section("lists", "Ranked lists", words, tag("div", *lists, class_="lists"))


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


def shown_ranks(explanation: sr.instruments.QueryExplanation) -> Ints:
    """Ranks, from 0, of the first documents, of the largest forces below them, and of the best swaps.

    >>> import swaprank as sr
    >>> from swaprank.reporting.ranked_queries import shown_ranks
    >>> (data,) = sr.datasets.random_net((5,), n_features=3, random_state=0)
    >>> len(shown_ranks(sr.explain_query(sr.MART(n_trees=1).fit(data), data, qid=2)))
    20
    """
    n = len(explanation.rows)
    below = np.arange(min(_SHOWN, n), n)
    hardest = below[np.argsort(-np.abs(explanation.forces[below]), kind="stable")[:_SHOWN_BELOW]]
    swapped = [rank - 1 for i, j, _ in explanation.best_swaps(_SWAPS) for rank in (i, j)]
    shown = np.zeros(n, np.bool_)
    shown[: min(_SHOWN, n)] = shown[hardest] = shown[swapped] = True
    # A single hidden document takes as much room as the line that says so.
    hidden_alone = ~shown & np.append(shown[1:], True) & np.append(True, shown[:-1])
    return np.flatnonzero(shown | hidden_alone)


def short_number(value: float, *, signed: bool = False) -> str:
    """A number of about six characters, for narrow columns.

    >>> from swaprank.reporting.ranked_queries import short_number
    >>> [short_number(value) for value in (0.12345, -123.456, -1234567.0)], short_number(2.0, signed=True)
    (['0.123', '-123.5', '-1.2e6'], '+2.000')
    """
    sign, size = "+" if signed else "", abs(value)
    if size < 9.9995:
        return f"{value:{sign}.3f}"
    return f"{value:{sign}.4g}" if size < 9999.5 else f"{value:{sign}.1e}".replace("e+0", "e").replace("e+", "e")


def _list(explanation: sr.instruments.QueryExplanation, word: str) -> Html:
    ranks, n = shown_ranks(explanation).tolist(), len(explanation.rows)
    head = tag(
        "header",
        tag(
            "h3",
            tag("span", word, class_="badge") if word else "",
            "query ",
            tag("bdi", shortened(explanation.qid, 60)),
        ),
        tag("p", f"{explanation.metric} ", tag("b", decimals(explanation.value))),
    )
    rows, strongest = [], max(float(np.abs(explanation.forces[ranks]).max()), 1e-300)
    for before, rank in zip([-1, *ranks[:-1]], ranks, strict=True):
        rows += [_gap(rank - before - 1)] if rank > before + 1 else []
        rows.append(_row(explanation, rank, strongest))
    if ranks[-1] < n - 1:
        rows.append(_gap(n - 1 - ranks[-1]))
    name, style = ("Row", "docs rows steps") if explanation.docids is None else ("Document", "docs steps")
    columns = tag("tr", *(tag("th", each, scope="col") for each in ("#", "Label", name, "Score", "Lambda")))
    swaps = [f"{i} with {j} ({gain:+.4f})" for i, j, gain in explanation.best_swaps(_SWAPS)]
    best = paragraph("Best swaps of ranks: ", ", ".join(swaps), ".", class_="note") if swaps else ""
    listed = tag(
        "table",
        tag("thead", columns),
        tag("tbody", *rows),
        class_=style,
        tabindex=0,
        aria_label=f"Ranked list of query {explanation.qid}, {n:,} documents",
    )
    return tag("article", head, listed, best, class_="query")


def _gap(n_documents: int) -> Html:
    return tag("tr", tag("td", f"{n_documents:,} more", colspan=5), class_="gap")


def _row(explanation: sr.instruments.QueryExplanation, rank: int, strongest: float) -> Html:
    label, score, force = (
        float(values[rank]) for values in (explanation.labels, explanation.scores, explanation.forces)
    )
    names = explanation.rows if explanation.docids is None else explanation.docids
    tip = f"rank {rank + 1}: {shortened(names[rank], 80)}\nlabel {label:g}\nscore {score:.4f}\nlambda {force:+.4f}"
    written = short_number(force, signed=True) if abs(force) >= 0.0005 else "0"
    return tag(
        "tr",
        tag("td", rank + 1),
        tag("td", grade(label, float(explanation.labels.max()))),
        tag("td", document_name(names[rank])),
        tag("td", short_number(score)),
        tag(
            "td", tag("div", tag("span", written), _arrow(force / strongest) if written != "0" else "", class_="force")
        ),
        data_tip=tip,
    )


def document_name(name: object) -> Html:
    """A name whose middle is cut off if there is no room for it.

    >>> from swaprank.reporting.ranked_queries import document_name
    >>> document_name("document-17")
    '<bdi class="name"><span>doc</span><span>ument-17</span></bdi>'
    """
    whole = shortened(name, 200)
    return tag("bdi", tag("span", whole[:-_NAME_END]), tag("span", whole[-_NAME_END:]), class_="name")


def grade(label: float, highest: float) -> Html:
    """A label in a box, which is the darker the closer it is to the highest one.

    >>> from swaprank.reporting.ranked_queries import grade
    >>> grade(1.0, 2.0)
    '<span class="grade g2">1</span>'
    """
    shade = min(4, max(0, round(4 * label / max(highest, 1e-300))))
    return tag("span", f"{label:g}", class_=f"grade g{shade}")


def _arrow(share: float) -> Html:
    """A shaft whose head points up or down. The cell has the number, so that there is no text description.

    The square root keeps small forces apart where one document has most of the force.
    """
    style, head = ("up", "M-5 3.5L0-5L5 3.5Z") if share > 0 else ("down", "M-5-3.5L0 5L5-3.5Z")
    end = percent(float(np.sqrt(abs(share))))
    return tag(
        "svg",
        tag("line", x1="0%", x2=end, y1="50%", y2="50%", class_="shaft"),
        tag("svg", tag("path", d=head), x=end, y="50%", class_="head"),
        class_=f"arrow {style}",
        aria_hidden="true",
    )
