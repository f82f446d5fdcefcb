"""Tables and paragraphs as HTML for notebooks: without colors of their own, so that they fit light and dark themes."""

from collections.abc import Sequence
from html import escape

from swaprank.rendering.text_tables import Blocks, Table

_TABLE = "border-collapse:collapse;margin:.5em 0;font-size:inherit;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em .7em;white-space:nowrap"
_RULE = ";border-bottom:1px solid currentColor"
_PARAGRAPH = "margin:.5em 0;max-width:60em"


def blocks_html(parts: Blocks) -> str:
    """Tables and paragraphs as HTML; every text is escaped.

    >>> from swaprank.rendering.html_tables import blocks_html
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
