"""Files that are read in blocks have the bins of the same data in memory, whatever the blocks and files."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import swaprank as sr
from swaprank.cluster.gathering import gathered
from swaprank.data import block_binning, cuts
from swaprank.data.binned_features import BinnedFeatures
from swaprank.reading import binned_reading, block_reading, text_files
from swaprank.reading.binned_reading import bin_parts
from tests.interruption import pressed_at_call

pytestmark = pytest.mark.slow

N_ROWS = 600
QID = np.repeat(np.arange(100, 160), 10)


@pytest.fixture(autouse=True, params=["small blocks", "one block"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Cuts from a sample, and blocks that end within queries."""
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 150)
    if request.param == "small blocks":
        monkeypatch.setattr("swaprank.data.blocks.BLOCK_BYTES", 6000)
        monkeypatch.setattr(text_files, "_BLOCK_BYTES", 3000)
        monkeypatch.setattr(block_reading, "_TEXT_BYTES", 3000)
    return request.param


def numbers(n_features: int = 20) -> sr.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, n_features)).astype(np.float32)
    X[:, 3] = rng.integers(0, 4, N_ROWS)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 5] = np.abs(np.nan_to_num(X[:, 5]))
    return sr.Dataset(X, rng.integers(0, 3, N_ROWS), qid=QID)


def frame(*, text_ids: bool = False) -> polars.DataFrame:
    data, rng = numbers(), np.random.default_rng(1)
    columns: dict[str, Any] = {f"f{k}": data.features[:, k] for k in range(data.n_features)}
    brands = np.array(["nike", "puma", "asics", None, "äß"], dtype=object)[rng.integers(0, 5, N_ROWS)]
    brands[-3:] = "new at the end", "Ω", None
    qid = [f"q{each}" for each in QID] if text_ids else QID
    weight = np.where(np.arange(N_ROWS) < 100, 0.0, rng.random(N_ROWS))
    return polars.DataFrame(
        {"qid": qid, "label": data.labels, **columns, "brand": brands.tolist(), "w": weight}
    ).with_columns(polars.selectors.float().fill_nan(None))


def check_same(binned: sr.Dataset, whole: sr.Dataset, max_bins: int = 255) -> None:
    expected = whole.binned(max_bins=max_bins)
    assert isinstance(binned.stored, BinnedFeatures)
    assert isinstance(expected.stored, BinnedFeatures)
    np.testing.assert_array_equal(binned.stored.cuts.values, expected.stored.cuts.values)
    np.testing.assert_array_equal(binned.stored.cuts.n_bins, expected.stored.cuts.n_bins)
    np.testing.assert_array_equal(binned.stored.blocks, expected.stored.blocks)
    np.testing.assert_array_equal(binned.stored.has_missing, expected.stored.has_missing)
    np.testing.assert_array_equal(binned.stored.codes, expected.stored.codes)
    np.testing.assert_array_equal(binned.labels, whole.labels)
    np.testing.assert_array_equal(binned.indptr, whole.indptr)
    np.testing.assert_array_equal(binned.qids, whole.qids)
    assert binned.qids.dtype.kind == whole.qids.dtype.kind
    assert (binned.feature_names, binned.categories) == (whole.feature_names, whole.categories)
    assert (binned.sample_weight is None) == (whole.sample_weight is None)
    if whole.sample_weight is not None:
        np.testing.assert_array_equal(binned.sample_weight, whole.sample_weight)


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "letor.xz", "svm.zst"])
def test_letor_text(tmp_path: Path, ending: str) -> None:
    sr.write_letor(numbers(), tmp_path / f"train.{ending}")
    whole = sr.read(tmp_path / f"train.{ending}")
    check_same(sr.read(tmp_path / f"train.{ending}", binned=True), whole)
    check_same(sr.read(tmp_path / f"train.{ending}", binned=True, max_bins=16, n_threads=1), whole, 16)


