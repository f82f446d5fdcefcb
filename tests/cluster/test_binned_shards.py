"""Workers that keep bins train the model of one process on all values, byte for byte, whatever their parts are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.shard import fit_on_shard, join_parts, make_shard
from swaprank.collective import ALONE, Collective
from swaprank.data import cuts
from swaprank.reading import block_reading, text_files
from swaprank.reading.binned_reading import bin_parts
from tests.workers import run_workers

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts from a sample, and blocks that end within queries."""
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 300)
    monkeypatch.setattr("swaprank.data.blocks.BLOCK_BYTES", 6000)
    monkeypatch.setattr(text_files, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(block_reading, "_TEXT_BYTES", 3000)


def frame(n_queries: int, seed: int, first: int) -> pd.DataFrame:
    (data,) = sr.datasets.random_search((n_queries,), n_documents=15, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.array(data.features, np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    brands = np.array(["nike", "asics", "puma", "7", None], dtype=object)
    return pd.DataFrame(X, columns=list(data.feature_names)).assign(
        brand=brands[rng.integers(0, 5, len(X))],
        qid=np.repeat([f"q{n}" for n in range(first, first + n_queries)], 15),
        label=data.labels,
        weight=np.where(np.arange(len(X)) < 60, 0, rng.uniform(0.1, 1, len(X))),
    )


TRAIN, VALI = frame(40, 0, 0), frame(13, 1, 1000)
OPTIONS = {"sample_weight": "weight"}


def dataset(of: pd.DataFrame) -> sr.Dataset:
    return sr.Dataset.from_frame(of, sample_weight="weight")


def frames(of: pd.DataFrame, n_parts: int) -> list[pd.DataFrame]:
    """Whole queries in each part; the first one has a few, and all of its weights are 0."""
    query = pd.factorize(of.qid)[0]
    part = np.where(query < 4, 0, 1 + query % (n_parts - 1))
    return [of[part == number] for number in range(n_parts)]


def in_memory(of: Sequence[pd.DataFrame], folder: Path) -> list[DataPart]:
    return list(Parts(map(weighted, of)).parts)


def weighted(of: pd.DataFrame) -> sr.Dataset:
    """All weights of a part may be 0."""
    return sr.Dataset.from_frame(of.drop(columns="weight")).replace(sample_weight=of.weight)


def in_files(of: Sequence[pd.DataFrame], folder: Path) -> list[DataPart]:
    return list(Parts.read(written(of, folder), **OPTIONS).parts)


def written(of: Sequence[pd.DataFrame], folder: Path) -> list[Path]:
    folder.mkdir()
    files = [folder / f"{number}.parquet" for number in range(len(of))]
    # An index that pandas stores.
    for file, each in zip(files, of, strict=True):
        each.to_parquet(file, row_group_size=70)
    return files


def scattered(of: Sequence[pd.DataFrame], folder: Path) -> list[DataPart]:
    """The rows of a query are not adjacent, but in the same order."""

    def shuffled(part: pd.DataFrame) -> pd.DataFrame:
        position = part.groupby("qid").cumcount()
        return part.iloc[np.argsort(position.to_numpy(), kind="stable")]

    return in_files([part if (part.weight == 0).all() else shuffled(part) for part in of], folder)


def in_bins(of: Sequence[pd.DataFrame], folder: Path) -> list[DataPart]:
    """Binned like all of the training data."""
    folder.mkdir()
    binned = dataset(TRAIN).binned()
    for number, part in enumerate(map(weighted, of)):
        part.binned(like=binned).save_bins(folder / f"{number}.bins")
    return list(Parts.read(folder).parts)


MAKERS: dict[str, Callable[[Sequence[pd.DataFrame], Path], list[DataPart]]] = {
    "in memory": in_memory,
    "files": in_files,
    "scattered": scattered,
    "bins": in_bins,
}


def saved(ranker: Any, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def lambdamart(**options: Any) -> sr.LambdaMART:
    return sr.LambdaMART("ndcg@10", n_trees=4, n_leaves=7, n_threads=1, **options)


def trained(
    train: Sequence[DataPart], valid: Sequence[DataPart], size: int, folder: Path, **options: Any
) -> set[bytes]:
    def work(collective: Collective) -> Any:
        ranker, rank = lambdamart(**options), collective.rank
        fit_on_shard(ranker, collective, make_shard(rank, size, train[rank::size], {"valid": valid}))
        return ranker

    return {saved(ranker, folder) for ranker in run_workers(work, size)}


@pytest.mark.parametrize("name", MAKERS)
def test_any_parts_and_number_of_workers_train_the_model_of_one_process(name: str, tmp_path: Path) -> None:
    expected = saved(lambdamart().fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    train = MAKERS[name](frames(TRAIN, 5), tmp_path / "train")
    for n_parts in (2, 4):
        valid = MAKERS[name](frames(VALI, n_parts), tmp_path / f"valid-{n_parts}")
        for size in (1, 2, 3, 4):
            assert trained(train, valid, size, tmp_path) == {expected}


def test_a_base_ranker_scores_values(tmp_path: Path) -> None:
    numbers = TRAIN.drop(columns="brand")
    base = sr.LinearRegressionRanker().fit(dataset(numbers.fillna(0)))
    expected = saved(lambdamart(base_ranker=base).fit(dataset(numbers), valid=dataset(VALI)), tmp_path)
    train = in_files(frames(numbers, 5), tmp_path / "train")
    valid = in_files(frames(VALI.drop(columns="brand"), 3), tmp_path / "valid")
    assert trained(train, valid, 2, tmp_path, base_ranker=base) == {expected}


def test_a_worker_keeps_bins_only(tmp_path: Path) -> None:
    for name in ("in memory", "files"):
        parts = MAKERS[name](frames(TRAIN, 5), tmp_path / name)
        data = join_parts(ALONE, parts, "train", bins=255)
        assert data.is_binned
        assert np.array_equal(np.sort(data.qids), np.sort(dataset(TRAIN).qids))


def test_one_file_of_bins_is_used_where_it_lies(tmp_path: Path) -> None:
    (part,) = in_bins([TRAIN], tmp_path / "one")
    blocks: Any = join_parts(ALONE, [part], "train", bins=255).stored
    while getattr(blocks, "blocks", blocks).base is not None:
        blocks = getattr(blocks, "blocks", blocks).base
        if isinstance(blocks, np.memmap):
            break
    assert isinstance(blocks, np.memmap)


@pytest.mark.parametrize("size", [1, 2])
def test_bins_of_different_cuts_are_refused(size: int, tmp_path: Path) -> None:
    one, two = (weighted(part).binned() for part in frames(TRAIN, 3)[1:])
    one.save_bins(tmp_path / "1.bins")
    two.save_bins(tmp_path / "2.bins")
    parts = Parts.read(tmp_path).parts

    def work(collective: Collective) -> str:
        with pytest.raises(sr.errors.DataError) as caught:
            join_parts(collective, parts[collective.rank :: size], "train", bins=255)
        return str(caught.value)

    (message,) = set(run_workers(work, size))
    assert "2.bins was binned with other cuts than" in message
    assert "swaprank bin PARTS -o FOLDER" in message
    mixed = [parts[0], *in_files([VALI], tmp_path / "values")]
    with pytest.raises(sr.errors.DataError, match=r"1\.bins has bins, but .*0\.parquet has values"):
        join_parts(ALONE, mixed, "train", bins=255)


def test_document_ids_and_weights_of_queries(tmp_path: Path) -> None:
    table = TRAIN.assign(doc=[f"d{row}" for row in range(len(TRAIN))], of_query=pd.factorize(TRAIN.qid)[0] % 3 + 1.0)
    files = written(frames(table, 4), tmp_path / "parts")
    parts = Parts.read(files, docid="doc", sample_weight="weight").parts
    joined = join_parts(ALONE, parts, "train", bins=255)
    assert joined.docid is not None
    assert sorted(joined.docid.tolist()) == sorted(table.doc)
    options = {"query_weight": "of_query", "ignore": ["weight", "doc"]}
    whole = sr.Dataset.from_frame(table, query_weight="of_query", ignore=["weight", "doc"])
    joined = join_parts(ALONE, Parts.read(files, **options).parts, "train", bins=255)
    for data in (joined, whole):
        assert data.sample_weight is not None
    assert np.array_equal(np.sort(joined.sample_weight), np.sort(whole.sample_weight))  # type: ignore[arg-type]


def test_parts_without_rows_are_no_documents(tmp_path: Path) -> None:
    files = written([TRAIN[:0], *frames(TRAIN, 4), TRAIN[:0]], tmp_path / "parts")
    joined = join_parts(ALONE, Parts.read(files, **OPTIONS).parts, "train", bins=255)
    assert len(joined) == len(TRAIN)

    def work(collective: Collective) -> str:
        with pytest.raises(sr.errors.DataError) as caught:
            join_parts(collective, Parts.read(files, **OPTIONS).parts[4 * collective.rank + 1 :][:4], "train", bins=255)
        return str(caught.value)

    (message,) = set(run_workers(work, 2))
    assert message == "train: a worker has no queries, because its parts have no documents: leave empty parts out."


def test_no_weight_above_zero_is_refused() -> None:
    parts = [DataPart(str(n), weighted(part.assign(weight=0.0))) for n, part in enumerate(frames(TRAIN, 3))]
    with pytest.raises(sr.errors.DataError, match="all weights are zero"):
        join_parts(ALONE, parts, "train", bins=255)


def test_errors_of_files_name_the_part_and_the_row(tmp_path: Path) -> None:
    bad = TRAIN.assign(label=[None if row == 311 else 1 for row in range(len(TRAIN))])
    bad.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(sr.errors.DataError, match=r"bad\.parquet: column 'label', row 311: the value is missing"):
        join_parts(ALONE, Parts.read(tmp_path, **OPTIONS).parts, "train", bins=255)


def test_parts_that_are_binned_together_train_the_model_of_values(tmp_path: Path) -> None:
    files = written([TRAIN[:0], *frames(TRAIN, 5)], tmp_path / "parts")
    made = bin_parts(files, None, 255, tmp_path / "bins", sample_weight="weight")
    assert [file.name for file in made] == [f"{number}.bins" for number in range(1, 6)]
    expected = saved(lambdamart().fit(dataset(TRAIN), valid=dataset(VALI)), tmp_path)
    valid = in_files(frames(VALI, 3), tmp_path / "valid")
    assert trained(Parts.read(tmp_path / "bins").parts, valid, 2, tmp_path) == {expected}
    with pytest.raises(sr.errors.DataError, match="is there already, and is no empty folder"):
        bin_parts(files, None, 255, tmp_path / "bins", sample_weight="weight")
