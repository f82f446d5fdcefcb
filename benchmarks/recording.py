"""What a benchmark finds are tables: printed as Markdown, and with `--record` kept in results/, with what they ran on.

    with Recording(options, "lightgbm") as recording:
        table = recording.table("trees", "", "Seconds a tree")
        table.add("swaprank", "0.057")

`tools/refresh_figures.py` writes recorded tables into the pages that show them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from measuring import cpu, package_version

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
STAT = Path("/proc/stat")
TICKS = os.sysconf("SC_CLK_TCK")


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add the option --record, which keeps the tables as results/NAME.json."""
    text = "keep the tables as results/NAME.json; the default is the name of the script"
    parser.add_argument("--record", nargs="?", const=Path(sys.argv[0]).stem, metavar="NAME", help=text)


@dataclass(frozen=True)
class Table:
    """Rows of formatted cells; each is printed when it is added."""

    columns: tuple[str, ...]
    n_names: int
    """The first columns, which are names and not numbers."""
    rows: list[list[str]] = field(default_factory=list)

    def print_head(self) -> None:
        """Print the names of the columns."""
        print(f"\n| {' | '.join(self.columns)} |\n|{alignment(self.n_names, len(self.columns))}", flush=True)

    def add(self, *cells: object) -> None:
        """Add and print a row."""
        row = [str(cell) for cell in cells]
        assert len(row) == len(self.columns), row
        self.rows.append(row)
        print(f"| {' | '.join(row)} |", flush=True)


def alignment(n_names: int, n_columns: int) -> str:
    """The second line of a Markdown table, without its first bar."""
    return "---|" * n_names + "---:|" * (n_columns - n_names)


class Recording:
    """The tables of one run of a script; `setting` says on what data and how, in words for a caption."""

    def __init__(self, options: argparse.Namespace, *packages: str) -> None:
        self.name: str | None = options.record
        self.setting = ""
        self.tables: dict[str, Table] = {}
        self.more: dict[str, Any] = {}
        """What else is kept, such as the points of a picture."""
        self.versions = {"Python": platform.python_version()}
        self.versions |= {name: package_version(name) for name in ("swaprank", "numba", "numpy", *packages)}
        # Now, because the checkout may change while this runs; and only if it matters, because there may be no git.
        self.commit = git("rev-parse", "--short=8", "HEAD") if self.name else ""
        changes = ("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results")
        self.changed = bool(self.name and git(*changes))
        self.start = time.perf_counter()
        self.worked = busy_seconds() - own_seconds()

    def __enter__(self) -> Self:
        """Print on what this runs."""
        print(f"{cpu()}, {os.cpu_count()} cores; {', '.join(f'{name} {of}' for name, of in self.versions.items())}.")
        return self

    def says(self, setting: str) -> None:
        """Print and keep on what data this runs, and how."""
        self.setting = setting
        print(f"{setting}.", flush=True)

    def table(self, name: str, *columns: str, n_names: int = 1) -> Table:
        """A new table, whose first columns are names."""
        table = self.tables[name] = Table(columns, n_names)
        table.print_head()
        return table

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        others = (busy_seconds() - own_seconds() - self.worked) / (time.perf_counter() - self.start)
        others = round(max(others, 0.0), 2)
        print(f"\nMeanwhile, other programs kept {others} of {os.cpu_count()} cores busy.")
        if kind is None and self.name:
            RESULTS.mkdir(exist_ok=True)
            file = RESULTS / f"{self.name}.json"
            text = json.dumps(self.as_json(others), indent=1, ensure_ascii=False)
            # A row, or the points of a line, on one line.
            text = re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\n *", " ", match[0]), text)
            file.write_text(text + "\n", "utf-8")
            print(f"Recorded: {file.relative_to(FOLDER.parent)}")

    def as_json(self, others: float) -> dict[str, Any]:
        """What is kept."""
        tables = {
            name: {"columns": table.columns, "n_names": table.n_names, "rows": table.rows}
            for name, table in self.tables.items()
        }
        return {
            "command": command(sys.argv),
            "setting": self.setting,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "commit": self.commit,
            "changed": self.changed,
            "cpu": cpu(),
            "cores": os.cpu_count(),
            "cores of other programs": others,
            "versions": self.versions,
            "tables": tables,
            **self.more,
        }


def command(arguments: list[str]) -> str:
    """The command line, with FOLDER and FILE instead of paths, and without --record."""
    words = [f"benchmarks/{Path(arguments[0]).name}"]
    skipped = False
    for word, following in zip(arguments[1:], [*arguments[2:], "--"], strict=True):
        if skipped:
            skipped = False
        elif word == "--record":
            skipped = not following.startswith("-")
        elif os.sep in word or Path(word).exists():
            words.append("FILE" if Path(word).is_file() else "FOLDER")
        else:
            words.append(f'"{word}"' if " " in word else word)
    return f"python {' '.join(words)}"


def git(*arguments: str) -> str:
    """What git prints about this checkout."""
    return subprocess.check_output(["git", *arguments], cwd=FOLDER.parent, text=True).strip()


def busy_seconds() -> float:
    """Seconds that all cores of the machine have worked, or were taken from it, since it started; NaN if unknown."""
    if not STAT.exists():
        return math.nan
    user, nice, system, _idle, _wait, *interrupts = STAT.read_text().split("\n", 1)[0].split()[1:9]
    return sum(map(int, (user, nice, system, *interrupts))) / TICKS


def own_seconds() -> float:
    """CPU time of this process, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
