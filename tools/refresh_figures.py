"""Write what benchmarks have recorded, benchmarks/results/*.json, into README.md and the pages of docs/.

    python tools/refresh_figures.py

A page says between two comments what it shows, and this script writes it there:

    <!-- measured: training -->                all tables of results/training.json
    <!-- measured: training / binning -->      one table
    <!-- /measured -->                         the end, after the tables

The caption follows the last tables of a recording on a page.

Within a line, `<!-- measured: training / trees / LightGBM / Seconds -->2.4<!-- /measured -->` shows the cell of the row
and the column of these names. tests/test_figures.py checks that pages show what was recorded.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
RESULTS = PROJECT / "benchmarks" / "results"
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
MARKED = re.compile(r"(<!-- measured: ([^<>]+?) -->)(.*?)(<!-- /measured -->)", re.DOTALL)
MISSING = "not recorded yet"


def shown(place: str, is_last: bool = True) -> str:
    """What belongs between the comments of a place, such as "training / binning"; is_last: the caption, too."""
    name, *path = place.split(" / ")
    file = RESULTS / f"{name}.json"
    found = json.loads(file.read_text("utf-8")) if file.exists() else {"tables": {}}
    if len(path) == 3:
        return cell(found["tables"].get(path[0]), *path[1:])
    tables = [found["tables"].get(each) for each in path or found["tables"]]
    if not tables or None in tables:
        return f"\n\n{MISSING}: {place}\n\n"
    return "\n\n".join(["", *map(as_markdown, tables), *([caption(found)] if is_last else []), ""])


def cell(table: dict[str, Any] | None, row: str, column: str) -> str:
    """One cell, without the bold of the best; the names of rows are without backticks."""
    for cells in table["rows"] if table else []:
        if table and ", ".join(cells[: table["n_names"]]).replace("`", "") == row and column in table["columns"]:
            return str(cells[table["columns"].index(column)]).strip("*")
    return MISSING


def as_markdown(table: dict[str, Any]) -> str:
    """The table as its script printed it."""
    columns, n_names = table["columns"], table["n_names"]
    lines = [f"| {' | '.join(row)} |" for row in (columns, *table["rows"])]
    return "\n".join([lines[0], f"|{'---|' * n_names}{'---:|' * (len(columns) - n_names)}", *lines[1:]])


def caption(found: dict[str, Any]) -> str:
    """How, when and on what the tables were measured."""
    commit = f"commit {found['commit']}{' with changes' if found['changed'] else ''}"
    machine = f"{found['cpu']}, {found['cores']} cores, of which other programs used {found['cores of other programs']}"
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return f"`{found['command']}` on {found['date']}: {found['setting']}. {machine}; {commit}; {versions}."


def places(text: str) -> Iterator[str]:
    """All places of a page."""
    return (match[2] for match in MARKED.finditer(text))


def refreshed(text: str) -> str:
    """A page with what is recorded now."""
    last = {place.split(" / ")[0]: place for place in places(text) if place.count(" / ") < 2}.values()
    return MARKED.sub(lambda match: f"{match[1]}{shown(match[2], match[2] in last)}{match[4]}", text)


def main() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        new = refreshed(text)
        if new != text:
            page.write_text(new, "utf-8")
            print(f"changed: {page.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
