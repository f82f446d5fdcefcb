"""The parts of the page as HTML, with the markup and the style of the report."""

from importlib.resources import files

import numpy as np

from swaprank.arrays import Floats
from swaprank.instruments.explain_pair import SAMPLED, Value, value_text
from swaprank.rendering.tables import counted, decimals
from swaprank.reporting.explorer.exploration import ORDERS, Exploration
from swaprank.reporting.explorer.query_lists import BINNED, Edit, Pair, QueryLists, RankedList
from swaprank.reporting.markup import Html, join, paragraph, shortened, tag
from swaprank.reporting.page import page_top, whole_page
from swaprank.reporting.plots import percent
from swaprank.reporting.ranked_queries import document_name, grade, short_number

SHOWN = 20
"""How many documents of a list are shown at first."""
_MOST_SHOWN = 1000
_ROW = 32
"""The height of a row, in pixels, as in the style sheet."""
_LINKS = 72
"""The width of the lines between the lists."""


def explore_page(exploration: Exploration, title: str) -> Html:
    """The page around the list of queries; its script fetches the rest.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import explore_page
    >>> made = make_exploration(sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7]), {"new": "1", "old": "2"}, "mrr")
    >>> "<h1><bdi>new against old</bdi></h1>" in explore_page(made, "new against old")
    True
    """
    about = f"{counted(exploration.data.n_queries, 'query', 'queries')}, {len(exploration.data):,} documents"
    selects = [
        _select("metric", "Metric", [(str(at), str(each)) for at, each in enumerate(exploration.metrics)]),
        _select("order", "Sort", list(ORDERS.items())),
        *(
            _select(f"segment-{at}", name, [("", "all"), *((value, value) for value in values)], segment=name)
            for at, (name, values) in enumerate(exploration.segments.items())
        ),
    ]
    search = tag("input", id="text", type="search", placeholder="Search queries", aria_label="Search queries")
    listed = tag("div", tag("div", id="rows"), id="queries", role="listbox", tabindex=0, aria_label="Queries")
    side = tag(
        "div",
        tag("div", search, *selects, class_="filters"),
        tag("p", id="found", role="status", class_="note"),
        listed,
        class_="finder",
    )
    view = tag("div", paragraph("Choose a query.", class_="note"), id="view", aria_live="polite")
    main = tag("main", tag("div", side, view, class_="explorer"), id="content")
    here = files("swaprank.reporting.explorer")
    return whole_page(
        title,
        [page_top("explore", title, about, tag("div", id="summary")), main],
        style=(here / "explore.css").read_text("utf-8"),
        script=(here / "explore.js").read_text("utf-8"),
        fetch="'self'",
    )


def summary(exploration: Exploration, metric: int) -> Html:
    """Means, wins and losses in one line, and a bar of their shares.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import summary
    >>> made = make_exploration(sr.Dataset([[1, 2], [2, 1]], [0, 1], qid=[7, 7]), {"new": "1", "old": "2"}, "mrr")
    >>> "1 win" in summary(made, 0)
    True
    """
    change = exploration.changes(metric)
    known = change[~np.isnan(change)]
    new, old = (
        float(np.mean(values[~np.isnan(change)])) if len(known) else np.nan for values in exploration.values[metric]
    )
    wins, losses = int((known > 0).sum()), int((known < 0).sum())
    ties, whole = len(known) - wins - losses, max(len(known), 1)
    parts, at = [], 0.0
    for n, style in ((wins, "up"), (ties, "tie"), (losses, "down")):
        parts.append(tag("rect", x=percent(at), width=percent(n / whole), y=0, height="100%", class_=f"bar {style}"))
        at += n / whole
    words = paragraph(
        f"{exploration.metrics[metric]} {decimals(old)} → ",
        tag("b", decimals(new)),
        " (",
        _signed(new - old),
        "): ",
        tag("b", counted(wins, "win", "wins"), class_="up"),
        f", {counted(ties, 'tie', 'ties')}, ",
        tag("b", counted(losses, "loss", "losses"), class_="down"),
        class_="verdict",
    )
    return join([words, tag("svg", *parts, class_="split", aria_hidden="true")])


