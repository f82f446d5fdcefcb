"""The notebooks of examples/ are the pages of docs/tutorials/, whose code test_documentation.py runs."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT

NOTEBOOKS = PROJECT / "examples" / "notebooks"
MAKE: dict[str, Any] = runpy.run_path(str(PROJECT / "tools" / "make_notebooks.py"))


@pytest.mark.parametrize("page", MAKE["PAGES"], ids=lambda page: page.stem)
def test_a_tutorial_is_its_notebook(page: Path) -> None:
    found = (NOTEBOOKS / page.name).with_suffix(".ipynb").read_text("utf-8")
    assert found == MAKE["notebook"](page.read_text("utf-8")), "run tools/make_notebooks.py"


def test_no_notebook_is_without_a_page() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {page.stem for page in MAKE["PAGES"]}


def test_cells_have_the_code_of_the_page_without_what_it_prints() -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    page = "# A page\n\nSee [data](../data.md).\n\n```python\na = 1\nprint(a)\n```\n\n```text\n1\n```\n\nMore.\n"
    notebook = nbformat.reads(MAKE["notebook"](page), as_version=4)
    nbformat.validate(notebook)
    kinds = [(cell["cell_type"], cell["source"]) for cell in notebook.cells]
    assert kinds == [
        ("markdown", "# A page\n\nSee [data](../../docs/tutorials/../data.md)."),
        ("code", "a = 1\nprint(a)"),
        ("markdown", "More."),
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own libraries
def test_a_notebook_runs_in_jupyter(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOKS / "shop.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell["execution_count"] for cell in notebook.cells if cell["cell_type"] == "code")
