"""Rankers and data sets given as objects or as files, with the name, size and hash of each file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.experiments.training_run import read_record
from swaprank.files import file_digest
from swaprank.model_files.container import read_model
from swaprank.rankers.ranker import Ranker
from swaprank.reading.read import read_matching
from swaprank.registry import ranker_of

AnyPath = str | os.PathLike[str]


class FileInfo(NamedTuple):
    """Facts about a file.

    >>> from swaprank.reporting.sources import FileInfo
    >>> FileInfo("model.swaprank", 10, "e3b0…", "0.1.0").name
    'model.swaprank'
    """

    name: str
    n_bytes: int
    sha256: str
    swaprank: str | None = None
    """The version of swaprank that wrote it; only for model files."""
    record: dict[str, Any] | None = None
    """The record of the training run; only for model files that have one."""


def ranker_from(given: Ranker | AnyPath) -> tuple[Ranker, FileInfo | None]:
    """A fitted ranker, or the ranker of a model file.

    >>> import swaprank as sr
    >>> from swaprank.reporting.sources import ranker_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker_from(sr.MART(n_trees=1).fit(train))[1] is None
    True
    """
    if isinstance(given, Ranker):
        given.check_fitted()
        return given, None
    if not isinstance(given, str | os.PathLike):
        raise ParameterError(f"expected a fitted ranker or a model file, found {type(given).__name__}.")
    content, file = read_model(given), file_info(given)
    try:
        ranker = ranker_of(content)
    except ModelFileError as error:
        raise ModelFileError(f"{given}: {error}") from None
    version = content.meta.get("swaprank")
    record = read_record(given, file.sha256)
    return ranker, file._replace(swaprank=None if version is None else str(version), record=record)


def data_from(
    given: Dataset | AnyPath, ranker: Ranker, columns: Mapping[str, Any] | None = None
) -> tuple[Dataset, FileInfo | None]:
    """A data set with the features of the ranker, or a file of it; `columns` are those of a table.

    >>> import swaprank as sr
    >>> from swaprank.reporting.sources import data_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> data_from(train, sr.MART(n_trees=1).fit(train))[0] is train
    True
    """
    if isinstance(given, Dataset):
        return ranker.matched(given), None
    if not isinstance(given, str | os.PathLike):
        raise DataError(f"expected a Dataset or a file, found {type(given).__name__}.")
    names = [str(name) for name in ranker.feature_names_in_]
    data = read_matching(given, names, ranker.categories_, **(columns or {}))
    return ranker.matched(data), file_info(given)


def file_info(path: AnyPath) -> FileInfo:
    """Name, size and SHA-256 of a file.

    >>> import pathlib, tempfile
    >>> from swaprank.reporting.sources import file_info
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = path.write_text("0 qid:1 1:0.5")
    >>> file_info(path).n_bytes
    13
    """
    file = Path(path)
    return FileInfo(file.name, file.stat().st_size, file_digest(file))
