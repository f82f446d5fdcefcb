from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels, Run
from swaprank.errors import DataError
from swaprank.reading.read import read_judged
from swaprank.reading.trec import read_qrels, read_run, read_scores, write_run


def data() -> Dataset:
    return Dataset([[1.0]] * 4, [0, 1, 2, 0], qid=["q2", "q1", "q2", "q1"], docid=["a", "b", "c", "d"])


def test_qrels(tmp_path: Path) -> None:
    path = tmp_path / "judged.qrels.gz"
    path.write_bytes(gzip.compress(b"q1 0 a 2\r\n\nq1\t0  b -1\nq2 0 a 0"))
    qrels = read_qrels(path)
    assert qrels.to_dict() == {"q1": {"a": 2, "b": -1}, "q2": {"a": 0}}
    assert qrels.label.dtype == np.int64


def test_run_round_trip_in_the_order_of_the_rows(tmp_path: Path) -> None:
    scores = np.array([0.1, 1 / 3, -2e-9, 5.0])
    write_run(data(), scores, tmp_path / "my.run.zst", tag="mine")
    run = read_run(tmp_path / "my.run.zst")
    np.testing.assert_array_equal(run.scores_for(data()), scores)
    assert run.to_dict()["q1"] == {"d": 5.0, "b": 1 / 3}


def test_ties_go_by_document_id_descending(tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    write_run(data(), [1, 1, 1, 1], path)
    assert path.read_text().splitlines() == [
        "q2 Q0 c 1 1.0 swaprank", "q2 Q0 a 2 1.0 swaprank", "q1 Q0 d 1 1.0 swaprank", "q1 Q0 b 2 1.0 swaprank",
    ]  # fmt: skip


def test_rows_are_the_ids_where_there_are_none(tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    write_run(Dataset([[1.0], [2.0]], [0, 1], qid=[4, 4]), [0.5, 0.25], path)
    assert path.read_text() == "4 Q0 0 1 0.5 swaprank\n4 Q0 1 2 0.25 swaprank\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("q 0 a 1\nq 0 b\n", "line 2: expected 4 columns (query iteration document label), found 3."),
        ("q 0 a 1\nq 0 b x\n", "line 2: expected a whole number as the label, found 'x'."),
        ("q 0 a 1\n\nr 0 a 1\nq 0 a 0\n", "line 4: document 'a' of query 'q' is already in line 1."),
        ("\n\n", "has no lines"),
        (
            "q 0 a 99999999999999999999999\n",
            "line 1: expected a whole number as the label, found '99999999999999999999999'.",
        ),
        ("q 0 a 1_0\n", "line 1: expected a whole number as the label, found '1_0'."),
        ("q 0 a ٣\n", "line 1: expected a whole number as the label, found '٣'."),
    ],
)
def test_bad_qrels(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "judged.qrels"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(complaint)):
        read_qrels(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("q Q0 a 1 2.5\n", "line 1: expected 6 columns"),
        ("q Q0 a 1 nan t\n", "line 1: expected a finite number as the score, found 'nan'."),
        ("q Q0 a 1 1_0 t\n", "line 1: expected a finite number as the score, found '1_0'."),
        ("q Q0 a 1 ٣ t\n", "line 1: expected a finite number as the score, found '٣'."),
        ("q Q0 a 1 2 t\nq Q0 a 2 1 t\n", "line 2: document 'a' of query 'q' is already in line 1."),
    ],
)
def test_bad_run(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "my.run"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(complaint)):
        read_run(path)


def test_documents_without_a_score() -> None:
    run = Run(np.array(["q1"]), np.array(["b"]), np.array([1.0]))
    with pytest.raises(DataError, match=r"no score for 3 of 4 documents; the first is 'a' of query 'q2' \(row 0\)"):
        run.scores_for(data())
    with pytest.raises(DataError, match="this data set has none"):
        run.scores_for(Dataset([[1.0]], [0], qid=[1]))


@pytest.mark.parametrize(
    ("scores", "tag", "complaint"),
    [
        ([1, 2], "t", "one number per document, 4"),
        ([1, 2, np.nan, 3], "t", "document 2 has NaN"),
        ([1] * 4, "a b", "the tag 'a b'"),
    ],
)
def test_runs_that_cannot_be_written(tmp_path: Path, scores: list[float], tag: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        write_run(data(), scores, tmp_path / "my.run", tag=tag)
    assert list(tmp_path.iterdir()) == []


def test_text_as_scores(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="scores must be numbers"):
        write_run(data(), list("abcd"), tmp_path / "my.run")
    with pytest.raises(DataError, match="row 1: inf cannot be written"):
        write_run(data(), [1, np.inf, 0, 0], tmp_path / "my.run")


def test_a_run_names_each_document_of_a_query_once(tmp_path: Path) -> None:
    twice = Dataset([[1.0]] * 3, [0, 1, 2], qid=["q", "r", "q"], docid=["a", "a", "a"])
    with pytest.raises(DataError, match="rows 0 and 2 of query 'q' have the same document id, 'a'"):
        write_run(twice, [1, 2, 3], tmp_path / "my.run")
    write_run(twice.subset([1]), [2], tmp_path / "my.run")
    assert read_run(tmp_path / "my.run").to_dict() == {"r": {"a": 2.0}}


def test_judgements_and_runs_from_lists() -> None:
    assert Qrels([1, 1], ["a", b"b"], [2, 0]).to_dict() == {"1": {"a": 2, "b": 0}}  # type: ignore[arg-type]
    assert Run(["q"], [7], [0.5]).to_dict() == {"q": {"7": 0.5}}  # type: ignore[arg-type]
    for labels, complaint in (
        ([1.5], "row 0: 1.5 is not a whole number"),
        (["x"], "must hold numbers"),
        ([1, 2], "qid"),
    ):
        with pytest.raises(DataError, match=complaint):
            Qrels(["q"], ["a"], labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["1_0", "٣", "one"])
def test_scores_that_are_no_numbers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.txt"
    path.write_text(f"1e3\n\n{text}\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"line 3: expected a number, found '{text}'"):
        read_scores(path)


def test_comments_do_not_make_judgements(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"# my donn\xe9es set\n\n1 qid:1 1:2\n")
    assert isinstance(read_judged(path), Dataset)
    path.write_text("\nq 0 a 1\n")
    assert isinstance(read_judged(path), Qrels)


def test_judgements_and_runs_are_shown_briefly() -> None:
    qids, docids = np.array(["a"] * 1500 + ["b"]), np.array([f"d{at}" for at in range(1501)])
    judged = Qrels(qids, docids, np.array([0, 2, 1] * 500 + [-1]))
    assert repr(judged) == "Qrels(1,501 judgements, 2 queries, labels -1 to 2)"
    assert repr(Run(np.array(["a"]), np.array(["d"]), np.array([0.5]))) == "Run(1 result, 1 query)"
