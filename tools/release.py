"""Make all files of a release from the last commit, and check each in a fresh environment. It uploads nothing.

    pip install ".[release]"
    python tools/release.py --repository https://github.com/OWNER/swaprank  # once; commit what it writes
    python tools/release.py --pythons python3.11 python3.12 python3.13 python3.14 --out dist

`dist` then has the source distribution, a wheel for any platform, a wheel with compiled kernels for each Python,
`swaprank-….cdx.json` (what is installed with it, as CycloneDX), a recipe for conda-forge and SHA256SUMS.
docs/releasing.md says what comes after.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import NamedTuple

PROJECT = Path(__file__).parent.parent
FITS = """
import sys, time, swaprank as sr
from swaprank.compilation.storage import STORAGE
(train,) = sr.datasets.random_search((100,), random_state=0)
start = time.perf_counter()
for name in sys.argv[1:]:
    getattr(sr, name)().fit(train).predict(train)
print(sr.__version__, STORAGE.n_compiled, time.perf_counter() - start)
"""
RANKERS = ("LambdaMART", "LambdaRank", "SmoothRank", "LinearRegressionRanker")


class Release(NamedTuple):
    """What a release is called, its day, and where its source is."""

    version: str
    date: str
    repository: str


def read_release(project: Path) -> Release:
    """What the files of a clone say; SystemExit names everything that they do not agree on."""
    version = run_path(str(project / "src/swaprank/version.py"))["__version__"]
    urls = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    newest = re.search(r"^## (\S+)(?: \((.*)\))?$", (project / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    number, date = (newest[1], newest[2] or "") if newest else ("", "")
    citation = (project / "CITATION.cff").read_text("utf-8")
    problems = []
    if (number, bool(date)) != (version, True):
        problems.append(f"CHANGELOG.md begins with {newest[0] if newest else 'no version'!r} instead of {version}")
    if f"\nversion: {version}\ndate-released: {date}\n" not in citation:
        problems.append(f"CITATION.cff has another version or date than {version} ({date})")
    if "Repository" not in urls:
        problems.append("pyproject.toml has no [project.urls]: run with --repository, and commit")
    if problems:
        raise SystemExit("No release: " + "; ".join(problems) + ".")
    return Release(version, date, urls["Repository"])


def with_repository(pyproject: str, repository: str) -> str:
    """`pyproject.toml` with the addresses that packages and package indexes show."""
    pages = {
        "Repository": "",
        "Documentation": "/blob/main/docs/start.md",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    rows = "".join(f'{name} = "{repository.rstrip("/")}{page}"\n' for name, page in pages.items())
    rest = re.sub(r"^\[project\.urls\]\n(?:.+\n)*\n", "", pyproject, flags=re.MULTILINE)
    return rest.replace("[project.scripts]\n", f"[project.urls]\n{rows}\n[project.scripts]\n")


def conda_recipe(template: str, release: Release, sha256: str) -> str:
    """The recipe of packaging/conda for one source distribution."""
    for name, value in {"version": release.version, "sha256": sha256, "repository": release.repository}.items():
        template, n_found = re.subn(rf'^  {name}: ".*"$', f'  {name}: "{value}"', template, flags=re.MULTILINE)
        assert n_found == 1, name
    return template


def digests(files: list[Path]) -> str:
    """What `sha256sum --check` reads, one line per file."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files))


def run(*command: str | Path, **variables: str) -> str:
    """The output of a command; if it fails, the end of both outputs."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | variables)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def last_commit(folder: Path) -> Path:
    """The files of the last commit, in a folder; the builds have its time."""
    if run("git", "-C", PROJECT, "status", "--porcelain"):
        raise SystemExit("No release: there are changes that are not committed.")
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "-C", PROJECT, "log", "-1", "--format=%ct").strip()
    run("git", "-C", PROJECT, "archive", "--output", folder / "commit.tar", "HEAD")
    (source := folder / "commit").mkdir()
    run("tar", "-xf", folder / "commit.tar", "-C", source)
    return source


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is made from it."""
    run(sys.executable, "-m", "build", "--outdir", out, source)
    return next(out.glob("*.tar.gz")), next(out.glob("*-none-any.whl"))


def environment(python: str, folder: Path, *install: str | Path) -> Path:
    """A fresh environment, and the Python in it."""
    run(python, "-m", "venv", "--without-pip", folder)
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(sys.executable, "-m", "pip", "--python", inside, "install", "--no-compile", *install)
    return inside


