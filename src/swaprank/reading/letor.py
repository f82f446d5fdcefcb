"""Read LETOR text (SVMlight with query ids)."""

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import IdRuns
from swaprank.data.ids import decoded
from swaprank.errors import DataError
from swaprank.files import existing_file
from swaprank.reading.group_sizes import FileQueries
from swaprank.reading.parsing_status import LARGEST_INDEX, BadLineError, LetorFormat, bad_line_error
from swaprank.reading.text_files import (
    BYTE_ORDER_MARK,
    NoDocumentsError,
    Text,
    TextFile,
    count_lines,
    pieces,
    whole_texts,
)
from swaprank.threads import thread_count

if TYPE_CHECKING:
    from swaprank.reading.letor_block import ParsedBlock


def read_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    absent: float = 0.0,
    zero_based: bool | None = None,
    unlabeled: bool = False,
    categorical_features: Iterable[str | int] | None = None,
    n_threads: int | None = None,
) -> Dataset:
    r"""Read LETOR / SVMlight text, plain or compressed (.gz, .xz, .zst), on all cores.

    A line is `label qid:<id> 1:<value> 2:<value> … #docid = <id>`. Features may be omitted and may be in any order.
    Values may be `nan` or `NULL`; a number beyond single precision is a missing value. Without qid, group sizes are
    read from a file next to it: `<path>.query` (LightGBM) or `<path>.group` (XGBoost). With qid, such a file must
    agree. Ids are UTF-8.

    Args:
        path: The file.
        n_features: The number of features. The default is the largest feature number in the file. Set it for sparse
            files, so that all parts of a data set have the same width.
        absent: The value of a feature that a line omits. The default is 0; XGBoost uses NaN.
        zero_based: Whether features are numbered from 0. If None, they are if the file contains a feature 0. Set it if
            a part of a data set might lack feature 0, so that all parts are numbered in the same way.
        unlabeled: The documents are only to be scored: all labels are 0, and a line may start with the query id.
        categorical_features: Features whose values are categories, whole numbers: by their numbers in the file as text,
            ["3"], or by position from 0, [2].
        n_threads: The number of threads. The default is all cores.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1e-3 #docid = a\n0 qid:7 2:NULL #docid = b\n")
    >>> data = sr.read_letor(path)
    >>> data
    Dataset(2 documents, 1 query, 3 features, labels 0 to 2)
    >>> data.features.tolist()[1], data.docid.tolist()
    ([0.0, nan, 0.0], ['a', 'b'])
    """
    file = existing_file(path)
    queries = FileQueries(file)
    form = checked_format(LetorFormat(queries.sizes is None, absent, n_features, zero_based, unlabeled))
    blocks = list(parsed_texts(file, form, whole_texts(file), n_threads))
    if not blocks:
        raise no_lines(file)
    if any(block.first != blocks[0].first for block in blocks):
        # A later block of a compressed file contains feature 0, but earlier blocks were numbered from 1.
        form = form._replace(zero_based=True)
        blocks = list(parsed_texts(file, form, whole_texts(file), n_threads))
    labels = np.concatenate([block.labels for block in blocks])
    queries.check_total(len(labels))
    qid, docid, first = queries.of(blocks), comment_ids(blocks), blocks[0].first
    features = _joined_features(blocks, len(labels), form.absent)
    return letor_dataset(features, labels, qid, first, form, str(file), docid, categorical_features)


def no_lines(file: Path) -> NoDocumentsError:
    """The error about a file without documents."""
    return NoDocumentsError(f"{file} has no documents: expected lines such as '2 qid:1 1:0.5 2:0'.")


def letor_dataset(
    features: Features,
    labels: Floats,
    qid: IdRuns,
    first: int,
    form: LetorFormat,
    where: str,
    docid: AnyArray | None = None,
    categorical: Any = None,
) -> Dataset:
    """The data set of documents that were parsed; `first` is the feature number of column 0."""
    if features.shape[1] == 0:
        raise DataError(f"{where} has no features: expected '<feature number>:<value>' after the query id.")
    if form.unlabeled:
        labels = np.zeros(len(labels))
    names = None if first == 1 else [str(number) for number in range(features.shape[1])]
    try:
        return Dataset(features, labels, qid=qid, docid=docid, feature_names=names, categorical_features=categorical)
    except DataError as error:
        raise DataError(f"{where}: ", error) from None


def checked_format(form: LetorFormat) -> LetorFormat:
    """The options of `read_letor`, checked."""
    if form.n_features is not None and not 1 <= form.n_features <= LARGEST_INDEX:
        raise DataError(f"n_features must be 1 to {LARGEST_INDEX:,}, found {form.n_features}.")
    if math.isinf(form.absent):
        raise DataError("absent must be finite, or NaN for missing.")
    return form._replace(absent=float(form.absent))


def parsed_texts(
    file: Path, form: LetorFormat, texts: Iterable[Text], n_threads: int | None
) -> "Iterator[ParsedBlock]":
    """The documents of each of the texts that a file consists of, if it has any."""
    # Imported here because importing Numba takes time.
    from swaprank.reading.letor_block import HEAD_BYTES, check_text_precision, parse_block

    threads = thread_count(n_threads)
    lines_before, is_first = 0, True
    for number, text in enumerate(texts):
        read = text.reader()
        start = 3 if number == 0 and read(0, min(3, text.size)).tobytes() == BYTE_ORDER_MARK else 0
        line = _first_document(text, start)
        parsed = None
        if line is not None:
            if is_first and any(word.startswith(b"qid:") for word in line.split()[:2]):
                form = form._replace(with_qid=True)
            try:
                parsed = parse_block(text, start, form, threads)
            except BadLineError as bad:
                text.check_unchanged()
                raise bad_line_error(bad, text, lines_before, file, form.n_features) from None
            if is_first:
                head = read(start, min(start + HEAD_BYTES, text.size)).tobytes()
                check_text_precision(parsed, file, head)
            is_first = False
        text.check_unchanged()
        lines_before += 0 if isinstance(text, TextFile) else count_lines(read, text.size)
        if parsed is not None:
            yield parsed


def _first_document(text: Text, start: int) -> bytes | None:
    """The first line that is neither blank nor a comment."""
    for piece in pieces(text.reader(), start, text.size):
        for line in piece.text.tobytes().split(b"\n"):
            if line.strip() and not line.lstrip().startswith(b"#"):
                return line
    return None


def _joined_features(blocks: "list[ParsedBlock]", n_rows: int, absent: float) -> Features:
    """One matrix; each block is freed once it is copied, to save memory."""
    if len(blocks) == 1:
        return blocks[0].features
    features = np.empty((n_rows, max(block.features.shape[1] for block in blocks)), np.float32)
    stop = n_rows
    while blocks:
        part = blocks.pop().features
        rows = features[stop - len(part) : stop]
        rows[:, : part.shape[1]] = part
        rows[:, part.shape[1] :] = absent
        stop -= len(part)
    return features


def comment_ids(blocks: "list[ParsedBlock]") -> AnyArray | None:
    """The document ids in comments, empty where there is none; None if there are none at all."""
    parts = [ids for block in blocks for ids in block.ids]
    if all(ids.docids is None for ids in parts):
        return None
    return decoded(
        np.concatenate([np.zeros(ids.n_documents, "S1") if ids.docids is None else ids.docids for ids in parts])
    )
