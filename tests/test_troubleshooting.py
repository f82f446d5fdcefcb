"""docs/troubleshooting.md has every class of errors and warnings, and what is said by every place that warns."""

import ast
import builtins
import re
from pathlib import Path

import swaprank as sr
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "troubleshooting.md").read_text()
PACKAGE = PROJECT / "src" / "swaprank"


def test_every_class_is_on_the_page() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert rows == set(sr.errors.__all__)


def test_the_built_in_exceptions_are_right() -> None:
    for name, base in re.findall(r"^\| `(\w+Error|Interrupted)` \| `(\w+)` \|", PAGE, re.MULTILINE):
        assert issubclass(getattr(sr.errors, name), getattr(builtins, base))


def warning_files() -> dict[Path, str]:
    """The files that warn, with all their text in quotes."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if any(isinstance(called, ast.Name) and called.id in ("warn_user", "warn_of_export") for called in calls):
            texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            found[path] = "\0".join(text for text in texts if isinstance(text, str))
    return found


def test_every_place_that_warns_is_on_the_page() -> None:
    quoted = re.findall(r"^\| `\w+Warning` \| `([^`]+)` \|", PAGE, re.MULTILINE)
    files = warning_files()
    assert len(files) > 5
    for path, text in files.items():
        assert any(each in text for each in quoted), path
    for each in quoted:
        assert any(each in text for text in files.values()), each
