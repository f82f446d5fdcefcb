"""A release: what its files say of each other, and what tools/release.py and hatch_build.py write."""

import hashlib
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import swaprank as sr
from tests.conftest import PROJECT

RELEASE: dict[str, Any] = runpy.run_path(str(PROJECT / "tools" / "release.py"))
PYPROJECT = (PROJECT / "pyproject.toml").read_text("utf-8")
DECLARED = tomllib.loads(PYPROJECT)["project"]
RECIPE = (PROJECT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
FILES = ("src/swaprank/version.py", "pyproject.toml", "CHANGELOG.md", "CITATION.cff")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a release looks at, as they are when there is a public repository."""
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((PROJECT / file).read_text("utf-8"), "utf-8")
    (tmp_path / "pyproject.toml").write_text(
        RELEASE["with_repository"](PYPROJECT, "https://example.org/swaprank"), "utf-8"
    )
    return tmp_path


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_changelog_citation_and_version_agree(clone: Path) -> None:
    release = RELEASE["read_release"](clone)
    assert release.version == sr.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", release.date)
    assert release.repository == "https://example.org/swaprank"


def test_what_does_not_agree_is_refused_at_once(clone: Path) -> None:
    replace(clone / "src/swaprank/version.py", sr.__version__, "7.0.0")
    (clone / "pyproject.toml").write_text("[project]\n", "utf-8")
    with pytest.raises(
        SystemExit, match=r"CHANGELOG.md.*7\.0\.0; CITATION.cff.*; pyproject.toml has no \[project.urls\]"
    ):
        RELEASE["read_release"](clone)


def test_a_changelog_without_a_date_is_refused(clone: Path) -> None:
    text = (clone / "CHANGELOG.md").read_text("utf-8")
    (clone / "CHANGELOG.md").write_text(re.sub(r"^## .*$", "## Unreleased", text, count=1, flags=re.MULTILINE), "utf-8")
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md begins with '## Unreleased'"):
        RELEASE["read_release"](clone)


def test_the_address_is_written_once() -> None:
    once = RELEASE["with_repository"](PYPROJECT, "https://example.org/old/")
    urls = tomllib.loads(once)["project"].pop("urls")
    assert urls["Repository"] == "https://example.org/old"
    assert urls["Issues"] == "https://example.org/old/issues"
    again = RELEASE["with_repository"](once, "https://example.org/new")
    assert again == once.replace("/old", "/new")
    assert tomllib.loads(again)["project"] | {"urls": None} == DECLARED | {"urls": None}


def test_the_recipe_needs_what_the_package_needs() -> None:
    run = RECIPE.partition("\n  run:\n")[2].partition("\n\n")[0]
    needed = [line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()]
    assert needed == ["python>=${{python_min}}", *DECLARED["dependencies"]]
    assert f'\n  python_min: "{DECLARED["requires-python"].removeprefix(">=")}"\n' in RECIPE
    assert f"\n  license: {DECLARED['license']}\n" in RECIPE
    (entry,) = (f"{name} = {place}" for name, place in DECLARED["scripts"].items())
    assert f"- {entry}\n" in RECIPE


def test_the_recipe_of_a_release_has_its_digest() -> None:
    release = RELEASE["Release"]("1.2.3", "2030-12-31", "https://example.org/swaprank")
    made = RELEASE["conda_recipe"](RECIPE, release, "ab" * 32)
    for line in ('version: "1.2.3"', f'sha256: "{"ab" * 32}"', 'repository: "https://example.org/swaprank"'):
        assert made.count(f"\n  {line}\n") == 1
    assert len(made.splitlines()) == len(RECIPE.splitlines())


def test_digests_are_what_sha256sum_reads(tmp_path: Path) -> None:
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name)
    first, second = RELEASE["digests"]([tmp_path / "b.whl", tmp_path / "a.tar.gz"]).splitlines()
    assert first == f"{hashlib.sha256(b'a.tar.gz').hexdigest()}  a.tar.gz"
    assert second.endswith("  b.whl")


def test_a_package_index_shows_no_relative_links() -> None:
    pytest.importorskip("hatchling")
    for_index = runpy.run_path(str(PROJECT / "hatch_build.py"))["for_index"]
    text = "![a](docs/a.svg) [b](docs/b.md#c) [d](#d) [e](https://example.org/e) [f](mailto:f@example.org)"
    assert for_index(text, "https://example.org/r", "v1") == (
        "![a](https://example.org/r/raw/v1/docs/a.svg) [b](https://example.org/r/blob/v1/docs/b.md#c) "
        "[d](#d) [e](https://example.org/e) [f](mailto:f@example.org)"
    )
    readme = for_index((PROJECT / "README.md").read_text("utf-8"), "https://example.org/r", "v1")
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(targets) > 50
    assert all(target.startswith("https://") for target in targets)
    assert "\npip install swaprank && swaprank demo " in readme


def test_a_compiled_wheel_is_for_where_llvmlite_runs() -> None:
    wheel_tag = runpy.run_path(str(PROJECT / "tools" / "build_wheel.py"))["wheel_tag"]
    assert (
        wheel_tag("Wheel-Version: 1.0\nTag: cp312-cp312-a_x86_64\nTag: cp312-cp312-b_x86_64\n")
        == "cp312-cp312-a_x86_64.b_x86_64"
    )
    assert wheel_tag("Tag: cp314-cp314-win_amd64\n") == "cp314-cp314-win_amd64"
