"""The site: every page is in its navigation, every public name in its reference."""

import re

import swaprank as sr
from tests.conftest import PROJECT

DOCS = PROJECT / "docs"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (PROJECT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = re.findall(r"[\w/]+\.md", navigation)
    assert sorted(named) == sorted(str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md"))


def test_every_public_name_is_in_the_reference_once() -> None:
    pages = (DOCS / "reference").glob("*.md")
    shown = [name for page in pages for name in re.findall(r"^::: swaprank\.(\S+)$", page.read_text(), re.MULTILINE)]
    names = [name for name in dir(sr) if not name.startswith("_") and name != "clicks"]
    of_clicks = [name for name in dir(sr.clicks) if getattr(sr, name, None) is not getattr(sr.clicks, name)]
    assert sorted(shown) == sorted([*names, *(f"clicks.{name}" for name in of_clicks)])


def test_nothing_is_fetched_from_elsewhere() -> None:
    for file in (PROJECT / "mkdocs.yml", *(DOCS / "assets").iterdir()):
        addresses = set(re.findall(r"https?://[^\s\"')]+", file.read_text()))
        assert addresses <= {"http://www.w3.org/2000/svg"}
