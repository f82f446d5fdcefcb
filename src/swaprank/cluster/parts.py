"""Data in parts on a cluster: files that the workers read, or values that they have. Each part has whole queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.files import content_suffix


class FilePart(NamedTuple):
    """A file that the worker reads which trains on it."""

    name: str
    options: Mapping[str, Any]
    """Keywords of `read`."""

    def read(self) -> Dataset:
        """The documents."""
        from swaprank.reading.read import read

        return read(self.name, **self.options)


class ValuePart(NamedTuple):
    """A data set that Dask has, or can compute."""

    name: str
    value: Any
    """A delayed value or a future; or a Dataset of this process, which Dask sends."""


@final
class Parts:
    """Judged documents in parts, for training, prediction and evaluation on a Dask cluster.

    All documents of a query are in one part. The parts have the same features in the same order; categories are taken
    together. There should be at least as many parts as workers: a part is not divided for training.

    Args:
        parts: Datasets that Dask computes or has: delayed values or futures; or Datasets of this process.

    >>> import dask, swaprank as sr
    >>> parts = sr.Parts([dask.delayed(sr.read)(f"part-{n}.parquet") for n in range(3)])
    >>> parts
    Parts(3 parts: part 0, part 1, part 2)
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        values = list(parts)
        for value in values:
            if not isinstance(value, Dataset) and not hasattr(value, "key"):
                raise DataError(
                    "a part must be a Dataset, or a delayed value or a future that gives one; found "
                    f"{type(value).__name__}. For files, use Parts.read."
                )
        self._set([ValuePart(f"part {number}", value) for number, value in enumerate(values)])

    def _set(self, parts: Sequence[FilePart | ValuePart]) -> None:
        if not parts:
            raise DataError("there are no parts.")
        self.parts = tuple(parts)

    @classmethod
    def read(cls, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], /, **options: Any) -> Parts:
        """Files that the workers read, each file by one of them.

        Args:
            paths: A folder, whose data files are taken in the order of their names, or a list of files. The workers
                must see them under the same names.
            options: Keywords of `read`, such as label="clicked".

        >>> import swaprank as sr
        >>> sr.Parts.read(["/data/a.parquet", "/data/b.parquet"], label="clicked")
        Parts(2 parts: /data/a.parquet, /data/b.parquet)
        """
        files = _files_in(Path(paths)) if isinstance(paths, str | os.PathLike) else [str(path) for path in paths]
        parts = cls.__new__(cls)
        # A worker has a working directory of its own.
        parts._set([FilePart(os.path.abspath(file), options) for file in files])  # noqa: PTH100
        return parts

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str = "label",
        qid: str = "qid",
        features: Sequence[str] | None = None,
        **options: Any,
    ) -> Parts:
        """The partitions of a Dask data frame; the arguments are those of `Dataset.from_frame`.

        >>> import dask.dataframe as dd, pandas as pd, swaprank as sr
        >>> frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "bm25": [3.2, 8.1, 2.9, 4.0]})
        >>> sr.Parts.from_frame(dd.from_pandas(frame, npartitions=2))
        Parts(2 parts: partition 0, partition 1)
        """
        from dask.delayed import delayed

        if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
            raise DataError(
                f"expected a Dask data frame, found {type(frame).__name__}: a Dask array has no query ids. Make "
                "delayed Datasets of its blocks: sr.Parts([dask.delayed(sr.Dataset)(X, y, qid=qid), …])."
            )
        make = delayed(_dataset_of, pure=True)
        parts = cls.__new__(cls)
        parts._set(
            [
                ValuePart(f"partition {number}", make(partition, label, qid, features, **options))
                for number, partition in enumerate(frame.to_delayed())
            ]
        )
        return parts

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        names = [part.name for part in self.parts]
        shown = ", ".join(names if len(names) <= 5 else [*names[:4], "…", names[-1]])
        return f"Parts({len(names):,} {'part' if len(names) == 1 else 'parts'}: {shown})"


def as_parts(data: Any, **columns: Any) -> Parts:
    """Whatever `is_distributed` recognizes, as parts; `columns` are arguments of `from_frame` for a data frame."""
    given = {name: value for name, value in columns.items() if value is not None}
    if hasattr(data, "to_delayed") and hasattr(data, "columns"):
        wrong = next((name for name, value in given.items() if hasattr(value, "__dask_graph__")), None)
        if wrong is not None:
            raise DataError(f"{wrong} must be the name of a column of the Dask data frame, not data of its own.")
        return Parts.from_frame(data, **given)
    if given:
        raise DataError(f"parts have their own columns: give them without {', '.join(given)}.")
    if isinstance(data, Parts):
        return data
    return Parts(data if isinstance(data, list | tuple) else [data])


def _dataset_of(partition: Any, label: str, qid: str, features: Any, **options: Any) -> Dataset | None:
    """A partition of a frame as a Dataset; None if it is empty, as partitions may be after rows were dropped."""
    return Dataset.from_frame(partition, label, qid, features, **options) if len(partition) else None


def _files_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        return [str(folder)]
    from swaprank.reading.read import TABLE_SUFFIXES, TEXT_SUFFIXES

    known = (*TEXT_SUFFIXES, *TABLE_SUFFIXES)
    found = sorted(str(file) for file in folder.iterdir() if file.name[0] not in "._" and content_suffix(file) in known)
    if not found:
        raise DataError(f"{folder} has no data files: expected names that end in {', '.join(known)}.")
    return found