def query_view(lists: QueryLists, metric: int, n_shown: int = SHOWN) -> Html:
    """A query: its values, and the two lists side by side with lines between the places of each document.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import query_view
    >>> from swaprank.reporting.explorer.query_lists import QueryLists
    >>> made = make_exploration(sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7]), {"new": "1", "old": "2"}, "mrr")
    >>> query_view(QueryLists(made, 0), 0).count("<table")
    2
    """
    exploration, query = lists.exploration, lists.query
    new, old = lists.lists()
    change = float(exploration.changes(metric)[query])
    style, word = ("up", "win") if change > 0 else ("down", "loss") if change < 0 else ("", "tie")
    chips = [
        tag("span", tag("span", f"{name} "), tag("bdi", shortened(texts[query], 120)), class_="chip")
        for name, texts in exploration.attributes.items()
    ]
    head = tag(
        "header",
        tag("h2", "query ", tag("bdi", shortened(exploration.data.qids[query], 200))),
        paragraph(
            tag("span", word, class_=f"badge {style}"),
            f"{lists.metric} {decimals(old.value)} → ",
            tag("b", decimals(new.value)),
            " (",
            _signed(change),
            f"), {counted(len(lists.rows), 'document', 'documents')}",
            class_="below",
        ),
        tag("p", *chips, class_="chips") if chips else "",
    )
    shown = min(len(lists.rows), n_shown, _MOST_SHOWN)
    left, right = _list(lists, old, new, 1, shown), _list(lists, new, old, 0, shown)
    both = tag("div", left, _links(lists, old, new, shown), right, class_="versus")
    more = (
        tag("button", f"Show all {len(lists.rows):,} documents", type="button", id="more", class_="plain")
        if shown < min(len(lists.rows), _MOST_SHOWN)
        else ""
    )
    hint = (
        "Choose a document to see what swapping it would change, and why it is where it is; choose two to compare them."
    )
    panels = tag("div", tag("div", id="pair"), tag("div", id="document"), class_="panels", aria_live="polite")
    return join([head, both, more, paragraph(hint, class_="note"), panels])


def _list(lists: QueryLists, ranked: RankedList, other: RankedList, ranking: int, shown: int) -> Html:
    names, other_ranks = document_names(lists), other.ranks
    highest, rows = float(lists.part.labels.max()), []
    for rank, (document, score) in enumerate(
        zip(ranked.rows[:shown].tolist(), ranked.scores.tolist(), strict=False), 1
    ):
        label, there = float(lists.part.labels[document]), int(other_ranks[document])
        choose = tag(
            "button",
            document_name(names[document]),
            type="button",
            class_="choose",
            tabindex=0 if rank == 1 else -1,
            aria_pressed="false",
        )
        cells = [
            rank,
            grade(label, highest),
            choose,
            _move(there - rank if ranking == 0 else rank - there),
            short_number(score),
            "",
        ]
        styles = ["rank", None, None, "move", "score", "swap"]
        tip = (
            f"{shortened(names[document], 80)}\nrank {rank} in {ranked.name}, {there} in {other.name}\nlabel {label:g}"
        )
        row = [tag("td", cell, class_=style) for cell, style in zip(cells, styles, strict=True)]
        rows.append(tag("tr", *row, data_document=document, data_tip=tip))
    header = tag("tr", *(tag("th", name, scope="col") for name in ("#", "Label", "Document", "Moved", "Score", "Swap")))
    swaps = ", ".join(f"{i} with {j} ({gain:+.4f})" for i, j, gain in ranked.best_swaps)
    return tag(
        "article",
        tag("header", tag("h3", tag("bdi", ranked.name)), tag("p", tag("b", decimals(ranked.value)))),
        tag(
            "table", tag("thead", header), tag("tbody", *rows), class_="docs moves", aria_label=f"Ranking {ranked.name}"
        ),
        paragraph(f"Best swaps of ranks: {swaps}." if swaps else "No swap of two documents is a gain.", class_="note"),
        class_=f"query r{ranking}",
        data_ranking=ranking,
        data_model="yes" if lists.exploration.rankings[ranking].ranker is not None else None,
    )


