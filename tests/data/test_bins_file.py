"""Files of bins: what is written is read, and a damaged file is an error."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.data.binned_features import BinnedFeatures
from swaprank.data.bins_file import read_bins
from swaprank.data.bins_writing import BINS
from swaprank.model_files.container import HEAD


def binned(**options: Any) -> sr.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)).astype(np.float32)
    X[:, 3] = rng.integers(0, 300, 60)
    X[rng.random(X.shape) < 0.1] = np.nan
    return sr.Dataset(X, rng.random(60), categorical_features=[3], **{"qid": np.arange(60) // 6, **options}).binned()


def check_equal(a: sr.Dataset, b: sr.Dataset) -> None:
    for name in ("labels", "qids", "indptr", "order", "sample_weight", "base_score", "docid"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    assert (a.feature_names, a.categories, repr(a)) == (b.feature_names, b.categories, repr(b))
    assert (a.pairs is None) == (b.pairs is None)
    for mine, other in zip(a.pairs or (), b.pairs or (), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert isinstance(a.stored, BinnedFeatures)
    assert isinstance(b.stored, BinnedFeatures)
    for name in ("blocks", "has_missing", "categorical", "codes"):
        np.testing.assert_array_equal(getattr(a.stored, name), getattr(b.stored, name), name)
    np.testing.assert_array_equal(a.stored.cuts.values, b.stored.cuts.values)
    np.testing.assert_array_equal(a.stored.cuts.n_bins, b.stored.cuts.n_bins)
    assert a.stored.cuts.max_bins == b.stored.cuts.max_bins


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "text ids": {"qid": [f"ä{k // 6}" for k in range(60)], "docid": [f"d{k}" for k in range(60)]},
    "huge ids": {"qid": [10**30 + k // 6 for k in range(60)]},
    "scattered": {"qid": np.arange(60) % 7},
    "weights": {"sample_weight": np.arange(60.0), "base_score": np.linspace(-1, 1, 60)},
    "pairs": {"pairs": [(0, 1, 0.25, 1), (7, 6, 1, 2.5)]},
}


@pytest.mark.parametrize("name", list(CASES))
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    data = binned(**CASES[name])
    data.save_bins(tmp_path / "a.bins")
    again = sr.read(tmp_path / "a.bins")
    if name == "huge ids":
        assert again.qids.tolist() == [str(each) for each in data.qids.tolist()]
    else:
        check_equal(again, data)
    again.save_bins(tmp_path / "b.bins")
    assert (tmp_path / "b.bins").read_bytes() == (tmp_path / "a.bins").read_bytes()
    check_equal(read_bins(tmp_path / "a.bins", check=True), again)
    check_equal(pickle.loads(pickle.dumps(again)), again)
    check_equal(again.subset(slice(None)), again)


def test_parts_of_binned_data_have_the_bins_of_their_rows() -> None:
    data = binned()
    assert isinstance(data.stored, BinnedFeatures)
    for queries, rows in (([1, 4], np.r_[6:12, 24:30]), (slice(2, 4), np.r_[12:24])):
        part = data.subset(queries)
        assert isinstance(part.stored, BinnedFeatures)
        np.testing.assert_array_equal(part.stored.blocks, data.stored.blocks[:, rows])
        np.testing.assert_array_equal(part.stored.codes, data.stored.codes[:, rows])
        np.testing.assert_array_equal(part.stored.has_missing, (part.stored.blocks == 0).any(axis=1).reshape(-1)[:20])
        np.testing.assert_array_equal(part.column(3), data.column(3)[rows])
    assert [each.is_binned for each in data.split((0.5, 0.5), random_state=0)] == [True, True]


def test_every_changed_byte_is_found_by_the_checksums(tmp_path: Path) -> None:
    binned().save_bins(tmp_path / "a.bins")
    content = (tmp_path / "a.bins").read_bytes()
    _, _, _, start, _, _ = HEAD.unpack(content[: HEAD.size])
    used = [each["start"] for each in json.loads(content[start:])["arrays"]]
    for at in (0, 20, 30, 70, start + 5, len(content) - 1, *used):
        damaged = bytearray(content)
        damaged[at] ^= 64
        (tmp_path / "b.bins").write_bytes(damaged)
        with pytest.raises(sr.errors.DataError, match=r"b\.bins: "):
            read_bins(tmp_path / "b.bins", check=True)
    for size in (0, 3, len(BINS.magic), HEAD.size, 200, len(content) - 1):
        (tmp_path / "b.bins").write_bytes(content[:size])
        with pytest.raises(sr.errors.DataError, match=r"truncated|not a file of bins"):
            sr.read(tmp_path / "b.bins")


def rewritten(content: bytes, change: Any) -> bytes:
    """The file with a changed header, and the right checksum of it."""
    _, version, _, start, _, _ = HEAD.unpack(content[: HEAD.size])
    header = json.loads(content[start:])
    change(header)
    text = json.dumps(header).encode()
    head = HEAD.pack(BINS.magic, version, start + len(text), start, len(text), hashlib.sha256(text).digest())
    return head + content[HEAD.size : start] + text


def array(header: Any, name: str) -> Any:
    return next(each for each in header["arrays"] if each["name"] == name)


CHANGES: dict[str, Any] = {
    "names": lambda h: h["meta"]["feature_names"].append("x"),
    "twice": lambda h: h["meta"].update(feature_names=["x"] * 20),
    "categories": lambda h: h["meta"].update(categories={"nobody": ["a"]}),
    "few categories": lambda h: h["meta"]["categories"].update({"4": ["1"]}),
    "max_bins": lambda h: h["meta"].update(max_bins=3),
    "no arrays": lambda h: h.pop("arrays"),
    "missing": lambda h: h["arrays"].remove(array(h, "cuts")),
    "outside": lambda h: array(h, "labels").update(start=64 * 10**9),
    "negative": lambda h: array(h, "labels").update(start=-64),
    "rows": lambda h: array(h, "blocks").update(shape=[2, 59, 16]),
    "huge": lambda h: array(h, "blocks").update(shape=[2**40, 2**40, 16]),
    "labels": lambda h: array(h, "labels").update(dtype="float32"),
    "type": lambda h: array(h, "n_bins").update(dtype="float64"),
    "indptr": lambda h: array(h, "indptr").update(start=array(h, "n_bins")["start"]),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_a_header_that_does_not_fit_is_refused(name: str, tmp_path: Path) -> None:
    binned().save_bins(tmp_path / "a.bins")
    (tmp_path / "a.bins").write_bytes(rewritten((tmp_path / "a.bins").read_bytes(), CHANGES[name]))
    with pytest.raises(sr.errors.DataError, match=r"a\.bins: "):
        sr.read(tmp_path / "a.bins")


def test_bins_beyond_the_cuts_are_refused(tmp_path: Path) -> None:
    data = sr.Dataset(np.arange(12.0).reshape(6, 2) % 3, np.arange(6), qid=[1] * 6).binned()
    data.save_bins(tmp_path / "a.bins")
    content = bytearray((tmp_path / "a.bins").read_bytes())
    content[128] = 200
    (tmp_path / "a.bins").write_bytes(content)
    with pytest.raises(sr.errors.DataError, match="feature '1' has bins beyond its last cut"):
        sr.read(tmp_path / "a.bins")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    data = binned()
    for bad in ("a.bins.gz", "/dev/null"):
        with pytest.raises(sr.errors.DataError, match="not compressed"):
            data.save_bins(tmp_path / bad)
    with pytest.raises(sr.errors.DataError, match=r"call binned\(\) first"):
        sr.Dataset([[1.0]], [1], qid=[1]).save_bins(tmp_path / "a.bins")
    data.save_bins(tmp_path / "a.bins")
    with pytest.raises(sr.errors.DataError, match="holds bins: label, features cannot be given"):
        sr.read(tmp_path / "a.bins", label="y", features=["x"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.bins"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    data = binned()
    data.save_bins(tmp_path / "a.bins")
    content = (tmp_path / "a.bins").read_bytes()

    class Broken:
        n_calls = 0

        def __iter__(self) -> Any:
            self.n_calls += 1
            yield sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
            if self.n_calls == 2:
                yield sr.Dataset([[1.0]], [1], qid=[2])

    with pytest.raises(sr.errors.DataError, match="has changed between two readings"):
        sr.data.bin_blocks(Broken(), path=tmp_path / "a.bins")
    assert (tmp_path / "a.bins").read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_blocks_that_do_not_fit_together_are_refused() -> None:
    one = sr.Dataset([[1.0, 2.0]], [1], qid=[1], feature_names=["a", "b"])
    with pytest.raises(sr.errors.DataError, match="other features than the blocks before"):
        sr.data.bin_blocks([one, sr.Dataset([[1.0, 2.0]], [1], qid=[2], feature_names=["b", "a"])])
    with pytest.raises(sr.errors.DataError, match="feature 'b' holds categories in one block and numbers in another"):
        sr.data.bin_blocks(
            [one, sr.Dataset([[1, 2]], [1], qid=[2], feature_names=["a", "b"], categorical_features=["b"])]
        )
    with pytest.raises(sr.errors.DataError, match="some blocks have sample_weight, and some have none"):
        sr.data.bin_blocks([one, sr.Dataset([[1.0, 2.0]], [1], qid=[2], feature_names=["a", "b"], sample_weight=[1])])
    with pytest.raises(sr.errors.DataError, match="gone through twice"):
        sr.data.bin_blocks(iter([one]))
    with pytest.raises(sr.errors.DataError, match="there are no blocks"):
        sr.data.bin_blocks([])
    with pytest.raises(sr.errors.DataError, match="block 0 must be a Dataset, found int"):
        sr.data.bin_blocks([7])  # type: ignore[list-item]
