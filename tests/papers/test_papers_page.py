"""docs/papers.md: every row names code and a test that exist, and the naive implementations take nothing from ours."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import PROJECT

SOURCE = PROJECT / "src" / "swaprank"
COLUMNS = "| Where | What | Code | Checked by | Difference |"


class Row(NamedTuple):
    where: str
    what: str
    code: str
    checked_by: str
    difference: str


def rows() -> list[Row]:
    found = []
    for table in (PROJECT / "docs" / "papers.md").read_text("utf-8").split(COLUMNS)[1:]:
        for line in table.strip("\n").splitlines()[1:]:
            if not line.startswith("|"):
                break
            # A bar within a cell is written \|.
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == len(Row._fields), line
            found.append(Row(*cells))
    return found


def defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_is_complete() -> None:
    assert len(rows()) > 100
    for row in rows():
        assert all(row), f"an empty cell: {row}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.where} {row.what}"[:60])
def test_the_code_and_the_tests_that_a_row_names_exist(row: Row) -> None:
    paths = re.findall(r"`([\w/]+\.py)`", row.code)
    assert paths, f"no file of ours: {row.code}"
    for path in paths:
        assert (SOURCE / path).exists(), path
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row.checked_by)
    assert tests, f"no test: {row.checked_by}"
    for path, name in tests:
        assert name in defined(PROJECT / path), f"{path} has no {name}"


@pytest.mark.parametrize("path", sorted((PROJECT / "tests" / "papers").glob("naive*.py")), ids=lambda path: path.name)
def test_naive_implementations_take_nothing_from_ours(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert not [name for name in imported if name.partition(".")[0] == "swaprank"]