def test_sparse_text_with_few_features_at_first_and_feature_0_at_last(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for row in range(N_ROWS):
        widest = 3 + row // 20
        chosen = rng.choice(np.arange(1, widest), 2, replace=False)
        lines.append(f"{row % 3} qid:{QID[row]} " + " ".join(f"{f}:{rng.normal():.4g}" for f in chosen))
    path = tmp_path / "sparse.txt"
    path.write_text("\n".join(lines) + "\n")
    check_same(sr.read(path, binned=True), sr.read(path))
    check_same(sr.read(path, binned=True, absent=np.nan, n_features=50), sr.read(path, absent=np.nan, n_features=50))
    path.write_text("\n".join(lines) + "\n1 qid:x 0:5\n")
    whole = sr.read(path)
    assert whole.feature_names[0] == "0"
    check_same(sr.read(path, binned=True), whole)


def test_categories_in_text(tmp_path: Path) -> None:
    path = tmp_path / "shops.txt"
    path.write_text("".join(f"{row % 2} qid:{row // 10} 1:{row} 4:{row % 37 * 7}\n" for row in range(N_ROWS)))
    check_same(sr.read(path, binned=True, categorical_features=["4"]), sr.read(path, categorical_features=["4"]))


@pytest.mark.parametrize("with_qid", [True, False])
def test_group_sizes_beside_the_text(tmp_path: Path, with_qid: bool) -> None:
    path = tmp_path / "rank.train"
    sizes = [10] * 60
    path.write_text(
        "".join(f"{row % 2} " + f"qid:{row // 10} " * with_qid + f"1:{row * 7 % 600} 2:1\n" for row in range(N_ROWS))
    )
    sizes_file = path.with_name("rank.train.query")
    sizes_file.write_text("".join(f"{size}\n" for size in sizes))
    check_same(sr.read(path, binned=True), sr.read(path))
    sizes_file.write_text("".join(f"{size}\n" for size in sizes[1:]))
    with pytest.raises(sr.errors.DataError, match=r"sum to 590"):
        sr.read(path, binned=True)
    if with_qid:
        sizes_file.write_text("".join(f"{size}\n" for size in [9, 11, *sizes[2:]]))
        with pytest.raises(sr.errors.DataError, match=r"documents 9 and 10 belong to one query by their ids"):
            sr.read(path, binned=True)


@pytest.mark.parametrize("text_ids", [False, True])
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
def test_tables(tmp_path: Path, ending: str, text_ids: bool) -> None:
    path, table = tmp_path / f"train.{ending}", frame(text_ids=text_ids)
    write(table, path)
    options: dict[str, Any] = {"sample_weight": "w", "categorical_features": ["brand", "f3"], "ignore": ["f7"]}
    check_same(sr.read(path, binned=True, **options), sr.read(path, **options))


def write(table: polars.DataFrame, path: Path) -> None:
    match path.suffix:
        case ".parquet":
            table.write_parquet(path, row_group_size=170)
        case ".arrow":
            table.write_ipc(path, record_batch_size=170)
        case ".gz":
            path.write_bytes(gzip.compress(table.write_csv().encode()))
        case _:
            table.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_document_ids_are_kept(tmp_path: Path, ending: str) -> None:
    path, ids = tmp_path / f"train.{ending}", [f"d{row}" for row in range(N_ROWS)]
    write(frame().drop("brand").with_columns(doc=polars.Series(ids)), path)
    found = sr.read(path, binned=True, docid="doc").docid
    assert found is not None
    assert found.tolist() == ids


def test_document_ids_of_text_are_kept_as_by_reading_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    lines = [
        f"{row % 3} qid:{row // 10} 1:{row * 7 % 600}" + f" #docid = d{row}" * (row > 290) for row in range(N_ROWS)
    ]
    path.write_text("\n".join(lines) + "\n")
    whole, binned = sr.read(path), sr.read(path, binned=True)
    check_same(binned, whole)
    assert whole.docid is not None
    assert binned.docid is not None
    assert binned.docid.tolist() == whole.docid.tolist()


def test_parts_without_rows_are_no_documents(tmp_path: Path) -> None:
    table = frame()
    for number, part in enumerate((table[:0], table[:300], table[300:], table[:0])):
        write(part, tmp_path / f"{number}.parquet")
    write(table, tmp_path / "whole.parquet")
    files = [tmp_path / f"{number}.parquet" for number in range(4)]
    check_same(sr.read(files, binned=True), sr.read(tmp_path / "whole.parquet"))
    with pytest.raises(sr.errors.DataError, match=r"0\.parquet: it has no documents"):
        sr.read(files[:1], binned=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_errors_name_the_file_and_the_row(tmp_path: Path, ending: str) -> None:
    labels = [None if row == 411 else row % 3 for row in range(N_ROWS)]
    path = tmp_path / f"train.{ending}"
    write(frame().drop("brand").with_columns(label=polars.Series(labels)), path)
    place = "line 413" if ending == "csv" else "row 411"
    for binned in (False, True):
        with pytest.raises(
            sr.errors.DataError, match=rf"train\.{ending}: column 'label', {place}: the value is missing"
        ):
            sr.read(path, binned=binned)


@pytest.mark.parametrize("binned", [False, True])
def test_the_index_of_pandas_is_no_feature(tmp_path: Path, binned: bool) -> None:
    table = frame().drop("brand").to_pandas()
    table.set_index(np.arange(N_ROWS)[::-1] * 3).to_parquet(tmp_path / "unnamed.parquet")
    table.set_index("qid").to_parquet(tmp_path / "query.parquet")
    table.set_index(["f3", "f4"]).to_parquet(tmp_path / "features.parquet")
    names = tuple(f"f{k}" for k in range(20))
    assert sr.read(tmp_path / "unnamed.parquet", binned=binned, ignore=["w"]).feature_names == names
    assert sr.read(tmp_path / "query.parquet", binned=binned, ignore=["w"]).feature_names == names
    rest = sr.read(tmp_path / "features.parquet", binned=binned, sample_weight="w")
    assert rest.feature_names == (*names[:3], *names[5:])
    chosen = sr.read(tmp_path / "features.parquet", binned=binned, features=["f3", "f7"])
    assert chosen.feature_names == ("f3", "f7")


def test_text_in_quotes_may_have_line_ends(tmp_path: Path) -> None:
    table = frame().with_columns(brand=polars.Series(["two\nlines", 'a "word"', "one, line"] * 200))
    table.write_csv(tmp_path / "train.csv")
    options: dict[str, Any] = {"categorical_features": ["brand"]}
    check_same(sr.read(tmp_path / "train.csv", binned=True, **options), sr.read(tmp_path / "train.csv", **options))


@pytest.mark.parametrize("ending", ["txt", "parquet"])
@pytest.mark.parametrize("n_parts", [2, 7])
def test_a_folder_of_parts(tmp_path: Path, ending: str, n_parts: int) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.crc").touch()
    whole_file, data, table = tmp_path / f"whole.{ending}", numbers(), frame()
    cut = np.linspace(0, 60, n_parts + 1).astype(int)
    if ending == "txt":
        sr.write_letor(data, whole_file)
    else:
        write(table, whole_file)
    files = []
    for part, (a, b) in enumerate(zip(cut[:-1], cut[1:], strict=True)):
        files.append(folder / f"part-{part}.{ending}")
        if ending == "txt":
            sr.write_letor(data.subset(slice(a, b)), files[-1])
        else:
            write(table[10 * a : 10 * b], files[-1])
    check_same(sr.read(folder, binned=True), sr.read(whole_file))
    check_same(sr.read(files, binned=True), sr.read(whole_file))
    with pytest.raises(sr.errors.DataError, match="binned=True"):
        sr.read(files)
    write(table[:10], folder / "zz.parquet")
    if ending == "txt":
        with pytest.raises(sr.errors.DataError, match="text and a table"):
            sr.read(folder, binned=True)


def test_validation_files_have_the_cuts_and_categories_of_the_training_data(tmp_path: Path) -> None:
    write(frame()[:400], tmp_path / "train.parquet")
    write(
        frame()[400:].select("label", "brand", "qid", *[f"f{k}" for k in reversed(range(20))], "w"),
        tmp_path / "vali.parquet",
    )
    train = sr.read(tmp_path / "train.parquet", binned=True)
    vali = sr.read(tmp_path / "vali.parquet", binned=train)
    assert "new at the end" not in vali.categories["brand"]
    whole = sr.read(tmp_path / "vali.parquet").with_features(train.feature_names, categories=train.categories)
    expected = whole.binned(like=train)
    assert isinstance(vali.stored, BinnedFeatures)
    assert isinstance(expected.stored, BinnedFeatures)
    np.testing.assert_array_equal(vali.stored.blocks, expected.stored.blocks)
    np.testing.assert_array_equal(vali.stored.codes, expected.stored.codes)
    sr.write_letor(numbers(30), tmp_path / "other.txt")
    with pytest.raises(sr.errors.DataError):
        sr.read(tmp_path / "other.txt", binned=train)
    with pytest.raises(sr.errors.DataError, match="cuts are taken from a binned data set"):
        sr.read(tmp_path / "vali.parquet", binned=whole)


def test_queries_that_come_back_are_refused(tmp_path: Path) -> None:
    lines = [f"0 qid:{row // 10} 1:{row}\n" for row in range(300)]
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("".join(lines) + "0 qid:3 1:1\n")
    with pytest.raises(
        sr.errors.DataError, match=r"query '3' is in .*a\.txt at document 31, and again.*document 301: .*sort"
    ):
        sr.read(a, binned=True)
    a.write_text("".join(lines))
    b.write_text("0 qid:700 1:1\n0 qid:29 1:1\n")
    with pytest.raises(
        sr.errors.DataError, match=r"query '29' is in .*a\.txt at document 291, and in .*b\.txt at document 2: "
    ):
        sr.read([a, b], binned=True)
    b.write_text("0 qid:29 1:1\n")
    with pytest.raises(
        sr.errors.DataError, match=r"query '29' is in .*a\.txt at document 291, and in .*b\.txt at document 1: "
    ):
        sr.read([a, b], binned=True)


def test_what_cannot_be_binned_is_said(tmp_path: Path) -> None:
    write(frame(), tmp_path / "train.parquet")
    with pytest.raises(sr.errors.DataError, match="max_bins must be a whole number from 2 to 255"):
        sr.read(tmp_path / "train.parquet", binned=True, max_bins=256)
    with pytest.raises(sr.errors.DataError, match="is given twice"):
        sr.read([tmp_path / "train.parquet"] * 2, binned=True)
    with pytest.raises(sr.errors.DataError, match="the list is empty"):
        sr.read([], binned=True)
    bad = frame().with_columns(f4=polars.when(polars.col("f0").is_null()).then(None).otherwise(float("inf")))
    write(bad, tmp_path / "bad.parquet")
    with pytest.raises(sr.errors.DataError, match=r"bad\.parquet.*not finite"):
        sr.read(tmp_path / "bad.parquet", binned=True)
    (tmp_path / "bad.parquet").write_bytes((tmp_path / "train.parquet").read_bytes()[:-50])
    with pytest.raises(sr.errors.DataError, match=r"bad\.parquet cannot be read"):
        sr.read(tmp_path / "bad.parquet", binned=True)


def test_folders_with_other_files_are_refused_by_all(tmp_path: Path) -> None:
    write(frame(), tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert len(sr.Parts.read(tmp_path)) == 1
    (tmp_path / "notes.doc").touch()
    for reading in (sr.Parts.read, lambda folder: sr.read(folder, binned=True)):
        with pytest.raises(
            sr.errors.DataError, match=r"notes\.doc: the ending '\.doc' is unknown; parts of a data set"
        ):
            reading(tmp_path)


@pytest.mark.parametrize("ending", [".txt", ".csv"])
def test_empty_parts_are_left_out_compressed_or_not(tmp_path: Path, ending: str) -> None:
    text = "1 qid:1 1:3\n0 qid:1 1:2\n" if ending == ".txt" else "label,qid,a\n1,1,3\n0,1,2\n"
    (tmp_path / f"0{ending}").write_text(text)
    for name, content in (("1", b""), ("2.gz", gzip.compress(b""))):
        file = tmp_path / f"{name[0]}{ending}{name[1:]}"
        file.write_bytes(content)
        with pytest.raises(sr.errors.DataError, match=r"has no documents|is empty"):
            sr.read(file)
    assert len(sr.read(tmp_path, binned=True)) == 2
    binned, unbinned = bin_parts(tmp_path, None, 255, tmp_path / "bins"), sr.Parts.read(tmp_path)
    assert [file.name for file in binned] == ["0.bins"]
    assert len(gathered(unbinned)) == 2


def test_an_interrupted_folder_of_bins_has_no_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts").mkdir()
    for part in range(3):
        (tmp_path / "parts" / f"{part}.txt").write_text(f"1 qid:{part} 1:3\n0 qid:{part} 1:2\n")
    with monkeypatch.context() as patch:
        patch.setattr(binned_reading, "bin_source", pressed_at_call(3, block_binning.bin_source))
        with pytest.raises(KeyboardInterrupt):
            bin_parts(tmp_path / "parts", None, 255, tmp_path / "bins")
    assert list((tmp_path / "bins").iterdir()) == []
    assert len(bin_parts(tmp_path / "parts", None, 255, tmp_path / "bins")) == 3
    assert sorted(file.name for file in (tmp_path / "bins").iterdir()) == ["0.bins", "1.bins", "2.bins"]
