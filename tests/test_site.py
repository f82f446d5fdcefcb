"""The site: every page is in its navigation, every public name in its reference."""

import re
from types import ModuleType

import swaprank as sr
from tests.conftest import PROJECT

DOCS = PROJECT / "docs"
WHOLE = ("torch", "spark", "ray", "datasets")
"""Namespaces that the reference shows as a whole."""


def test_every_page_is_in_the_navigation() -> None:
    navigation = (PROJECT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = re.findall(r"[\w/]+\.md", navigation)
    assert sorted(named) == sorted(str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md"))


def test_every_public_name_is_in_the_reference_once() -> None:
    pages = (DOCS / "reference").glob("*.md")
    shown = [name for page in pages for name in re.findall(r"^::: swaprank\.(\S+)$", page.read_text(), re.MULTILINE)]
    public = {name: getattr(sr, name) for name in dir(sr) if not name.startswith("_")}
    of_namespaces = {
        f"{name}.{each}": getattr(space, each)
        for name, space in public.items()
        if isinstance(space, ModuleType) and name not in WHOLE
        for each in space.__all__
    }
    expected = {name for name, value in public.items() if not isinstance(value, ModuleType) or name in WHOLE}
    assert sorted(shown) == sorted({*expected, *of_namespaces, "torch", "spark", "ray"})


def test_nothing_is_fetched_from_elsewhere() -> None:
    for file in (PROJECT / "mkdocs.yml", *(DOCS / "assets").iterdir()):
        addresses = set(re.findall(r"https?://[^\s\"')]+", file.read_text()))
        assert addresses <= {"http://www.w3.org/2000/svg"}
