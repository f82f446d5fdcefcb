"""Tables and paragraphs as plain text, and as HTML for notebooks.

The HTML has no colors of its own, so that it fits light and dark themes.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from swaprank.rendering.escaping import printable, printable_line

_TABLE = "border-collapse:collapse;margin:.5em 0;font-size:inherit;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em .7em;white-space:nowrap"
_RULE = ";border-bottom:1px solid currentColor"
_PARAGRAPH = "margin:.5em 0;max-width:60em"


class Table(NamedTuple):
    """A table of texts; the first `left` columns are left-aligned, others right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""
    """A line below it, such as "… and 3 more"."""


Blocks = Sequence[Table | str]
"""The content that a result shows, from top to bottom: tables and paragraphs."""


def blocks_text(parts: Blocks) -> str:
    """Tables and paragraphs as plain text."""

    def text(part: Table | str) -> str:
        if isinstance(part, str):
            return printable(part)
        table = text_table(part.header, part.rows, part.left)
        return f"{table}\n{printable(part.note)}" if part.note else table

    return "\n\n".join(map(text, parts))


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table with a header and a line below it; the first `left` columns are left-aligned, others right-aligned."""
    cells = [[printable_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def blocks_html(parts: Blocks) -> str:
    """Tables and paragraphs as HTML; every text is escaped.

    >>> from swaprank.rendering.tables import blocks_html
    >>> "a &lt; b" in blocks_html(["a < b"])
    True
    """
    inner = "".join(_paragraph(part) if isinstance(part, str) else _table(part) for part in parts)
    return f'<div style="overflow-x:auto">{inner}</div>'


def _paragraph(text: str) -> str:
    return f'<p style="{_PARAGRAPH}">{"<br>".join(map(escape, text.splitlines()))}</p>'


def _table(table: Table) -> str:
    head = _row("th", table.header, table.left, _RULE)
    body = "".join(_row("td", row, table.left) for row in table.rows)
    html = f'<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return html + _paragraph(table.note) if table.note else html


def _row(tag: str, cells: Sequence[str], left: int, rule: str = "") -> str:
    # A cell with spaces at its end is left-aligned in the text.
    sides = ["left" if at < left or cell.endswith(" ") else "right" for at, cell in enumerate(cells)]
    written = "".join(
        f'<{tag} style="text-align:{side};{_CELL}{rule}">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{written}</tr>"


def decimals(value: float, *, signed: bool = False) -> str:
    """A number with four decimals; a dash for NaN."""
    if value != value:
        return "-"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def probability(p: float) -> str:
    """A p-value in the style of papers."""
    if p != p:
        return "-"
    return "< .0001" if p < 0.0001 else f"{p:.4f}".lstrip("0") if p < 1 else "1"


def counted(n: int, one: str, many: str) -> str:
    """A number of things.

    >>> from swaprank.rendering.tables import counted
    >>> counted(1, "query", "queries"), counted(1200, "query", "queries")
    ('1 query', '1,200 queries')
    """
    return f"{n:,} {one if n == 1 else many}"