def check_fit(python: Path, version: str, compiled: bool) -> str:
    """First fits with an empty cache. They compile, or do not; what they did is said."""
    with TemporaryDirectory() as cache:
        names = RANKERS if compiled else RANKERS[:1]
        # -I: not from the current folder, and without PYTHONPATH.
        found, n_compiled, seconds = run(python, "-I", "-c", FITS, *names, NUMBA_CACHE_DIR=cache).split()
    if (found, int(n_compiled) == 0) != (version, compiled):
        raise SystemExit(f"{python} has swaprank {found}, and compiled {n_compiled} kernels.")
    return f"first fit of {', '.join(names)}: {n_compiled} kernels compiled, {float(seconds):.1f} s"


def compiled_wheel(python: str, source: Path, plain: Path, work: Path, version: str) -> Path:
    """A wheel with compiled kernels for one Python. pip must prefer it, and fits must compile nothing."""
    maker = environment(python, work / "maker", plain, "pip")
    print("  plain wheel,", check_fit(maker, version, compiled=False), flush=True)
    run(maker, source / "tools" / "build_wheel.py", "--out", work, PYTHONPATH="")
    wheel = next(work.glob("*.whl"))
    (choice := work / "choice").mkdir()
    for each in (wheel, plain):
        shutil.copy(each, choice)
    user = environment(python, work / "user", "--no-index", "--no-deps", "--find-links", choice, "swaprank")
    if "none-any" in run(
        user, "-c", "import importlib.metadata as m; print(m.distribution('swaprank').read_text('WHEEL'))"
    ):
        raise SystemExit(f"pip prefers {plain.name} to {wheel.name}.")
    run(sys.executable, "-m", "pip", "--python", user, "install", "--find-links", choice, f"swaprank=={version}")
    print(f"  {wheel.name},", check_fit(user, version, compiled=True), flush=True)
    return wheel


def bill_of_materials(python: Path, source: Path, release: Release, file: Path) -> None:
    """What is installed in an environment, as CycloneDX."""
    options = ("--output-reproducible", "--pyproject", source / "pyproject.toml", "--mc-type", "library")
    bom = json.loads(run(sys.executable, "-m", "cyclonedx_py", "environment", *options, python))
    bom["metadata"]["component"] |= {"version": release.version, "purl": f"pkg:pypi/swaprank@{release.version}"}
    file.write_text(json.dumps(bom, indent=1) + "\n", "utf-8")


def make(pythons: list[str], out: Path, work: Path) -> None:
    """Everything, in the order in which it is needed."""
    from rattler_build import Stage0Recipe

    source = last_commit(work)
    release = read_release(source)
    sdist, plain = build(source, out)
    for first, second in zip((sdist, plain), build(source, work / "again"), strict=True):
        if first.read_bytes() != second.read_bytes():
            raise SystemExit(f"{first.name} has other bytes when it is built again.")
        print(f"{first.name}: built twice, the same bytes", flush=True)
    files = [sdist, plain]

    tester = environment(pythons[0], work / "tester", sdist)
    print("  from source,", check_fit(tester, release.version, compiled=False), flush=True)
    files.append(out / f"swaprank-{release.version}.cdx.json")
    bill_of_materials(tester, source, release, files[-1])

    run("tar", "-xf", sdist, "-C", work)
    for number, python in enumerate(pythons):
        print(f"{run(python, '--version').strip()}:", flush=True)
        (folder := work / str(number)).mkdir()
        unpacked = work / f"swaprank-{release.version}"
        wheel = compiled_wheel(python, unpacked, plain, folder, release.version)
        files.append(Path(shutil.move(wheel, out)))

    print(run(sys.executable, "-m", "twine", "check", "--strict", *(f for f in files if f.suffix != ".json")).strip())
    files.append(out / "recipe.yaml")
    template = (source / "packaging/conda/recipe.yaml").read_text("utf-8")
    files[-1].write_text(recipe := conda_recipe(template, release, digests([sdist]).split()[0]), "utf-8")
    Stage0Recipe.from_yaml(recipe).render()  # Its channel may be out of reach here: the build is a step of its own.
    (out / "SHA256SUMS").write_text(digests(files), "utf-8")
    print((out / "SHA256SUMS").read_text("utf-8"), end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", nargs="+", default=[sys.executable], help="Pythons to build compiled wheels for")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the release; it must be empty")
    parser.add_argument("--repository", help="write this address to pyproject.toml, and end")
    options = parser.parse_args()
    if options.repository:
        file = PROJECT / "pyproject.toml"
        file.write_text(with_repository(file.read_text("utf-8"), options.repository), "utf-8")
        return
    (out := options.out.absolute()).mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise SystemExit(f"{out} is not empty.")
    with TemporaryDirectory() as work:
        make(options.pythons, out, Path(work))


if __name__ == "__main__":
    main()
