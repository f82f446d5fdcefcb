"""Data in parts on a cluster: files that the workers read, or values that they have. Each part has whole queries."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from swaprank.cluster.dask_columns import column_partitions, is_array, is_frame
from swaprank.data.dataset import Dataset
from swaprank.errors import ArgumentError, DataError


class DataPart(NamedTuple):
    """A file that a worker reads, or a data set that Dask has or can compute."""

    name: str
    """The file, or the name of the part in messages."""
    value: Any = None
    """A Dataset, or a delayed value or future of one; on a worker, Dask has replaced it by the Dataset. Or a function
    without arguments that gives one on a worker, each time that it is needed."""
    options: Mapping[str, Any] | None = None
    """Keywords of `read` for a file; None for a value."""

    @property
    def is_file(self) -> bool:
        """True for a file, False for a value."""
        return self.options is not None


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
            if not isinstance(value, Dataset | DataPart) and not hasattr(value, "key"):
                raise DataError(
                    "a part must be a Dataset, or a delayed value or a future that gives one; found "
                    f"{type(value).__name__}. For files, use Parts.read."
                )
        self.parts = tuple(
            value if isinstance(value, DataPart) else DataPart(f"part {number}", value)
            for number, value in enumerate(values)
        )
        self.frame: Any = None
        """The Dask data frame that the parts are partitions of, or None."""
        if not self.parts:
            raise DataError("there are no parts.")

    @classmethod
    def read(cls, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], /, **options: Any) -> "Parts":
        """Files that the workers read, each file by one of them; or files of bins with the same cuts.

        Args:
            paths: A folder, whose data files are taken in the order of their names, or a list of files. The workers
                must see them under the same names.
            options: Keywords of `read`, such as label="clicked".

        >>> import swaprank as sr
        >>> sr.Parts.read(["/data/a.parquet", "/data/b.parquet"], label="clicked")
        Parts(2 parts: /data/a.parquet, /data/b.parquet)
        """
        from swaprank.reading.formats import parts_in

        files: Iterable[str | os.PathLike[str]]
        if isinstance(paths, str | os.PathLike):
            files = parts_in(Path(paths)) if Path(paths).is_dir() else [paths]
        else:
            files = paths
        # A worker has a working directory of its own.
        return cls(DataPart(os.path.abspath(file), options=options) for file in files)  # noqa: PTH100

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str = "label",
        qid: str = "qid",
        features: Sequence[str] | None = None,
        **options: Any,
    ) -> "Parts":
        """The partitions of a Dask data frame; the arguments are those of `Dataset.from_frame`.

        >>> import dask.dataframe as dd, pandas as pd, swaprank as sr
        >>> frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "bm25": [3.2, 8.1, 2.9, 4.0]})
        >>> sr.Parts.from_frame(dd.from_pandas(frame, npartitions=2))
        Parts(2 parts: partition 0, partition 1)
        """
        from dask.delayed import delayed

        if not is_frame(frame):
            raise DataError(
                f"expected a Dask data frame, found {type(frame).__name__}: for Dask arrays and series, use "
                "Parts.from_arrays(X, y, qid=qid)."
            )
        make = delayed(_dataset_of, pure=True)
        parts = cls(
            DataPart(name := f"partition {number}", make(name, partition, label, qid, features, **options))
            for number, partition in enumerate(frame.to_delayed())
        )
        parts.frame = frame
        return parts

    @classmethod
    def from_arrays(cls, X: Any, y: Any, *, categorical_features: Any = None, **columns: Any) -> "Parts":
        """The partitions of Dask arrays, series and frames that are given apart, for `evaluate`; `fit` takes them, too.

        Args:
            X: Features: a Dask array or data frame.
            y: Labels: a Dask array or series with the same partitions, or the name of a column of X.
            categorical_features: As for `Dataset`.
            columns: In the same way qid, or group, the number of rows of each query in each partition; and
                sample_weight, base_score and docid.

        >>> import dask.array as da, swaprank as sr
        >>> X, y = da.ones((6, 2), chunks=(3, 2)), da.ones(6, chunks=3)
        >>> sr.Parts.from_arrays(X, y, group=da.from_array([3, 1, 2], chunks=((1, 2),)))
        Parts(2 parts: partition 0, partition 1)
        """
        given = {"y": y, **{name: value for name, value in columns.items() if value is not None}}
        found = column_partitions(X, given, categorical_features)
        return cls(DataPart(name, value) for name, value in found.items())

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Delayed values of `function(part, *arguments)`, one for each part; a part without documents is None."""
        from dask.delayed import delayed

        call, read = delayed(function, pure=False), delayed(_read)
        # Sent once, and not with every part.
        shared = [delayed(argument) for argument in arguments]
        data = [read(part.name, part.options) if part.is_file else delayed(part.value) for part in self.parts]
        return [call(each, *shared) for each in data]

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        names = [part.name for part in self.parts]
        shown = ", ".join(names if len(names) <= 5 else [*names[:4], "…", names[-1]])
        return f"Parts({len(names):,} {'part' if len(names) == 1 else 'parts'}: {shown})"


