"""Write a data set as LETOR text, without loss of precision."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Ints, read_only
from swaprank.data.categories import looked_up
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.data.ids import id_text
from swaprank.data.precision import FIRST_INEXACT
from swaprank.errors import DataError
from swaprank.files import replacing
from swaprank.threads import run_in_threads, thread_count

_BATCH_BYTES = 8 << 20


class _Lines(NamedTuple):
    """The parts of lines other than features, in the order of the kernel's arguments."""

    label_codes: Ints
    labels: Bytes
    label_offsets: Ints
    query_codes: Ints
    qids: Bytes
    qid_offsets: Ints
    docids: Bytes
    docid_offsets: Ints

    def most_bytes(self) -> int:
        """The length of the longest line without its features."""
        offsets = (self.label_offsets, self.qid_offsets, self.docid_offsets)
        return 1 + sum(int(np.diff(each).max(initial=0)) for each in offsets)


def write_letor(
    data: Dataset, path: str | os.PathLike[str], *, sparse: bool = False, n_threads: int | None = None
) -> None:
    """Write a data set as LETOR text, compressed if the path ends in .gz, .xz or .zst.

    The file has features, labels, query ids and document ids, without loss: every float32 is written with the fewest
    digits that restore it. Feature names are replaced by numbers from 1. Categories must be whole numbers, which are
    written; sample_weight, base_score and pairs are not written. Rows keep their order. The file appears only when it
    is complete.

    Args:
        data: The data set. Its query ids and document ids must not contain blanks or '#'.
        path: The file, replaced if it exists.
        sparse: Omit zeros.
        n_threads: The number of threads. The default is all cores.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> sr.write_letor(sr.Dataset([[0.1, 0], [3, float("nan")]], [0, 2.5], qid=["a", "b"], docid=["x", "y"]), path)
    >>> print(path.read_text(), end="")
    0 qid:a 1:0.1 2:0 #docid = x
    2.5 qid:b 1:3 2:nan #docid = y
    """
    from swaprank.reading.writing_kernel import PAIR_BYTES

    lines, features = _lines(data), _values(data)
    row_bytes = PAIR_BYTES * data.n_features + lines.most_bytes()
    batch = max(1, _BATCH_BYTES // row_bytes)
    threads = thread_count(n_threads)
    with replacing(path) as stream:
        buffers = [np.empty(batch * row_bytes, np.uint8) for _ in range(min(threads, -(-len(data) // batch)))]
        for start in range(0, len(data), batch * len(buffers)):
            starts = range(start, min(start + batch * len(buffers), len(data)), batch)
            jobs = [
                (features, sparse, lines, first, min(first + batch, len(data)), buffer)
                for first, buffer in zip(starts, buffers, strict=False)
            ]
            for written in run_in_threads(_write_batch, jobs):
                stream.write(written)


def _values(data: Dataset) -> Features:
    """The features, with the values of categories that are whole numbers instead of their codes."""
    if not data.categories:
        return data.features
    features = np.array(data.features)
    for name, categories in data.categories.items():
        for text in categories:
            if not re.fullmatch(r"0|-?[1-9]\d*", text) or abs(int(text)) > int(FIRST_INEXACT):
                raise DataError(
                    f"the feature '{name}' has the category '{text[:40]}', which LETOR text cannot hold: leave the "
                    "feature out, with_features([…]), or number its categories."
                )
        f = data.feature_names.index(name)
        features[:, f] = looked_up(features[:, f], [int(text) for text in categories])
    return read_only(features)


def _write_batch(features: Features, sparse: bool, lines: _Lines, start: int, stop: int, out: Bytes) -> memoryview:
    from swaprank.reading.writing_kernel import COLUMN, N_SLOTS, ROW, WRITTEN, write_rows

    progress = np.zeros(N_SLOTS, np.int64)
    progress[ROW], progress[COLUMN] = start, -1
    while not write_rows(features, sparse, stop, *lines, progress, out):
        row, column, at = int(progress[ROW]), int(progress[COLUMN]), int(progress[WRITTEN])
        text = _number_text(features[row, column])
        out[at : at + len(text)] = np.frombuffer(text, np.uint8)
        progress[WRITTEN], progress[COLUMN] = at + len(text), column + 1
    return out[: progress[WRITTEN]].data


def _lines(data: Dataset) -> _Lines:
    labels, label_codes = np.unique(data.labels, return_inverse=True)
    _check_writable("query id", data.qids)
    if data.docid is None:
        docids = np.zeros(0, np.uint8), np.zeros(len(data) + 1, np.int64)
    else:
        _check_writable("document id", data.docid, may_be_empty=True)
        docids = _texts([f" #docid = {docid}" if docid != "" else "" for docid in data.docid.tolist()])
    return _Lines(
        label_codes.astype(np.int64),
        *_texts([f"{_label_text(label)} qid:" for label in labels.tolist()]),
        query_of_row(data.indptr, data.order),
        *_texts([id_text(qid) for qid in data.qids.tolist()]),
        *docids,
    )


def _texts(texts: Sequence[str]) -> tuple[Bytes, Ints]:
    """The texts, one after the other, and offsets: the k-th is `text[offsets[k]:offsets[k + 1]]`."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *(len(text) for text in encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8).copy(), offsets


def _label_text(label: float) -> str:
    return str(int(label)) if label.is_integer() and abs(label) < 2**53 else repr(label)


def _number_text(value: np.float32) -> bytes:
    return np.format_float_scientific(value, trim="-").encode() if value else b"0"


def _check_writable(what: str, ids: AnyArray, may_be_empty: bool = False) -> None:
    if ids.dtype.kind in "iu":
        return
    for identifier in dict.fromkeys(ids.tolist()):
        text = id_text(identifier)
        if "#" in text or (text.split() != [text] and not (may_be_empty and not text)):
            allowed = "" if may_be_empty else "be empty or "
            raise DataError(f"the {what} '{text}' cannot be written: it must not {allowed}contain blanks or '#'.")
