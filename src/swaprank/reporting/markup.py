"""Builds HTML; every value that is not markup already is escaped."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import final

_VOID = frozenset({"br", "hr", "input", "link", "meta"})
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Control characters, surrogates, non-characters, and marks that change the direction of the text after them."""


@final
class Html(str):
    """Markup, which is not escaped.

    >>> from swaprank.reporting.markup import Html, tag
    >>> tag("p", "a < b, ", Html("<b>really</b>"))
    '<p>a &lt; b, <b>really</b></p>'
    """

    __slots__ = ()


def text(value: object) -> Html:
    """A value as escaped text; forbidden characters become the replacement character.

    >>> from swaprank.reporting.markup import text
    >>> text('<script>"x"')
    '&lt;script&gt;&quot;x&quot;'
    """
    return value if isinstance(value, Html) else Html(html.escape(_FORBIDDEN.sub("\ufffd", str(value))))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element. Attributes that are None are left out; `class_` becomes class, and `data_tip` data-tip.

    >>> from swaprank.reporting.markup import tag
    >>> tag("a", "x & y", href="#top", class_=None)
    '<a href="#top">x &amp; y</a>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[object]) -> Html:
    """Concatenated parts.

    >>> from swaprank.reporting.markup import join, tag
    >>> join([tag("b", 1), " & 2"])
    '<b>1</b> &amp; 2'
    """
    return Html("".join(text(part) for part in parts))


def shortened(value: object, most: int) -> str:
    """A text cut in its middle to at most `most` characters, because names differ most often at their ends.

    >>> from swaprank.reporting.markup import shortened
    >>> shortened("document-000000000017", 12)
    'docume…00017'
    """
    whole = str(value)
    if len(whole) <= most:
        return whole
    tail = (most - 1) // 2
    return f"{whole[: most - 1 - tail]}…{whole[-tail:]}"


def table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    left: int = 1,
    class_: str = "data",
    *,
    stacks: bool = False,
) -> Html:
    """A table in a box that scrolls sideways. The first `left` columns are aligned left, the others right.

    On a narrow screen, the rows of a table that stacks become cards, in which every cell has the name of its column.

    >>> from swaprank.reporting.markup import table
    >>> "<td>0.5</td>" in table(["metric", "mean"], [["map", 0.5]])
    True
    """
    names = [None if isinstance(name, Html) or not stacks else name for name in header]

    def role(name: str) -> str | None:
        """Browsers forget what a cell is if the style sheet places it as a block."""
        return name if stacks else None

    def cell(content: object, at: int, scope: str | None) -> Html:
        """A cell; with a scope, it is a header."""
        kind, style = {None: "cell", "row": "rowheader", "col": "columnheader"}[scope], "l" if at < left else None
        name = None if scope else names[at]
        return tag("th" if scope else "td", content, class_=style, scope=scope, role=role(kind), data_name=name)

    def cells(row: Sequence[object], first: str | None, others: str | None) -> Html:
        scopes = [first if at == 0 else others for at in range(len(row))]
        return tag("tr", *(cell(content, at, scopes[at]) for at, content in enumerate(row)), role=role("row"))

    head = tag("thead", cells(header, "col", "col"), role=role("rowgroup"))
    body = tag("tbody", *(cells(row, "row" if left else None, None) for row in rows), role=role("rowgroup"))
    whole = tag("table", head, body, class_=f"{class_} stacks" if stacks else class_, role=role("table"))
    name = ", ".join(str(column) for column in header if not isinstance(column, Html) and column) or "Facts"
    return tag("div", whole, class_="scroll", tabindex=0, role="group", aria_label=name)


def details(summary: str, *content: object) -> Html:
    """Content that is shown on request.

    >>> from swaprank.reporting.markup import details
    >>> details("More", "than this")
    '<details><summary>More</summary>than this</details>'
    """
    return tag("details", tag("summary", summary), *content)


def paragraph(*content: object, class_: str | None = None) -> Html:
    """A paragraph.

    >>> from swaprank.reporting.markup import paragraph
    >>> paragraph("so", class_="note")
    '<p class="note">so</p>'
    """
    return tag("p", *content, class_=class_)
