"""Links of all Markdown files and notebooks lead to a file, and to a heading of it."""

import html
import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import PROJECT

FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""\]\(([^)\s]+)(?:\s+"[^"]*")?\)|^\[[^]]+\]:\s+(\S+)\s*$|\b(?:href|src)="([^"]+)\"""", re.MULTILINE)
"""Links and pictures: with or without a title, by reference, and in HTML."""
PAGES = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"), *(PROJECT / "examples").rglob("*.md")]
NOTEBOOKS = list((PROJECT / "examples" / "notebooks").glob("*.ipynb"))


def prose(path: Path) -> str:
    """The text of a page, or of the Markdown cells of a notebook, without code."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"`[^`\n]*`", "`code`", FENCE.sub("", text))


def targets(text: str) -> list[str]:
    return ["".join(found) for found in LINK.findall(text)]


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the site has them; names of the reference are checked by mkdocs."""
    included = re.sub(r'^--8<-- "(.*)"\n', lambda file: (PROJECT / file[1]).read_text("utf-8"), path.read_text("utf-8"))
    text = FENCE.sub("", included)
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", html.unescape(heading))
        words = re.sub(r"[^\w\s-]", "", words.encode("ascii", "ignore").decode()).strip().lower()
        slug = re.sub(r"[-\s]+", "-", words)
        repeated = sum(re.sub(r"_\d+$", "", each) == slug for each in found)
        found.append(f"{slug}_{repeated}" if repeated else slug)
    return frozenset(found)


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for target in targets(prose(page)):
        if re.match(r"[a-z]+:", target):
            assert target.startswith(("https://", "http://localhost", "mailto:")), target
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        if anchor and there.suffix == ".md" and not anchor.startswith("swaprank"):
            assert anchor in anchors(there), target


def test_the_anchors_are_those_of_the_site() -> None:
    found = anchors(PROJECT / "docs" / "data.md")
    assert "single-precision" in found
    assert "double-precision" not in found
    assert "results" in anchors(PROJECT / "docs" / "reproduction.md")


def test_all_kinds_of_links_are_found() -> None:
    assert targets('[a](b.md) ![c](d.svg "e") [f][g] [[h]](i#j)') == ["b.md", "d.svg", "i#j"]
    assert targets('[g]: k.md\n<a href="l.md">m</a> <img src="n.png">') == ["k.md", "l.md", "n.png"]
