"""The notebooks of examples/ run from the first cell to the last, and are kept without outputs."""

from pathlib import Path

import pytest

from tests.conftest import PROJECT

NOTEBOOKS = PROJECT / "examples" / "notebooks"


def run(name: str, folder: Path) -> None:
    """Run it in a kernel of its own; an error in a cell is raised here."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    assert all(cell["execution_count"] for cell in notebook.cells if cell["cell_type"] == "code")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own libraries
def test_the_shop_runs(tmp_path: Path) -> None:
    run("shop.ipynb", tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_real_set_runs(tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQ2008", str(shared_data / "mq2008"))
    run("real_set.ipynb", tmp_path)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_valid_without_outputs_and_tested(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert f'run("{path.name}"' in Path(__file__).read_text()
