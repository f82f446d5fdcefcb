"""Every paper that is cited is in docs/bibliography.md under the same key, and every paper there is cited."""

import re
from pathlib import Path

from tests.conftest import PROJECT

PAGE = PROJECT / "docs" / "bibliography.md"
KEY = r"[A-Z][A-Za-z]+(?:19|20)\d\d[a-z]?"
BRACKET = re.compile(r"\[(\w[^\]\[`=/]{3,160}?)\]", re.DOTALL)
OTHER_STYLES = re.compile(r"^[A-Z][\wé]+(?: et al\.|,? (?:& |and )?[A-Z][\wé]+)*,? (?:19|20)\d\d\b")


def texts() -> dict[Path, str]:
    files = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").rglob("*.md")]
    for folder in ("src", "tests", "benchmarks", "tools"):
        files += (PROJECT / folder).rglob("*.py")
    return {path: path.read_text("utf-8") for path in files if path not in (PAGE, Path(__file__))}


def entries() -> list[str]:
    return re.findall(rf"^- \*\*\[({KEY})\]\*\* ", PAGE.read_text("utf-8"), re.MULTILINE)


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    known, cited = set(entries()), set[str]()
    for path, text in texts().items():
        here = {key for found in BRACKET.findall(text) for key in re.findall(rf"\b{KEY}\b", found)}
        assert here <= known, (path, here - known)
        cited |= here
    assert cited == known


def test_keys_are_unique_and_sorted_within_a_section() -> None:
    assert len(set(entries())) == len(entries())
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        keys = re.findall(rf"^- \*\*\[({KEY})\]\*\* ", section, re.MULTILINE)
        assert keys == sorted(keys)
        assert len(keys) == len(re.findall(r"^- ", section, re.MULTILINE))


def test_there_is_one_style_of_keys() -> None:
    for path, text in texts().items():
        for found in BRACKET.findall(text):
            assert not OTHER_STYLES.match(" ".join(found.split())), (path, found)
