"""The code blocks of README.md and docs/ run, and print what the block after them says."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_code_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if '"MQ2008"' in page.read_text():
        monkeypatch.setenv("MQ2008", str(request.getfixturevalue("shared_data") / "mq2008"))
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(page.read_text())
    for (language, code), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, page.name, "exec"), names)
            if following == "text":
                assert printed.getvalue() == expected


def test_the_first_commands_are_those_that_ci_runs() -> None:
    readme = (PROJECT / "README.md").read_text()
    first_block = next(code for language, code in BLOCK.findall(readme) if language == "sh")
    commands = [line.partition("#")[0].strip() for line in first_block.splitlines()]
    assert commands == ["pip install . && swaprank demo", 'pip install ".[test]" && pytest']
    ci = (PROJECT / ".ci" / "run").read_text().splitlines()
    for command in commands:
        install, then = command.split(" && ")
        assert ci[ci.index(install) + 1] == then


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