NAMED_COLUMNS = ("y", "qid", "sample_weight", "query_weight", "base_score", "docid")
"""Arguments of `fit` that name columns of a Dask data frame."""
_ROWS = (*NAMED_COLUMNS, "group")


def as_parts(data: Any, **columns: Any) -> Any:
    """Data on a cluster as Parts; everything else as it is. This is found out without importing Dask.

    Args:
        data: `Parts`, a Dask data frame or array, a delayed value or a future of Dask, or a list of such; or anything
            else.
        columns: The other arguments of `fit`. For a data frame they are names of columns, and categorical_features; or
            Dask arrays and series with the same partitions, as for an array.

    >>> from swaprank.cluster.parts import as_parts
    >>> as_parts([[1.0, 2.0]])
    [[1.0, 2.0]]
    """
    if not (isinstance(data, Parts) or _is_of_dask(data)):
        return data
    given = {name: value for name, value in columns.items() if value is not None}
    if is_frame(data) and all(isinstance(value, str) for name, value in given.items() if name in _ROWS):
        for name in given:
            if name not in (*NAMED_COLUMNS, "categorical_features"):
                raise ArgumentError(f"{name} cannot be given for data on a cluster; use columns, or Datasets as parts.")
        return Parts.from_frame(data, given.pop("y", "label"), **given)
    if is_frame(data) or is_array(data):
        if "y" not in given or not {"qid", "group"} & given.keys():
            raise DataError(
                "for Dask arrays and series, give the labels and qid or group: one label and one query id a row; for "
                "a Dask data frame, qid may also be the name of a column."
            )
        return Parts.from_arrays(data, given.pop("y"), **given)
    if given:
        raise DataError(f"parts have their own columns: give them without {', '.join(given)}.")
    if isinstance(data, Parts):
        return data
    return Parts(data if isinstance(data, list | tuple) else [data])


def _is_of_dask(data: Any) -> bool:
    if isinstance(data, list | tuple):
        # X, y and qid of Dask in a tuple are one data set.
        is_set = isinstance(data, tuple) and len(data) > 0 and hasattr(type(data[0]), "to_delayed")
        return len(data) > 0 and not is_set and not isinstance(data[0], list | tuple) and _is_of_dask(data[0])
    # Frames, arrays, bags and delayed values have a graph; a future is a class of distributed.
    kind = type(data)
    return hasattr(kind, "__dask_graph__") or (kind.__module__ == "distributed.client" and kind.__name__ == "Future")


def _read(file: str, options: Mapping[str, Any]) -> Dataset | None:
    from swaprank.reading.read import read_part

    return read_part(file, **options)


def _dataset_of(name: str, partition: Any, label: str, qid: str, features: Any, **options: Any) -> Dataset | None:
    """A partition of a frame as a Dataset; None if it is empty, as partitions may be after rows were dropped."""
    try:
        return Dataset.from_frame(partition, label, qid, features, **options) if len(partition) else None
    except DataError as error:
        raise DataError(f"{name}: ", error) from None
