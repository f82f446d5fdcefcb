"""Write the pages of docs/tutorials/ as notebooks without outputs into examples/notebooks/.

    python tools/make_notebooks.py

The pages are what is edited and tested: tests/test_documentation.py runs their code, and tests/test_notebooks.py checks
that the notebooks are those that this program writes.
"""

import json
import re
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT))

from tests.pages import BLOCK  # noqa: E402

PAGES = sorted((PROJECT / "docs" / "tutorials").glob("*.md"))
NOTEBOOKS = PROJECT / "examples" / "notebooks"
SITE = "../../docs/tutorials/"


def notebook(page: str) -> str:
    """The page as a notebook: code blocks are cells, and what they print is left out."""
    cells, end = list[dict[str, object]](), 0
    for block in BLOCK.finditer(page):
        if block[1] not in ("python", "text"):
            continue
        cells += markdown(page[end : block.start()], len(cells))
        end = block.end()
        if block[1] == "python":
            code: dict[str, object] = {"execution_count": None, "outputs": []}
            cells.append({"cell_type": "code", "id": f"cell-{len(cells)}", "metadata": {}, **code, **source(block[2])})
    cells += markdown(page[end:], len(cells))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def markdown(text: str, number: int) -> list[dict[str, object]]:
    if not text.strip():
        return []
    linked = re.sub(r"\]\((?!https?:)([^)]+)\)", rf"]({SITE}\1)", text.strip())
    return [{"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, **source(linked)}]


def source(text: str) -> dict[str, object]:
    return {"source": text.strip().splitlines(keepends=True)}


def main() -> None:
    for page in PAGES:
        (NOTEBOOKS / page.name).with_suffix(".ipynb").write_text(notebook(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
