"""Any file of judged documents, read by what its name ends in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swaprank.dataset import Dataset
from swaprank.errors import DataError, MissingExtraError
from swaprank.reading.compression import COMPRESSED, existing_file
from swaprank.reading.letor import read_letor
from swaprank.reading.side_files import side_file

_TEXT = (".txt", ".letor", ".svm", ".dat")
TABLES = (".csv", ".tsv", ".parquet")


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    docid: str | None = None,
    sample_weight: str | None = None,
) -> Dataset:
    r"""Read a data set by its file's ending.

    `.txt`, `.letor`, `.svm` and `.dat` are LETOR text (also with `.gz`, `.xz` or `.zst` after it), as is any file
    with group sizes beside it (`<path>.query` or `<path>.group`); `.csv`, `.tsv` and `.parquet` are tables. For
    more say in how text is read, see `read_letor`; for tables of other makes, see `Dataset.from_frame`.

    Args:
        path: The file.
        label: The column of a table that holds the labels; "label" if not given. This and what follows is for
            tables only.
        qid: The column of query ids; "qid" if not given.
        features: The feature columns; all without another role if not given.
        docid: The column of document ids.
        sample_weight: The column of weights.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("query,clicked,bm25,age\nshoes,1,7.5,3\nshoes,0,2.5,\n")
    >>> sr.read(path, label="clicked", qid="query").features.tolist()
    [[7.5, 3.0], [2.5, nan]]
    """
    file = existing_file(path)
    columns = {"label": label, "qid": qid, "features": features, "docid": docid, "sample_weight": sample_weight}
    given = {name: value for name, value in columns.items() if value is not None}
    ending = file.suffix.lower()
    if ending in TABLES:
        return Dataset.from_frame(_read_table(file, ending), **given)  # type: ignore[arg-type]
    content = Path(file.stem).suffix.lower() if ending in COMPRESSED else ending
    if content not in _TEXT and side_file(file) is None:
        known = ", ".join((*_TEXT, *TABLES))
        raise DataError(
            f"{file}: the ending '{''.join(file.suffixes)}' is unknown; known are {known}, the first four also with "
            f"{', '.join(COMPRESSED)}. For LETOR text of another name, use read_letor."
        )
    if given:
        raise DataError(f"{file} is LETOR text, which has no columns: {', '.join(given)} cannot be given.")
    return read_letor(file)


def _read_table(file: Path, ending: str) -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError(f"{file}: tables need Polars: pip install 'swaprank[frames]'") from None
    try:
        if ending == ".parquet":
            return polars.read_parquet(file)
        return polars.read_csv(file, separator="\t" if ending == ".tsv" else ",", infer_schema_length=None)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{file} cannot be read: {error}") from None