def _links(lists: QueryLists, old: RankedList, new: RankedList, shown: int) -> Html:
    """Lines from the place of each document on the left to its place on the right; relevant ones are strong."""
    before, after, bottom, drawn = old.ranks, new.ranks, shown * _ROW, []
    for document in np.flatnonzero((before <= shown) | (after <= shown)).tolist():
        y1, y2 = (min((int(ranks[document]) - 0.5) * _ROW, bottom + _ROW / 2) for ranks in (before, after))
        style = "up" if y2 < y1 else "down" if y2 > y1 else "same"
        weight = " strong" if lists.part.labels[document] > 0 else ""
        path = f"M0 {y1:g}C{_LINKS / 2:g} {y1:g} {_LINKS / 2:g} {y2:g} {_LINKS} {y2:g}"
        drawn.append(tag("path", d=path, class_=f"link {style}{weight}", data_document=document))
    return tag("svg", *drawn, class_="links", width=_LINKS, height=bottom, aria_hidden="true")


def document_view(lists: QueryLists, ranking: int, document: int) -> Html:
    """The features of a document, each with its share in the score and a field to edit it.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import document_view
    >>> from swaprank.reporting.explorer.query_lists import QueryLists
    >>> data = sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7])
    >>> made = make_exploration(data, {"new": sr.MART(n_trees=1).fit(data), "old": "2"}, "mrr")
    >>> document_view(QueryLists(made, 0), 0, 1).count("<input")
    2
    """
    name, data = document_names(lists)[document], lists.exploration.data
    head = tag("h3", "What if: ", tag("bdi", shortened(name, 80)))
    row = int(lists.rows[document])
    facts = [
        tag("span", tag("span", f"{column} "), tag("bdi", shortened(values[row], 120)), class_="chip")
        for column, values in data.columns.items()
        if column not in lists.exploration.attributes
    ]
    chips = tag("p", *facts, class_="chips") if facts else ""
    chosen = lists.exploration.rankings[ranking]
    if chosen.ranker is None:
        return join(
            [head, chips, paragraph(f"{chosen.name} has scores, but no model to explain or edit.", class_="note")]
        )
    values, shares = lists.feature_values(ranking, document), lists.shares(ranking, document)
    order = sorted(values or shares, key=lambda feature: -abs(shares.get(feature, 0.0)))
    reach = max([abs(share) for share in shares.values()] or [0.0]) or 1.0
    rows: list[list[object]] = []
    if not values:
        rows = [[tag("bdi", shortened(name, 80)), *_share(shares[name], reach)] for name in order]
        return join([head, chips, paragraph(BINNED, class_="note"), _features(["Feature", "Share", ""], rows)])
    for feature in order:
        field = tag(
            "input",
            type="text",
            value=values[feature],
            placeholder="missing",
            data_feature=feature,
            data_value=values[feature],
            aria_label=f"Value of {feature}",
            autocomplete="off",
            spellcheck="false",
        )
        share = shares.get(feature)
        rows.append([tag("bdi", shortened(feature, 80)), field, *_share(share, reach)])
    note = "Edit a value and press Enter: the model scores the document again. An empty field is a missing value."
    effect = tag("div", paragraph(note, class_="note"), id="effect", role="status")
    return join([head, chips, effect, _features(["Feature", "Value", "Share", ""], rows)])


def pair_view(lists: QueryLists, ranking: int, pair: Pair) -> Html:
    """Why one document is above another.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import pair_view
    >>> from swaprank.reporting.explorer.query_lists import QueryLists
    >>> data = sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7])
    >>> made = make_exploration(data, {"new": sr.MART(n_trees=1, min_docs_in_leaf=1).fit(data), "old": "2"}, "mrr")
    >>> lists = QueryLists(made, 0)
    >>> "Why" in pair_view(lists, 0, lists.pair(0, 0, 1))
    True
    """
    names = document_names(lists)
    above, below = (tag("bdi", shortened(names[each], 60)) for each in (pair.above, pair.below))
    why = pair.why
    used = [at for at, share in enumerate(why.contributions.tolist()) if share]
    reach = max([abs(float(why.contributions[at])) for at in used] or [1.0])
    rows = [
        [
            tag("bdi", shortened(why.features[at], 80)),
            *(_short(value) for value in why.values[at]),
            *_share(float(why.contributions[at]), reach),
        ]
        for at in used
    ]
    gain = (
        ""
        if pair.swap_gain is None
        else join([f" Swapping them changes {lists.metric} by ", _signed(pair.swap_gain), "."])
    )
    estimates = " The shares are estimates." if why.method == SAMPLED else ""
    words = paragraph(f"Its score is higher by {decimals(why.difference)}.{estimates}", gain, class_="below")
    head = tag("h3", "Why is ", above, " above ", below, "?")
    return join([head, words, _features(["Feature", "Above", "Below", "Share", ""], rows)])


