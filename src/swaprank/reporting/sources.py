"""Rankers and data as they are given: objects, or files that leave a trace of where they came from."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.files import file_digest
from swaprank.model_files.container import read_model
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.saving import load
from swaprank.reading.read import read_matching


class FileTrace(NamedTuple):
    """What tells a file from any other.

    >>> from swaprank.reporting.sources import FileTrace
    >>> FileTrace("model.swaprank", 10, "e3b0…", "0.1.0").name
    'model.swaprank'
    """

    name: str
    n_bytes: int
    sha256: str
    swaprank: str | None
    """The version that wrote it, if it is a model."""
    record: dict[str, Any] | None = None
    """How it was trained, if it is a model and that is known."""


def ranker_from(given: Ranker | str | os.PathLike[str]) -> tuple[Ranker, FileTrace | None]:
    """A fitted ranker, or one from its model file.

    >>> import swaprank as sr
    >>> from swaprank.reporting.sources import ranker_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker_from(sr.MART(n_trees=1).fit(train))[1] is None
    True
    """
    if isinstance(given, Ranker):
        given._check_fitted()
        return given, None
    if not isinstance(given, str | os.PathLike):
        raise ParameterError(f"expected a fitted ranker or a model file, found {type(given).__name__}.")
    ranker = load(given)
    version = read_model(given).meta.get("swaprank")
    file = trace(given, None if version is None else str(version))
    return ranker, file._replace(record=training_record(given, file.sha256))


def data_from(given: Dataset | str | os.PathLike[str], ranker: Ranker) -> tuple[Dataset, FileTrace | None]:
    """Judged documents with the features of the ranker, or a file of them.

    >>> import swaprank as sr
    >>> from swaprank.reporting.sources import data_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> data_from(train, sr.MART(n_trees=1).fit(train))[0] is train
    True
    """
    if isinstance(given, Dataset):
        if given.n_features != ranker.n_features_in_:
            raise DataError(f"the model has {ranker.n_features_in_} features, but the data has {given.n_features}.")
        return given, None
    if not isinstance(given, str | os.PathLike):
        raise DataError(f"expected a Dataset or a file, found {type(given).__name__}.")
    return read_matching(given, [str(name) for name in ranker.feature_names_in_]), trace(given)


def trace(path: str | os.PathLike[str], version: str | None = None) -> FileTrace:
    """Name, size and digest of a file.

    >>> import pathlib, tempfile
    >>> from swaprank.reporting.sources import trace
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = path.write_text("0 qid:1 1:0.5")
    >>> trace(path).n_bytes
    13
    """
    file = Path(path)
    return FileTrace(file.name, file.stat().st_size, file_digest(file), version)


def training_record(model: str | os.PathLike[str], digest: str) -> dict[str, Any] | None:
    r"""What `swaprank train` wrote beside a model, if that is there and tells of this very file.

    >>> import pathlib, tempfile
    >>> from swaprank.reporting.sources import training_record
    >>> model = pathlib.Path(tempfile.mkdtemp()) / "model.swaprank"
    >>> _ = model.with_suffix(".toml").write_text("train = 'a.txt'\n[result]\ndigest = 'e3b0'")
    >>> training_record(model, "e3b0")["train"], training_record(model, "77aa")
    ('a.txt', None)
    """
    path = Path(model).with_suffix(".toml")
    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None  # None was written, or the file is something else.
    result = record.get("result")
    return record if isinstance(result, dict) and result.get("digest") == digest else None
