"""`swaprank report`."""

import hashlib
from pathlib import Path

import pytest

import swaprank as sr
from tests.command_line import here
from tests.reporting.pages import read_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=8, levels=3, random_state=0)
    sr.write_letor(train, folder / "train.txt")
    sr.write_letor(test, folder / "test.txt")
    sr.LambdaMART(n_trees=5, min_docs_in_leaf=5).fit(train).save(folder / "forest.swaprank")
    sr.LinearRegressionRanker(regularization=0.1).fit(train).save(folder / "linear.swaprank")
    return folder


def test_report_is_that_of_python(folder: Path) -> None:
    ran = here(
        "report", "forest.swaprank", "test.txt", "--baseline", "linear.swaprank", "--train", "train.txt",
        "-m", "map", "-m", "ndcg@5", "--query", 31, "--query", 33, "-o", "page.html", folder=folder,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.err == ""
    made = sr.report(
        folder / "forest.swaprank",
        folder / "test.txt",
        baseline=folder / "linear.swaprank",
        train=folder / "train.txt",
        metrics=["map", "ndcg@5"],
        qids=[31, 33],
    )
    html = (folder / "page.html").read_text("utf-8")
    before_the_time = [read_page(text).text.partition("made")[0] for text in (html, made.html)]
    assert before_the_time[0] == before_the_time[1]
    assert len(before_the_time[0]) > 1000
    assert html.count("<article") == 2
    first, second, third = ran.out.splitlines()
    assert first.startswith("page.html: ")
    assert second.startswith(f"map {made.evaluation['map'].mean:.4f} (95% interval ")
    assert third == made.comparison.differences[0].sentence()
    text = read_page(html).text
    for fact in ("forest on test.txt", "forest.swaprank", "train.txt", f"swaprank {sr.__version__}", "SHA-256"):
        assert fact in text


def test_queries_without_a_relevant_document_are_told(folder: Path) -> None:
    (folder / "some.txt").write_text(
        "".join(f"{int(row == query == 1)} qid:{query} 1:{row} 2:1 3:1 4:1\n" for query in (1, 2) for row in range(3))
    )
    ran = here("report", "linear.swaprank", "some.txt", "-m", "map(empty=1)", "-o", "some.html", folder=folder)
    assert ran.code == 0, ran.err
    assert "1 of 2 queries is without a relevant document: map(empty=1) counts it as 1 for every ranking." in ran.out


def test_report_has_a_usual_place(folder: Path) -> None:
    ran = here("report", "linear.swaprank", "test.txt", "--baseline-feature=-2", "--title", "A <title>", folder=folder)
    assert ran.code == 0, ran.err
    text = read_page((folder / "report.html").read_text("utf-8")).text
    assert "A <title>" in text
    assert "feature 2, smallest first" in text


@pytest.mark.slow
def test_the_record_of_the_training_is_told_if_it_is_of_this_model(folder: Path) -> None:
    model, record = folder / "forest.swaprank", folder / "forest.toml"
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    record.write_text(
        f"""train = "some/folder/a&b.txt"
        valid = 7
        data = {{train = {{documents = 12345, digest = "0123456789abcdef0123"}}, valid = "nothing"}}
        versions = {{numpy = "1.2.3"}}
        result = {{digest = "{digest}"}}"""
    )
    text = read_page(sr.report(model, folder / "test.txt").html).text
    for fact in (
        "training dataa&b.txt",
        "12,345 documents",
        "digest 0123456789abcdef…",
        "validation data7",
        "numpy 1.2.3",
    ):
        assert fact in text
    for other in (record.read_text().replace(digest, "another"), "[[not toml", "\0", "result = 3"):
        record.write_text(other)
        assert "a&b.txt" not in read_page(sr.report(model, folder / "test.txt").html).text
    record.unlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--query", "nobody"), "there is no query 'nobody'"),
        (("--baseline", "nowhere.swaprank"), "there is no file nowhere.swaprank"),
        (("-o", "nowhere/report.html"), "there is no folder nowhere"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    target = () if "-o" in arguments else ("-o", "never.html")
    ran = here("report", "forest.swaprank", "test.txt", *arguments, *target, folder=folder)
    assert ran.code == 2
    assert message in ran.err
    assert not (folder / "never.html").exists()
