"""Names, ids and paths of others never reach the terminal as control characters; JSON and files have them exactly."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import Ended, here

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such file names cannot be there")

EVIL = "\x1b]0;owned\x07\x9b2J\u202e"
SHOWN = r"\u001b]0;owned\u0007\u009b2J\u202e"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

DATA, MODEL, CSV_DATA = f"d{EVIL}.csv", f"m{EVIL}.swaprank", "data.csv"
COLUMNS = ("--docid", "docid", "--columns", f"side{EVIL}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, a model, a run, judgements and clicks full of such names."""
    folder = tmp_path_factory.mktemp(f"evil{EVIL}")
    rng = np.random.default_rng(0)
    header = ["label", "qid", "docid", f"side{EVIL}", f"a{EVIL}", f"b{EVIL}", f"constant{EVIL}"]
    with (folder / DATA).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for row in range(80):
            a = rng.normal()
            label = int(a + 0.3 * rng.normal() > 0) + int(a > 1)
            writer.writerow([label, f"q{row // 8}{EVIL}", f"d{row}{EVIL}", f"s{row // 40}{EVIL}", a, rng.normal(), 1])
    (folder / CSV_DATA).write_bytes((folder / DATA).read_bytes())
    with (folder / "wrong.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, [1, f"q{EVIL}", "d", "s", f"x{EVIL}", 1, 1]])
    data = sr.read(folder / DATA, docid="docid", columns=[f"side{EVIL}"])
    sr.LambdaMART(n_trees=5, n_leaves=4, min_docs_in_leaf=3).fit(data).save(folder / MODEL)
    sr.LinearRegressionRanker().fit(data).save(folder / "linear.swaprank")
    lines = [f"q{row // 8}{EVIL} 0 d{row}{EVIL} {row % 3}" for row in range(80)]
    for name in ("one", "two"):
        (folder / f"{name}{EVIL}.qrels").write_text("\n".join(lines) + "\n", "utf-8")
    ranked = [f"q{row // 8}{EVIL} Q0 d{row}{EVIL} {row % 8 + 1} {8 - row % 8} tag{EVIL}" for row in range(80)]
    (folder / f"bm25{EVIL}.run").write_text("\n".join(ranked) + "\n", "utf-8")
    assert (
        here(
            "clicks", "simulate", DATA, f"a{EVIL}", "--sessions", 200, "-o", f"c{EVIL}.csv", *COLUMNS, folder=folder
        ).code
        == 0
    )
    return folder


def checked(ended: Ended) -> Ended:
    assert not OBEYED.search(ended.out), ended.out
    assert not OBEYED.search(ended.err), ended.err
    assert "internal error" not in ended.err
    assert ended.code in (0, 1, 2, 3)
    return ended


QUERY = ("--query", f"q1{EVIL}")
COMMANDS = [
    ("info", DATA, *COLUMNS),
    ("info", MODEL),
    ("explain", MODEL, DATA, *QUERY, *COLUMNS),
    ("explain", MODEL, DATA, *QUERY, "--above", f"d9{EVIL}", "--below", f"d10{EVIL}", *COLUMNS),
    ("explain", MODEL, DATA, *QUERY, "--document", f"d9{EVIL}", "--enter", 1, "--change", f"a{EVIL}", *COLUMNS),
    ("evaluate", DATA, MODEL, f"a{EVIL}", f"bm25{EVIL}.run", "--by", f"side{EVIL}", *COLUMNS),
    ("evaluate", DATA, f"x{EVIL}={MODEL}", "--per-query", *COLUMNS),
    ("compare", DATA, MODEL, f"b{EVIL}", "--by", f"side{EVIL}", *COLUMNS),
    ("report", MODEL, DATA, "-o", f"page{EVIL}.html", *COLUMNS),
    ("drift", MODEL, DATA, *COLUMNS),
    ("calibrate", MODEL, DATA, "-o", f"cal{EVIL}.swaprank", *COLUMNS),
    ("certify", MODEL, DATA, "--polish", "-o", f"polished{EVIL}.swaprank", *COLUMNS),
    ("predict", MODEL, DATA, "-o", f"scores{EVIL}.txt", *COLUMNS),
    ("train", DATA, "-o", f"new{EVIL}.swaprank", "--set", "n_trees=2", "-v", *COLUMNS),
    ("bin", DATA, "-o", f"d{EVIL}.bins", "--ignore", f"docid,side{EVIL}"),
    ("combine", MODEL, "linear.swaprank", DATA, "-o", f"both{EVIL}.swaprank", *COLUMNS),
    ("cv", DATA, "--ranker", "linear_regression", "--folds", 3, "-o", f"cv{EVIL}", *COLUMNS),
    ("clicks", "count", f"c{EVIL}.csv", "-o", f"counts{EVIL}.csv"),
    ("clicks", "propensity", f"c{EVIL}.csv", "--max-position", 3, "-o", f"bias{EVIL}.json"),
    ("clicks", "train", f"c{EVIL}.csv", "-o", f"clicked{EVIL}.swaprank", "--set", "n_trees=2"),
    ("export", "linear.swaprank", "--to", "solr", "-o", f"out{EVIL}.json"),
    ("generate", "net", f"made{EVIL}", "--queries", 2),
]
ERRORS = [
    ("info", f"no{EVIL}.csv"),
    ("info", "wrong.csv", "--docid", "docid", "--ignore", f"side{EVIL}"),
    ("train", DATA, "-o", "x.swaprank"),
    ("train", DATA, "-o", f"no{EVIL}/x.swaprank", *COLUMNS),
    ("train", "wrong.csv", "-o", "x.swaprank", *COLUMNS),
    ("explain", MODEL, DATA, "--query", f"no{EVIL}", *COLUMNS),
    ("explain", MODEL, "wrong.csv", *COLUMNS),
    ("evaluate", DATA, f"no{EVIL}", *COLUMNS),
    ("evaluate", DATA, MODEL, "--by", f"no{EVIL}", *COLUMNS),
    ("evaluate", DATA, DATA, *COLUMNS),
    ("export", MODEL, "--to", "ranklib", "-o", f"no{EVIL}/out.txt"),
    ("export", MODEL, "--to", "lightgbm", "-o", "out.txt"),
    ("evaluate", DATA, MODEL, "--by", "docid", *COLUMNS),
    ("clicks", "propensity", f"no{EVIL}.csv"),
    (f"--no{EVIL}", "info"),
    ("export", MODEL, "--to", "solr", "-o", "out.txt", "--rename", f"no{EVIL}=x"),
    ("export", MODEL, "--to", f"x{EVIL}", "-o", "out.txt"),
    ("predict", DATA, MODEL, "-o", "x"),
    ("import", DATA, "-o", "x.swaprank"),
    ("bin", DATA, "-o", f"d{EVIL}.csv"),
    ("train", f"--no{EVIL}", DATA),
    ("clicks", "info", DATA),
    ("clicks", "info", f"c{EVIL}.csv", "--query", f"no{EVIL}"),
    ("agreement", DATA, DATA),
    ("cv", f"evil{EVIL}", "--ranker", f"x{EVIL}"),
    ("train", "--config", f"no{EVIL}.toml"),
    (f"no{EVIL}",),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(map(str, arguments[:2])).split(EVIL)[0])
def test_what_data_says_is_shown_escaped(folder: Path, arguments: tuple[str, ...]) -> None:
    ended = checked(here(*arguments, folder=folder))
    assert ended.code != 2, ended.err
    assert SHOWN in ended.out + ended.err


@pytest.mark.parametrize("arguments", ERRORS, ids=lambda arguments: " ".join(map(str, arguments[:2])).split(EVIL)[0])
def test_errors_show_it_escaped(folder: Path, arguments: tuple[str, ...]) -> None:
    ended = checked(here(*arguments, folder=folder))
    assert ended.code == 2
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("info", DATA, *COLUMNS),
        ("info", MODEL),
        ("explain", MODEL, DATA, *QUERY, *COLUMNS),
        ("evaluate", DATA, MODEL, "--per-query", *COLUMNS),
    ],
)
def test_json_is_exact(folder: Path, arguments: tuple[str, ...]) -> None:
    def texts(value: Any) -> Iterator[str]:
        match value:
            case str():
                yield value
            case dict():
                yield from value
                for each in value.values():
                    yield from texts(each)
            case list():
                for each in value:
                    yield from texts(each)

    ended = checked(here(*arguments, "--json", folder=folder))
    assert any(EVIL in text for text in texts(json.loads(ended.out)))


def test_files_are_exact(folder: Path) -> None:
    assert here("predict", MODEL, DATA, "-o", "exact.run", *COLUMNS, folder=folder).code == 0
    assert f"q0{EVIL} Q0 d0{EVIL} " in (folder / "exact.run").read_text("utf-8")


def test_results_are_escaped_in_python_too(folder: Path) -> None:
    data = sr.read(folder / DATA, docid="docid", columns=[f"side{EVIL}"])
    shown = str(sr.explain_query(sr.load(folder / MODEL), data, f"q1{EVIL}"))
    assert not OBEYED.search(shown)
    assert SHOWN in shown
