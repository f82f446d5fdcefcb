"""Rows as Arrow batches become parts of whole queries, whatever the engine."""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import swaprank as sr
from swaprank.cluster import arrow_rows
from swaprank.cluster.arrow_rows import (
    KeptPart,
    RowColumns,
    chosen_columns,
    dataset_of,
    evened,
    matrix_of,
    whole_queries,
)
from swaprank.collective import ALONE, Collective
from tests.workers import run_workers

COLUMNS = RowColumns(("x",), is_vector=False, label="y", qid="q", roles={})


def batches(sets: Sequence[Sequence[int]], size: int) -> list[Any]:
    """Batches of so many rows, given the sizes of the queries of each set."""
    rows = [
        (number, f"{number}-{query}")
        for number, own in enumerate(sets)
        for query, n in enumerate(own)
        for _ in range(n)
    ]
    table = pa.table({"set": [row[0] for row in rows], "q": [row[1] for row in rows], "y": [0] * len(rows)})
    table = table.append_column("x", pa.array(np.arange(float(len(rows)))))
    found: list[Any] = table.to_batches(max_chunksize=size)
    return found


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("part_rows", [1, 4, 1000])
def test_parts_are_cut_between_queries_and_sets(
    size: int, part_rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(arrow_rows, "_PART_ROWS", part_rows)
    sizes = [[3, 1, 6, 2], [4, 4], [1]]
    found = whole_queries(batches(sizes, size), "set", [COLUMNS] * 3, "here", tmp_path)
    rows = []
    for number, parts in enumerate(found):
        queries = [qid for part in parts for qid in part().qids.tolist()]
        assert queries == [f"{number}-{query}" for query in range(len(sizes[number]))]
        assert [n for part in parts for n in np.diff(part().indptr).tolist()] == sizes[number]
        rows += [row for part in parts for row in part().features[:, 0].tolist()]
    assert rows == list(range(21))
    assert len(found[0]) > 1 or part_rows == 1000 or size == 100


def test_no_rows_are_no_parts(tmp_path: Path) -> None:
    assert whole_queries([], "set", [COLUMNS] * 2, "here", tmp_path) == [[], []]
    assert whole_queries([batches([[2]], 2)[0].slice(0, 0)], "set", [COLUMNS], "here", tmp_path) == [[]]


def kept(data: sr.Dataset | None, file: Path) -> list[KeptPart]:
    if data is None:
        return []
    file.write_bytes(pickle.dumps(data))
    return [KeptPart(file, data.n_queries)]


def test_workers_without_a_query_get_some_of_the_others(tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((5,), n_features=2, random_state=0)
    other = sr.datasets.random_net((6,), n_features=2, random_state=1)[0]

    def work(collective: Collective) -> dict[str, list[Any]]:
        few = [data.subset([0, 1, 2]), data.subset([3, 4]), None][collective.rank]
        many = other.subset(slice(collective.rank, None, 3))
        folder = tmp_path / str(collective.rank)
        folder.mkdir()
        sets = {"few": kept(few, folder / "few"), "many": kept(many, folder / "many")}
        return {name: [part.value for part in parts] for name, parts in evened(collective, sets, "here").items()}

    found = run_workers(work, 3)
    assert [[part().qids.tolist() for part in each["many"]] for each in found] == [
        [other.qids[n::3].tolist()] for n in range(3)
    ]
    few = [qid for each in found for part in each["few"] for qid in part.qids.tolist()]
    assert sorted(few) == sorted(data.qids.tolist())
    assert all(each["few"] for each in found)


def test_fewer_queries_than_workers_are_an_error_of_all(tmp_path: Path) -> None:
    data = sr.datasets.random_net((2,), n_features=2, random_state=0)[0]

    def work(collective: Collective) -> str:
        parts = kept(data, tmp_path / "part") if collective.rank == 1 else []
        with pytest.raises(sr.errors.DataError) as raised:
            evened(collective, {"the set 'valid'": parts}, "here")
        return str(raised.value)

    text = "the set 'valid' has 2 queries for 3 workers, each of which needs one: take more queries, or n_workers=2."
    assert run_workers(work, 3) == [text] * 3
    with pytest.raises(sr.errors.DataError, match="the training data has no documents"):
        evened(ALONE, {"the training data": []}, "here")


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([[[1.0, None], [3.0, 4.0]], [[5.0, 6.0]]]),
        pa.chunked_array([pa.array([[1, None], [3, 4], [5, 6]], pa.list_(pa.int64(), 2))]),
        pa.chunked_array(
            [pa.array([[0.0, 0.0], [1.0, None], [3.0, 4.0], [5.0, 6.0]], pa.large_list(pa.float32())).slice(1)]
        ),
    ],
    ids=["chunks", "fixed size", "slice"],
)
def test_vectors_become_a_matrix(column: Any) -> None:
    np.testing.assert_array_equal(matrix_of(column, "v"), [[1, np.nan], [3, 4], [5, 6]])


