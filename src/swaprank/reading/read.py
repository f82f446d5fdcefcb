"""Read a data set in any format, chosen by the suffix of the file."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels
from swaprank.errors import DataError, Hint
from swaprank.files import existing_file
from swaprank.reading.formats import Paths, check_is_letor, is_bins, is_table, matching_options, no_columns
from swaprank.reading.letor import read_letor
from swaprank.reading.tables import read_table
from swaprank.reading.text_files import NoDocumentsError, is_stream, text_lines
from swaprank.reading.trec import read_qrels

_QRELS_COLUMNS = 4


def read(
    path: Paths,
    *,
    label: str | None = None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    categorical_features: Sequence[str] | None = None,
    docid: str | None = None,
    sample_weight: str | None = None,
    query_weight: str | None = None,
    columns: Sequence[str] | None = None,
    unlabeled: bool = False,
    n_features: int | None = None,
    absent: float | None = None,
    zero_based: bool | None = None,
    n_threads: int | None = None,
    binned: bool | Dataset = False,
    max_bins: int = 255,
) -> Dataset:
    r"""Read a data set; the suffix of the file determines the format.

    `.txt`, `.letor`, `.svm` and `.dat` are LETOR text, and so are pipes and files with group sizes next to them
    (`<path>.query` or `<path>.group`). `.csv`, `.tsv`, `.parquet` and `.arrow` are tables. Text may be followed by
    `.gz`, `.xz` or `.zst`. `.bins` are bins that `swaprank bin` or `Dataset.save_bins` has written. For other tables,
    see `Dataset.from_frame`.

    Args:
        path: The file. If binned, also several files, or a folder of files, which are read in the order of their names.
        label: Tables only: the column of labels. The default is "label".
        qid: Tables only: the column of query ids. The default is "qid".
        features: Tables only: the feature columns. The default is all columns without another role.
        ignore: Tables only: columns that are left out.
        categorical_features: Features whose values are categories: the names of columns, or the numbers of features in
            LETOR text, as text: ["3"]. Text in a Parquet file need not be declared.
        docid: Tables only: the column of document ids.
        sample_weight: Tables only: the column of training weights.
        query_weight: Tables only: the column of training weights of queries, one value per query. It is a side column.
        columns: Tables only: side columns, which are kept in `Dataset.columns` and are no features.
        unlabeled: The documents are only to be scored: all labels are 0. A table needs no column of labels, and a line
            of text may start with the query id.
        n_features: LETOR text only: the number of features, see `read_letor`.
        absent: LETOR text only: the value of a feature that a line omits. The default is 0.
        zero_based: LETOR text only: whether features are numbered from 0. If None, they are if the file contains a
            feature 0.
        n_threads: LETOR text and bins only: the number of threads. The default is all cores.
        binned: Read block by block, and keep bins instead of values: a byte each, from which rankers made of trees
            learn the same model. The rows of a query must be adjacent. A binned data set, for validation data: take
            its features and cuts.
        max_bins: If binned: how many bins a feature has at most.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("query,clicked,bm25,age\nshoes,1,7.5,3\nshoes,0,2.5,\n")
    >>> sr.read(path, label="clicked", qid="query").features.tolist()
    [[7.5, 3.0], [2.5, nan]]
    >>> sr.read([path], label="clicked", qid="query", binned=True)
    Dataset(2 documents, 1 query, 2 features, labels 0 to 1, binned)
    """
    named = _given(
        label=label,
        qid=qid,
        features=features,
        ignore=ignore,
        docid=docid,
        sample_weight=sample_weight,
        query_weight=query_weight,
        columns=columns,
    )
    options = _given(n_features=n_features, absent=absent, zero_based=zero_based, n_threads=n_threads)
    categorical = _given(categorical_features=categorical_features)
    others = {**named, **options, **categorical}
    if isinstance(path, str | os.PathLike) and is_bins(Path(path)):
        return _read_bins(path, binned, others)
    if binned is not False or not isinstance(path, str | os.PathLike):
        return _read_binned(path, binned, max_bins, unlabeled=unlabeled, **others)
    file = existing_file(path)
    if is_table(file):
        if options:
            raise DataError(f"{file} is a table: {', '.join(options)} cannot be given, only for LETOR text.")
        return read_table(file, unlabeled=unlabeled, **named, **categorical)
    check_is_letor(file)
    if named:
        raise no_columns(file, named)
    return read_letor(file, unlabeled=unlabeled, **options, **categorical)


def read_part(path: str | os.PathLike[str], **options: Any) -> Dataset | None:
    """A part of a data set; None if it has no documents. `options` are those of `read`."""
    try:
        return read(path, **options)
    except NoDocumentsError:
        return None


def _read_bins(path: str | os.PathLike[str], binned: bool | Dataset, options: Mapping[str, Any]) -> Dataset:
    from swaprank.data.bins_file import read_bins

    given = [name for name in options if name != "n_threads"]
    if given:
        raise DataError(f"{path} holds bins: {', '.join(given)} cannot be given, only when they are made.")
    data = read_bins(path)
    return data.binned(like=binned) if isinstance(binned, Dataset) else data


def _read_binned(path: Any, binned: Any, max_bins: int, **options: Any) -> Dataset:
    from swaprank.reading.binned_reading import read_binned

    if binned is False:
        raise DataError("several files are read as bins: give ", Hint("binned", True, "the files of swaprank bin"), ".")
    return read_binned(path, None if binned is True else binned, max_bins, **options)


def read_matching(
    path: str | os.PathLike[str], feature_names: Sequence[str], categorical: Collection[str] = (), **options: Any
) -> Dataset:
    r"""Read documents with the same features as a data set or model, given its feature names.

    A sparse validation file may lack the last features of its training file, or feature 0. `categorical` are the names
    of its categorical features. `options` are those of `read`; the chosen features must include those of the model.

    >>> import pathlib, tempfile
    >>> from swaprank.reading.read import read_matching
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vali.txt"
    >>> _ = path.write_text("1 qid:1 2:0.5\n")
    >>> read_matching(path, ["1", "2", "3"]).features.tolist()
    [[0.0, 0.5, 0.0]]
    """
    return read(path, **matching_options(Path(path), feature_names, categorical, options))


def read_judged(path: str | os.PathLike[str], **columns: Any) -> Dataset | Qrels:
    """Read a data set or TREC judgements, which are recognized by their first line. A pipe must be a data set.

    `columns` are the names of columns for `read`. Of a table, only the labels and query ids are read.
    """
    file = existing_file(path)
    if not is_table(file) and not is_stream(file) and not is_bins(file):
        lines = (line.split() for _, line in text_lines(file, "backslashreplace"))
        words = next((words for words in lines if words and not words[0].startswith("#")), [])
        if len(words) == _QRELS_COLUMNS and ":" not in words[3] and not words[1].startswith("qid:"):
            return read_qrels(file)
    if is_table(file):
        # A model reads its own features; other columns may be text.
        return read_table(file, judgements_only=True, **columns)
    return read(file, **columns)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
