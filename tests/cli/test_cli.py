import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import here, swaprank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated data, scores of two features, and a TREC run."""
    folder = tmp_path_factory.mktemp("cli")
    made = here("generate", "net", folder, "--queries", "30,20,10", "--features", 5, "--documents", 8, "--seed", 3)
    assert made.code == 0, made.err
    assert made.out.splitlines()[0].endswith("train.txt: 240 documents, 30 queries")
    test = sr.read(folder / "test.txt")
    for feature in (0, 1):
        np.savetxt(folder / f"f{feature}.txt", test.column(feature))
    with_ids = sr.Dataset(test.features, test.labels, qid=np.repeat(test.qids, 8), docid=[f"d{i}" for i in range(80)])
    sr.write_letor(with_ids, folder / "ids.txt")
    sr.trec.write_run(with_ids, test.column(0), folder / "f0.run")
    lines = [f"{test.qids[i // 8]} 0 d{i} {label:g}" for i, label in enumerate(test.labels)]
    (folder / "judged.qrels").write_text("\n".join(lines))
    return folder


def test_generated_files_are_the_generators(folder: Path) -> None:
    parts = sr.datasets.random_net((30, 20, 10), n_features=5, n_documents=8, random_state=3)
    for name, part in zip(("train", "vali", "test"), parts, strict=True):
        read = sr.read(folder / f"{name}.txt")
        assert (read.features == part.features).all()
        assert (read.labels == part.labels).all()
        assert (read.qids == part.qids).all()


@pytest.mark.slow
def test_evaluate_prints_what_python_computes(folder: Path) -> None:
    test = sr.read(folder / "test.txt")
    shown = swaprank("evaluate", "test.txt", "f0.txt", "-m", "ndcg@5", "-m", "err(max_label=5)", folder=folder)
    assert shown.code == 0, shown.err
    assert shown.out == f"{sr.evaluate(test, test.column(0), ['ndcg@5', 'err(max_label=5)'])}\n"


def test_evaluate_as_json_with_every_query(folder: Path) -> None:
    arguments = ("evaluate", "test.txt", "f0.txt", "f1.txt", "-m", "map", "--json", "--per-query")
    shown = json.loads(here(*arguments, folder=folder).out)
    assert list(shown) == ["f0.txt", "f1.txt"]
    assert len(shown["f0.txt"]["results"][0]["per_query"]) == 10


def test_evaluate_prints_every_query(folder: Path) -> None:
    test = sr.read(folder / "test.txt")
    shown = here("evaluate", "test.txt", "f0.txt", "-m", "map", "--per-query", folder=folder)
    assert shown.out == f"{sr.evaluate(test, test.column(0), 'map').to_text(per_query=True)}\n"


@pytest.mark.slow
def test_evaluate_a_run_on_data_and_on_judgements(folder: Path) -> None:
    by_scores = here("evaluate", "test.txt", "f0.txt", "--convention", "trec", folder=folder)
    on_data = here("evaluate", "ids.txt", "f0.run", "--convention", "trec", folder=folder)
    on_qrels = here("evaluate", "judged.qrels", "f0.run", "--convention", "trec", folder=folder)
    assert on_data.code == on_qrels.code == 0, on_data.err + on_qrels.err
    assert by_scores.out == on_data.out == on_qrels.out


def test_compare(folder: Path) -> None:
    shown = here("compare", "test.txt", "first=f0.txt", "f1.txt", "-m", "map", folder=folder)
    assert shown.code == 0, shown.err
    assert "map: f1.txt looks" in shown.out or "map: f1.txt is" in shown.out
    as_json = here("compare", "test.txt", "first=f0.txt", "f1.txt", "-m", "map", "--json", folder=folder)
    assert json.loads(as_json.out)["differences"][0]["baseline"] == "first"


def test_info(folder: Path) -> None:
    shown = here("info", folder / "train.txt")
    assert shown.code == 0, shown.err
    assert shown.out == f"{sr.data.summarize(sr.read(folder / 'train.txt'))}\n"
    assert json.loads(here("info", folder / "train.txt", "--json").out)["n_queries"] == 30


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_every_terminal_will_do(folder: Path, encoding: str) -> None:
    shown = swaprank("info", "train.txt", folder=folder, PYTHONIOENCODING=encoding)
    assert shown.code == 0, shown.err
    expected = sr.data.summarize(sr.read(folder / "train.txt")).to_text(bar="█" if encoding == "utf-8" else "#")
    assert shown.out == f"{expected}\n"
    for arguments in (["--help"], ["generate", "--help"], ["info"]):
        assert "Traceback" not in here(*arguments, encoding=encoding).err
    (folder / "☃.txt").write_bytes((folder / "f0.txt").read_bytes())
    named = here("evaluate", "test.txt", "☃.txt", "f1.txt", folder=folder, encoding=encoding)
    assert named.code == 0, named.err
    assert named.out.startswith("☃.txt" if encoding == "utf-8" else "\\u2603.txt")


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".txt.xz", ".txt.zst"])
def test_generated_files_can_be_read_with_every_ending(tmp_path: Path, ending: str) -> None:
    made = here("generate", "polynomial", tmp_path, "--queries", 4, "--documents", 6, "--ending", ending)
    assert made.code == 0, made.err
    assert len(sr.read(tmp_path / f"data{ending}")) == 24


def test_version() -> None:
    assert swaprank("--version").out == f"swaprank {sr.__version__}\n"


@pytest.mark.parametrize("command", ["info", "evaluate", "compare"])
def test_help_names_the_file_formats(folder: Path, command: str) -> None:
    shown = here(command, "--help", folder=folder).out
    for ending in (".txt", ".letor", ".svm", ".dat", ".gz", ".xz", ".zst", ".csv", ".tsv", ".parquet"):
        assert ending in shown
    assert ("qrels" in shown) == (command != "info")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "absent.txt"), "error: there is no file absent.txt"),
        (("info", "bad.txt"), "error: bad.txt, line 2: "),
        (("evaluate", "test.txt", "bad.scores"), "error: bad.scores, line 2: expected a number, found 'one'."),
        (("evaluate", "test.txt", "short.scores"), "error: short.scores has 1 scores, but test.txt has 80 documents."),
        (("evaluate", "test.txt", "f0.txt", "-m", "ndgc"), "error: there is no metric 'ndgc'; did you mean 'ndcg'?"),
        (("evaluate", "test.txt", "f0.txt", "--convention", "x"), "error: there is no convention 'x'"),
        (("evaluate", "test.txt", "f0.run"), "error: a run is matched by document ids, but this data set has none."),
        (("evaluate", "judged.qrels", "f0.txt"), "error: TREC judgements need the scores as a TREC run"),
        (("compare", "test.txt", "f0.txt"), "error: a comparison needs at least two rankings, found 1."),
        (("compare", "test.txt", "a=f0.txt", "a=f1.txt"), "two rankings are named 'a'"),
        (("generate", "net", "out", "--queries", "3,x"), "--queries takes whole numbers separated by commas; found"),
        (("generate", "net", "out", "--queries", "1,1,1,1"), "--queries takes up to three numbers; found 4"),
        (
            ("generate", "net", "out", "--levels", "2.7"),
            "--levels takes a whole number, or fractions separated",
        ),
        (("generate", "net", "out", "--ending", ".csv"), "--ending"),
        (("generate", "net", "out", "--seed", "-1"), "--seed"),
        (("generate", "net", "out", "--documents", "1000000000"), "error: out of memory."),
        (("demo", "--seed", "-1"), "--seed"),
        (("compare", "test.txt", "f0.txt", "f1.txt", "--seed", "-1"), "--seed"),
        (("compare", "test.txt", "f0.txt", "f1.txt", "--resamples", "0"), "--resamples"),
        (("generate", "net", "out", "--levels", "1"), "error: levels must be a number from 2"),
        (("evaluate", "test.txt"), "Missing argument"),
        (("frobnicate",), "No such command 'frobnicate'"),
    ],
)
def test_bad_usage_and_bad_input_end_with_2_and_no_traceback(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "bad.txt").write_text("0 qid:1 1:0.5\nx qid:1 1:0.5\n")
    (folder / "bad.scores").write_text("1\none\n")
    (folder / "short.scores").write_text("1\n")
    failed = here(*arguments, folder=folder)
    assert failed.code == 2
    assert message in failed.err
    assert "Traceback" not in failed.err
    assert failed.out == ""


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    made = here("generate", "net", tmp_path, "--queries", "9,5", "--features", 3, "--documents", 6, "--levels", 3)
    assert made.code == 0, made.err
    data, model = tmp_path / "train.txt", tmp_path / "model.swaprank"
    trained = here("train", data, "--ranker", "linear_regression", "--set", "regularization=0.1", "-o", model)
    assert trained.code == 0, trained.err
    before = data.read_bytes(), model.read_bytes()
    for command in (
        ("train", data, "-o", data),
        ("predict", model, data, "-o", data),
        ("report", model, data, "-o", model),
        ("combine", model, model, data, "-o", model),
        ("generate", "net", tmp_path, "--queries", "9,5"),
    ):
        ended = here(*command)
        assert ended.code == 2, command
        assert "overwritten" in ended.err or "already exists" in ended.err
    assert (data.read_bytes(), model.read_bytes()) == before


def test_figures_that_cannot_be_drawn_are_refused_before_the_work() -> None:
    ended = here("reproduce", "ranknet-table1", "--figure", "table.bmp")
    assert ended.code == 2
    assert "must end in .svg, .png or .pdf" in ended.err


def test_experiments_are_listed_as_json() -> None:
    names = [known["name"] for known in json.loads(here("reproduce", "--json").out)["experiments"]]
    assert "ranknet-table1" in names
