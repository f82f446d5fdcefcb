"""Columns of tables by name, everywhere; documents without labels."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import Ended, here

pytest.importorskip("polars", reason="Polars is not installed")

COLUMNS = ("--label", "clicked", "--qid", "query", "--docid", "doc", "--ignore", "title,price", "--ignore", "note")
# Noise of splits goes by the position of a feature, which is another one in the table.
SMALL = ("--set", "n_trees=5", "--set", "n_leaves=4", "--set", "min_docs_in_leaf=3", "--set", "split_noise=0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents as LETOR text and as tables with columns of all kinds, in other orders."""
    folder = tmp_path_factory.mktemp("tables")
    parts = sr.datasets.random_net((40, 20), n_features=3, n_documents=8, levels=3, random_state=0)
    for name, part in zip(("train", "vali"), parts, strict=True):
        qid = np.repeat(part.qids, np.diff(part.indptr))
        with_ids = sr.Dataset(part.features, part.labels, qid=qid, docid=[f"d{row}" for row in range(len(part))])
        sr.write_letor(with_ids, folder / f"{name}.txt")
        for separator, ending in ((",", "csv"), ("\t", "tsv")):
            lines = [separator.join(["title", "3", "query", "clicked", "1", "price", "doc", "2", "note"])]
            for row, x in enumerate(part.features.tolist()):
                fields = [f"Shoe {row}", x[2], qid[row], part.labels[row], x[0], "9 EUR", f"d{row}", x[1], ""]
                lines.append(separator.join(map(str, fields)))
            (folder / f"{name}.{ending}").write_text("\n".join(lines))
    ran(folder, "train", "train.txt", *SMALL, "-o", "text.swaprank")
    ran(folder, "train", "train.csv", *COLUMNS, *SMALL, "-o", "table.swaprank")
    return folder


def ran(folder: Path, *arguments: object) -> Ended:
    ended = here(*arguments, folder=folder)
    assert ended.code == 0, (arguments, ended.err)
    return ended


def test_a_model_of_a_table_is_that_of_the_same_text(folder: Path) -> None:
    text, table = (sr.load(folder / f"{name}.swaprank") for name in ("text", "table"))
    assert table.feature_names_in_.tolist() == ["3", "1", "2"]
    vali = sr.read(folder / "vali.txt")
    np.testing.assert_array_equal(table.predict(np.asarray(vali.features)[:, [2, 0, 1]]), text.predict(vali))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        lambda data, columns: ("evaluate", data, "MODEL", *columns),
        lambda data, columns: ("evaluate", data, "f.scores", "-m", "ndcg@10(ties=docid)", *columns),
        lambda data, columns: ("compare", data, "a=MODEL", "f.scores", *columns),
        lambda data, columns: ("explain", "MODEL", data, *columns),
        lambda data, columns: ("predict", "MODEL", data, *columns),
        lambda data, columns: ("certify", "MODEL", data, "--epsilon", 0.5, *columns),
        lambda data, columns: ("combine", "MODEL", "MODEL", data, "-o", "both.swaprank", *columns),
        lambda data, columns: ("report", "MODEL", data, "-m", "map", "-q", *columns),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_commands_with_a_table_do_the_same_as_with_text(
    folder: Path, command: Callable[[str, tuple[str, ...]], tuple[object, ...]], ending: str
) -> None:
    np.savetxt(folder / "f.scores", sr.read(folder / "vali.txt").column(0).round(1))

    def printed(model: str, data: str, columns: tuple[str, ...]) -> Ended:
        arguments = [str(each).replace("MODEL", model) for each in command(data, columns)]
        ended = here(*arguments, folder=folder)
        return ended._replace(out=ended.out.replace("table", "text"))

    table = printed("table.swaprank", f"vali.{ending}", COLUMNS)
    assert table == printed("text.swaprank", "vali.txt", ())
    assert table.code in (0, 1), table.err


def test_info_and_cross_validation_of_tables(folder: Path) -> None:
    assert ran(folder, "info", "train.csv", *COLUMNS).out == ran(folder, "info", "train.txt").out
    regression = ("--ranker", "linear_regression", "--set", "regularization=0.1", "--folds", 3)
    assert ran(folder, "cv", "train.csv", *COLUMNS, *regression).out == ran(folder, "cv", "train.txt", *regression).out
    for ending in ("csv", "txt"):
        fold = folder / f"folds-{ending}" / "Fold1"
        fold.mkdir(parents=True)
        for part in ("train", "vali", "test"):
            (fold / f"{part}.{ending}").write_bytes((folder / f"{part.replace('test', 'vali')}.{ending}").read_bytes())
    table = ran(folder, "cv", "folds-csv", *COLUMNS, *regression[:-2])
    assert table.out == ran(folder, "cv", "folds-txt", *regression[:-2]).out


