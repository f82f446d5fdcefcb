"""Formats of data files by their names: LETOR text, tables and bins; folders of parts."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from swaprank.errors import DataError, Wording
from swaprank.files import COMPRESSED, compression, content_suffix, existing_file
from swaprank.reading.group_sizes import SIDE_SUFFIXES, side_file
from swaprank.reading.text_files import is_stream

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

TEXT_SUFFIXES = (".txt", ".letor", ".svm", ".dat")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow")
BINS_SUFFIX = ".bins"
_NOT_COMPRESSED = (".parquet", ".arrow")


def is_table(file: Path) -> bool:
    """True if a file is a table, judging by its suffix."""
    suffix = content_suffix(file)
    return suffix in TABLE_SUFFIXES and not (suffix in _NOT_COMPRESSED and compression(file))


def is_bins(file: Path) -> bool:
    """True if a file is one of bins, judging by its suffix."""
    return file.suffix.lower() == BINS_SUFFIX


def parts_in(folder: Path) -> list[Path]:
    """The files of a folder of parts, in the order of their names; DataError if one has an unknown ending.

    >>> import pathlib, tempfile
    >>> from swaprank.reading.formats import parts_in
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("part-1.csv", "part-0.csv", "_SUCCESS"):
    ...     (folder / name).touch()
    >>> [file.name for file in parts_in(folder)]
    ['part-0.csv', 'part-1.csv']
    """
    # Spark and others write _SUCCESS, .part-0.crc and so on beside the parts.
    hidden = (".", "_")
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and not file.name.startswith(hidden) and file.suffix not in SIDE_SUFFIXES
    ]
    if not files:
        raise DataError(f"{folder} has no files to read.")
    for file in files:
        _check_ending(file)
    return files


def part_files(path: Paths) -> list[Path]:
    """The files of a data set to bin, given by name, or as a folder of parts, in the order of their names."""
    given = [path] if isinstance(path, str | os.PathLike) else path
    files = [
        file for each in given for file in (parts_in(Path(each)) if Path(each).is_dir() else [existing_file(each)])
    ]
    if not files:
        raise DataError("there are no files to read: the list is empty.")
    for file in files:
        if is_stream(file):
            raise DataError(f"{file} can be read only once, but bins take two readings: save it to a file.")
        if is_bins(file):
            raise DataError(
                f"{file} holds bins already: ",
                Wording("read it without binned, or several files with sr.Parts.read", "it is used as it is"),
                ".",
            )
        _check_ending(file)
    if len(set(files)) < len(files):
        raise DataError(f"{next(file for file in files if files.count(file) > 1)} is given twice.")
    return files


def _check_ending(file: Path) -> None:
    known = (*TEXT_SUFFIXES, *TABLE_SUFFIXES, BINS_SUFFIX)
    if content_suffix(file) not in known and side_file(file) is None:
        ending = "".join(file.suffixes)
        raise DataError(f"{file}: the ending '{ending}' is unknown; parts of a data set end in {', '.join(known)}.")


def check_is_letor(file: Path) -> None:
    """Raise DataError if a file that is no table has not the ending of LETOR text, and no group sizes beside it."""
    if content_suffix(file) not in TEXT_SUFFIXES and side_file(file) is None and not is_stream(file):
        known = ", ".join((*TEXT_SUFFIXES, *TABLE_SUFFIXES, BINS_SUFFIX))
        raise DataError(
            f"{file}: the ending '{''.join(file.suffixes)}' is unknown; known are {known}; text also with "
            f"{', '.join(COMPRESSED)}. ",
            Wording("For LETOR text of another name, use read_letor.", "The name of LETOR text must end in .txt."),
        )


def no_columns(file: Path, given: Iterable[str]) -> DataError:
    """The error about names of columns that were given for LETOR text."""
    names = ", ".join(given)
    return DataError(
        f"{file} is LETOR text, which has no columns: ",
        Wording(f"{names} cannot be given.", f"remove the options that name them ({names.replace('_', '-')})."),
    )


def matching_options(
    path: Path, feature_names: Sequence[str], categorical: Collection[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of `read` for files with these features; `given` are those of the user."""
    columns = dict(given)
    if is_bins(path):
        # The names of columns are for the tables that are read with it.
        return {}
    if is_table(path):
        chosen, ignored = columns.pop("features", None), columns.pop("ignore", None) or ()
        for name in feature_names:
            if name in ignored or (chosen is not None and name not in chosen):
                raise DataError(
                    f"{path}: the feature '{name}' is needed, but ",
                    Wording("it is not among the chosen columns.", "--features or --ignore leave it out."),
                )
        declared = {*categorical, *(columns.pop("categorical_features", None) or ())}
        columns["categorical_features"] = [name for name in feature_names if name in declared]
        return {**columns, "features": list(feature_names)}
    numbered = [str(number) for number in range(len(feature_names))] == list(feature_names)
    return {**columns, "n_features": len(feature_names), "zero_based": numbered}
