"""Write docs/reproduction.md from the saved runs of the experiments, docs/reproduction/*.txt.

    python tools/refresh_reproduction.py                       write the page
    python tools/refresh_reproduction.py NAME OUTPUT [COMMIT]  first save an output of `swaprank reproduce NAME`

The first line of a saved run says on what it ran: commit, versions, CPU and date. docs/reproduction/page.toml has the
sentences around the runs: read them after a new run, they must still be true. tests/reproduction/test_page.py checks
that the page is what this script makes.
"""

import datetime
import platform
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from swaprank.environment import versions
from swaprank.reproduction.coverage import ITEMS
from swaprank.reproduction.experiment_names import EXPERIMENTS

PROJECT = Path(__file__).parent.parent
RUNS = PROJECT / "docs" / "reproduction"
PAGE = PROJECT / "docs" / "reproduction.md"
LONG = 20
"""Longer outputs are folded on the page."""


def page() -> str:
    """The whole page."""
    content = tomllib.loads((RUNS / "page.toml").read_text(encoding="utf-8"))
    sections = content["section"]
    parts = [content["intro"].strip(), "## Results", _results(sections)]
    for section in sections:
        parts += [f"## {section['title']}", _section(section)]
    parts += ["## Every table and figure", content["coverage"].strip(), _coverage()]
    return "\n\n".join(parts) + "\n"


def _results(sections: list[dict[str, Any]]) -> str:
    rows = ["| Experiment | Paper | Result | Agrees |", "|---|---|---|---|"]
    for section in sections:
        source = EXPERIMENTS[section["name"]].source.partition("]")[0].strip("[")
        anchor = "".join(c for c in section["title"].lower() if c.isalnum() or c in " -").replace(" ", "-")
        link = f"[`{section['name']}`](#{anchor})"
        rows.append(f"| {link} | {source} | {section['result']} | {section['agrees']} |")
    return "\n".join(rows)


def _coverage() -> str:
    rows = ["| Paper | | What it is | Status | Experiment | What differs, or is missing |", "|---|---|---|---|---|---|"]
    for item in ITEMS:
        experiments = ", ".join(f"`{name}`" for name in item.experiments)
        rows.append(f"| {item.paper} | {item.item} | {item.what} | {item.status} | {experiments} | {item.difference} |")
    return "\n".join(rows)


def _section(section: dict[str, Any]) -> str:
    blocks = [f"`{section['command']}`, {section['time']}. {section['text'].strip()}"]
    for run in section["runs"]:
        first, _, text = (RUNS / f"{run['file']}.txt").read_text(encoding="utf-8").partition("\n")
        caption = f"{run['caption']} " if "caption" in run else ""
        printed = f"```text\n{text.strip()}\n```"
        if text.count("\n") > LONG:
            summary = f"<summary>All {text.strip().count(chr(10)) + 1} lines of the run on {first}</summary>"
            blocks.append(f"{caption}\n\n<details markdown>{summary}\n\n{printed}\n\n</details>".strip())
        else:
            blocks.append(f"{caption}Run on {first}:\n\n{printed}")
        blocks += [run["after"].strip()] if "after" in run else []
    return "\n\n".join(blocks)


def save(name: str, output: Path, commit: str | None) -> None:
    """Keep an output as the run of an experiment, with what it ran on."""
    found = commit or subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, text=True).strip()
    packages = ", ".join(f"{package} {number}" for package, number in versions().items() if package != "scipy")
    date = datetime.date.fromtimestamp(output.stat().st_mtime)
    text = output.read_text(encoding="utf-8").strip()
    (RUNS / f"{name}.txt").write_text(f"commit {found}, {packages}, {_cpu()}, {date}\n{text}\n", encoding="utf-8")


def _cpu() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        save(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
    PAGE.write_text(page(), encoding="utf-8")