def test_columns_are_recorded_and_a_run_is_repeated(folder: Path) -> None:
    record = tomllib.loads((folder / "table.toml").read_text())
    assert record["columns"] == {
        "label": "clicked", "qid": "query", "docid": "doc", "ignore": ["title", "price", "note"],
    }  # fmt: skip
    before = (folder / "table.swaprank").read_bytes()
    again = ran(folder, "train", "--config", "table.toml", "--valid", "vali.csv", "-o", "again.swaprank")
    assert "valid ndcg@10" in again.out
    assert "identical" in ran(folder, "train", "--config", "table.toml").out
    assert (folder / "table.swaprank").read_bytes() == before
    two = ran(folder, "train", "--config", "table.toml", "--features", "1,2", "-o", "two.swaprank")
    assert "two.swaprank: 5 trees" in two.out
    assert sr.load(folder / "two.swaprank").feature_names_in_.tolist() == ["1", "2"]


def test_columns_of_a_search(folder: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    options = ("--valid", "vali.csv", "--trials", 2, *COLUMNS, *SMALL, "--range", "l2=0..1")
    ran(folder, "tune", "train.csv", *options, "-o", "best.swaprank")
    assert "identical" in ran(folder, "train", "--config", "best.toml").out


def test_documents_without_labels_are_scored(folder: Path) -> None:
    scores = ran(folder, "predict", "text.swaprank", "vali.txt").out
    lines = (folder / "vali.txt").read_text().splitlines()
    (folder / "new.txt").write_text("".join(line.partition(" ")[2] + "\n" for line in lines))
    assert (folder / "new.txt").read_text().startswith("qid:")
    assert ran(folder, "predict", "text.swaprank", "new.txt").out == scores
    rows = [line.split(",") for line in (folder / "vali.csv").read_text().splitlines()]
    (folder / "new.csv").write_text("\n".join(",".join(row[:3] + row[4:]) for row in rows))
    table = ran(folder, "predict", "table.swaprank", "new.csv", "--qid", "query")
    assert table.out == scores
    for name in ("new.txt", "vali.txt"):
        ran(folder, "predict", "text.swaprank", name, "-o", f"{name}.run")
    ran(folder, "predict", "table.swaprank", "new.csv", "--qid", "query", "--docid", "doc", "-o", "new.csv.run")
    runs = [(folder / f"{name}.run").read_text() for name in ("new.txt", "vali.txt", "new.csv")]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "train.csv"), "there is no column 'label': choose one"),
        (("info", "train.txt", "--qid", "query"), "train.txt is LETOR text, which has no columns"),
        (("info", "train.csv", *COLUMNS[:4]), "column 'title', line 2: 'Shoe 0' is not a number"),
        (("info", "train.csv", *COLUMNS, "--ignore", "prize"), "there is no column 'prize' to ignore; did you mean"),
        (("evaluate", "train.txt", "new.txt"), "new.txt"),
        (("predict", "table.swaprank", "vali.csv", "--qid", "query", "--ignore", "2"), "the feature '2' is needed"),
        (("train", "new.txt", "-o", "x"), "line 1: expected a finite number as the label, found 'qid:"),
        (("train", "--config", "bad.toml", "-o", "x"), "[columns] has an unknown entry 'lable'; did you mean 'label'?"),
        (("train", "--config", "worse.toml", "-o", "x"), "[columns] ignore must be a list of names, found 'title'."),
    ],
)
def test_bad_columns_are_reported(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "bad.toml").write_text("train = 'train.csv'\n[columns]\nlable = 'clicked'\n")
    (folder / "worse.toml").write_text("train = 'train.csv'\n[columns]\nignore = 'title'\n")
    (folder / "new.txt").write_text("qid:1 1:0.5\n")
    failed = here(*arguments, folder=folder)
    assert failed.code == 2
    assert message in failed.err


def test_columns_of_text_do_not_matter_for_rankings(tmp_path: Path) -> None:
    rows = "".join(f"{at // 5},{at % 3 == 0:d},{at * 7 % 11},some text\n" for at in range(30))
    (tmp_path / "data.csv").write_text(f"query,rel,a,title\n{rows}")
    columns = ("--label", "rel", "--qid", "query")
    trained = here(
        "train", "data.csv", *columns, "--ignore", "title", "--set", "n_trees=2", "-o", "m.swaprank", folder=tmp_path
    )
    assert trained.code == 0, trained.err
    for command in ("evaluate", "compare"):
        rankings = ("m.swaprank",) if command == "evaluate" else ("a=m.swaprank", "b=m.swaprank")
        ended = here(command, "data.csv", *rankings, *columns, "--json", folder=tmp_path)
        assert ended.code == 0, ended.err
    both = here("train", "data.csv", *columns, "--ignore", "rel", "-o", "x", folder=tmp_path)
    assert "column 'rel' is given as label and to be ignored" in both.err