def _short(value: Value) -> Html | str:
    """A value in the room of a narrow column; its tip has all digits."""
    if isinstance(value, float):
        return tag("span", f"{value:.3g}", data_tip=value_text(value))
    return "–" if value is None else value


def edit_view(lists: QueryLists, edit: Edit) -> Html:
    """What an edited document would do.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import edit_view
    >>> from swaprank.reporting.explorer.query_lists import Edit, QueryLists
    >>> made = make_exploration(sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7]), {"new": "1", "old": "2"}, "mrr")
    >>> "rank 2 → <b>1</b>" in edit_view(QueryLists(made, 0), Edit((0.1, 0.7), (2, 1), (0.5, 1.0)))
    True
    """
    (before, after), (rank, place), (value, now) = edit
    moved = rank - place
    return paragraph(
        f"rank {rank} → ",
        tag("b", place),
        " ",
        _move(moved),
        f" · score {short_number(before)} → ",
        tag("b", short_number(after)),
        f" · {lists.metric} {decimals(value)} → ",
        tag("b", decimals(now)),
        " (",
        _signed(now - value),
        ")",
        class_="effect",
    )


def document_names(lists: QueryLists) -> list[object]:
    """The ids of the documents of a query, or their rows.

    >>> import swaprank as sr
    >>> from swaprank.reporting.explorer.exploration import make_exploration
    >>> from swaprank.reporting.explorer.fragments import document_names
    >>> from swaprank.reporting.explorer.query_lists import QueryLists
    >>> data = sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7], docid=["a", "b"])
    >>> document_names(QueryLists(make_exploration(data, {"new": "1", "old": "2"}, "mrr"), 0))
    ['a', 'b']
    """
    found: list[object] = (lists.rows if lists.part.docid is None else lists.part.docid).tolist()
    return found


def _features(header: list[str], rows: list[list[object]]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col", class_=None if at else "l") for at, name in enumerate(header)))
    body = [
        tag("tr", tag("th", row[0], scope="row", class_="l"), *(tag("td", cell) for cell in row[1:])) for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body), class_="data shares"), class_="scroll")


def _share(share: float | None, reach: float) -> list[object]:
    """A number, and a bar to the right of the middle if it is positive, to the left if it is negative."""
    if share is None:
        return ["", ""]
    length, style = abs(share) / reach / 2, "up" if share > 0 else "down"
    bar = tag(
        "rect",
        x=percent(0.5 if share > 0 else 0.5 - length),
        width=percent(length),
        y="20%",
        height="60%",
        class_=f"bar {style}",
    )
    middle = tag("line", x1="50%", x2="50%", y1=0, y2="100%", class_="zero")
    return [short_number(share, signed=True), tag("svg", bar, middle, class_="side", aria_hidden="true")]


def _move(places: int) -> Html:
    if not places:
        return tag("span", "=", class_="same")
    style, arrow, word = ("up", "▲", "up") if places > 0 else ("down", "▼", "down")
    return tag("span", f"{arrow} {abs(places)}", class_=style, aria_label=f"{word} by {abs(places)}")


def _signed(value: float) -> Html:
    return tag("span", decimals(value, signed=True), class_="up" if value > 0 else "down" if value < 0 else None)


def _select(name: str, label: str, options: list[tuple[str, str]], segment: str | None = None) -> Html:
    choices = [tag("option", text, value=value) for value, text in options]
    return tag("label", tag("span", label), tag("select", *choices, id=name, data_segment=segment))


def swap_texts(gains: Floats | None) -> list[str]:
    """What swapping the chosen document with each other one changes; nothing for lists that are too long.

    >>> import numpy as np
    >>> from swaprank.reporting.explorer.fragments import swap_texts
    >>> swap_texts(np.array([0.0, 0.125])), swap_texts(None)
    (['', '+0.125'], [])
    """
    if gains is None:
        return []
    return [short_number(gain, signed=True) if abs(gain) >= 0.0005 else "" for gain in gains.tolist()]