def test_bad_vectors_are_named() -> None:
    with pytest.raises(sr.errors.DataError, match="column 'v' has vectors of 1 and of 2 numbers"):
        matrix_of(pa.chunked_array([[[1.0], [1.0, 2.0]]]), "v")
    with pytest.raises(sr.errors.DataError, match="column 'v' has rows without a vector"):
        matrix_of(pa.chunked_array([[[1.0], None]]), "v")
    with pytest.raises(
        sr.errors.DataError, match="column 'v' holds vectors: let it have all features, features='v', or"
    ):
        chosen_columns(["q", "y", "v", "x"], ["v"], "y", "q")
    assert chosen_columns(["q", "y", "v", "x"], ["v"], "y", "q", "v").is_vector
    assert chosen_columns(["q", "y", "features", "x"], ["features"], "y", "q").features == ("features",)


def test_what_is_wrong_with_columns_is_said_before_anything_starts() -> None:
    with pytest.raises(sr.errors.DataError, match="there is no column 'click'; did you mean 'clicks'"):
        chosen_columns(["q", "clicks", "x"], [], "click", "q")
    with pytest.raises(sr.errors.DataError, match="column 'y' is given as label and as sample_weight"):
        chosen_columns(["q", "y", "x"], [], "y", "q", sample_weight="y")
    with pytest.raises(sr.errors.DataError, match="no feature columns besides y, q"):
        chosen_columns(["q", "y"], [], "y", "q")
    table = pa.table({"q": [1, 1], "y": [0, None], "x": [1.0, 2.0]})
    with pytest.raises(sr.errors.DataError, match="here: column 'y' has rows without a value: leave them out"):
        dataset_of(table, COLUMNS, "here")
    with pytest.raises(sr.errors.DataError, match=r"here: .*inf"):
        dataset_of(pa.table({"q": [1], "y": [0], "x": [np.inf]}), COLUMNS, "here")


def test_all_roles_of_columns_arrive() -> None:
    rows = pd.DataFrame({"q": [1, 1, 2], "y": [0, 1, 1], "x": [1.0, 2.0, 3.0], "n": [4, 5, 4]})
    rows = rows.assign(w=[1.0, 2.0, 1.0], s=[0.1, 0.2, 0.3], d=["a", "b", "c"], t=[2.0, 2.0, 3.0], price=[7, 8, 9])
    roles = {"sample_weight": "w", "base_score": "s", "docid": "d", "query_weight": "t"}
    columns = RowColumns(("x", "n"), False, "y", "q", roles, ("price",), ("n",))
    found = dataset_of(pa.Table.from_pandas(rows), columns, "here")
    assert found.categories == {"n": ("4", "5")}
    assert found.sample_weight is not None
    assert found.base_score is not None
    assert found.docid is not None
    assert found.sample_weight.tolist() == [2, 4, 3]
    assert found.base_score.tolist() == [0.1, 0.2, 0.3]
    assert found.docid.tolist() == ["a", "b", "c"]
    assert found.columns["price"].tolist() == [7, 8, 9]


def test_spark_and_ray_are_imported_when_they_are_used() -> None:
    code = "import sys, swaprank.spark, swaprank.ray; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pyspark", "ray", "pyarrow", "pandas"} & set(loaded)
