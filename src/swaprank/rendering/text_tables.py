"""Plain-text tables with aligned columns."""

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """A table of texts; the first `left` columns are left-aligned, others right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""
    """A line below it, such as "… and 3 more"."""


Blocks = Sequence[Table | str]
"""What a result shows, from top to bottom: tables and paragraphs."""


def blocks_text(parts: Blocks) -> str:
    """Tables and paragraphs as plain text."""

    def text(part: Table | str) -> str:
        if isinstance(part, str):
            return part
        table = text_table(part.header, part.rows, part.left)
        return f"{table}\n{part.note}" if part.note else table

    return "\n\n".join(map(text, parts))


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table with a header and a line below it; the first `left` columns are left-aligned, others right-aligned."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *(line(row) for row in rows)])


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

    >>> from swaprank.rendering.text_tables import counted
    >>> counted(1, "query", "queries"), counted(1200, "query", "queries")
    ('1 query', '1,200 queries')
    """
    return f"{n:,} {one if n == 1 else many}"
