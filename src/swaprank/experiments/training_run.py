"""Everything that a training run depends on, and the record that allows repeating it exactly."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import swaprank as sr
from swaprank.environment import versions
from swaprank.errors import DataError, ParameterError, Wording
from swaprank.experiments.config_files import toml_text
from swaprank.experiments.ranker_parameters import check_parameter_names, training_parameters
from swaprank.files import file_digest, file_in, replacing, writable_target, written_directly
from swaprank.model_files.container import check_target
from swaprank.reading.formats import is_bins, is_table
from swaprank.registry import ranker_class, ranker_maker

AnyPath = str | os.PathLike[str]

FIRST_LINE = "# Written by swaprank; `swaprank train --config` with this file repeats the run."


@final
@dataclass(frozen=True)
class TrainingRun:
    """Everything that a training run depends on.

    >>> from swaprank.experiments.training_run import TrainingRun
    >>> TrainingRun(train="train.txt", output="model.swaprank", parameters={"n_leaves": 7}).record.name
    'model.toml'
    """

    train: AnyPath | Sequence[AnyPath]
    """A file; on a cluster, also several files or a folder."""
    output: AnyPath
    valid: AnyPath | None = None
    base_ranker: AnyPath | None = None
    """A model to start from."""
    ranker: str = "lambdamart"
    metric: str | None = None
    """If None, the ranker's default."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    threads: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Names of the columns of tables, as keywords of `read`."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 digests that train, valid and base_ranker must have."""

    @property
    def train_files(self) -> tuple[AnyPath, ...]:
        """The files or the folder of the training data."""
        return (self.train,) if isinstance(self.train, str | os.PathLike) else tuple(self.train)

    @property
    def record(self) -> Path | None:
        """The file next to the model that records how it was trained; None if the model goes to a device or pipe."""
        return None if written_directly(self.output) else Path(self.output).with_suffix(".toml")

    def make_ranker(self) -> sr.Ranker:
        """Create the unfitted ranker."""
        kind = ranker_class(self.ranker)
        if kind.can.learns_from == "rankers":
            raise ParameterError(
                f"{self.ranker} is made of fitted rankers: use `swaprank combine` for two",
                Wording(", sr.stack for any number", ""),
                ".",
            )
        if self.ranker == "learned_online":
            raise ParameterError(
                f"{self.ranker} learns from clicks while it serves, not from a file: use it in Python."
            )
        if kind.can.learns_from == "nothing":
            raise ParameterError(f"{self.ranker} is a model of another library: read one with `swaprank import`.")
        options = {"metric": self.metric, "random_state": self.seed, "n_threads": self.threads}
        own = {name: value for name, value in options.items() if value is not None and name in kind.declared}
        check_parameter_names(self.ranker, self.parameters)
        for name, option in (("metric", "metric"), ("random_state", "seed"), ("n_threads", "threads")):
            if name in own and name in self.parameters:
                raise ParameterError(f"{option} is given twice: as {option} and as the parameter {name}.")
        return ranker_maker(self.ranker)(**{**self.parameters, **own})


def write_record(run: TrainingRun, file: Path, ranker: sr.Ranker, data: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the training record: data, ranker, parameters, seed and versions. Returns SHA-256 of the saved model.

    Args:
        run: The paths of the run.
        file: The record, next to the model.
        ranker: The fitted ranker, already saved.
        data: Sizes and digests of train, valid and base_ranker, as far as they are known.
    """
    digest = file_digest(run.output)
    with replacing(file_in(file.parent, file.name)) as stream:
        stream.write(f"{FIRST_LINE}\n{toml_text(_record(run, file.parent, ranker, data, digest))}\n".encode())
    return digest


def read_record(model: AnyPath, digest: str) -> dict[str, Any] | None:
    r"""The record next to a model file; None if there is none, or if it belongs to a model with another digest.

    >>> import pathlib, tempfile
    >>> from swaprank.experiments.training_run import read_record
    >>> model = pathlib.Path(tempfile.mkdtemp()) / "model.swaprank"
    >>> _ = model.with_suffix(".toml").write_text("train = 'a.txt'\n[result]\ndigest = 'e3b0'")
    >>> read_record(model, "e3b0")["train"], read_record(model, "77aa")
    ('a.txt', None)
    """
    try:
        record = tomllib.loads(Path(model).with_suffix(".toml").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    result = record.get("result")
    return record if isinstance(result, dict) and result.get("digest") == digest else None


def read_train(run: TrainingRun) -> sr.Dataset:
    """Read the training data of a run that has one file."""
    if len(run.train_files) > 1:
        raise DataError(
            "give one file, or several parts of a data set with ",
            Wording("run_on_dask or run_on_mpi", "--dask or --mpi"),
            ".",
        )
    train = Path(run.train_files[0])
    # The names of columns may be those of the validation data.
    columns = {} if is_bins(train) and run.valid is not None else run.columns
    threads = None if is_table(train) else run.threads
    return sr.read(train, n_threads=threads, **columns)


def check_outputs(run: TrainingRun, checkpoint: AnyPath | None = None) -> None:
    """Raise DataError if the model or its record cannot be written, or would overwrite another file."""
    own = [Path(path).resolve() for path in (run.output, run.record) if path is not None]
    if checkpoint is not None and Path(checkpoint).resolve() in own:
        raise DataError(f"{checkpoint} is to hold the model or its training record, too: choose another checkpoint.")
    for path in (*run.train_files, run.valid, run.base_ranker, run.output):
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise DataError(f"{path!r}: the training record cannot have a file name that is not UTF-8.") from None
    check_target(run.output, (*run.train_files, run.valid))
    if run.record == Path(run.output):
        raise DataError(f"{run.output}: this is the name of the training record; end the model's name in .swaprank.")
    if run.record is None:
        return
    writable_target(file_in(run.record.parent, run.record.name))
    if run.record.is_file():
        with run.record.open(encoding="utf-8", errors="replace") as stream:
            if stream.readline().rstrip("\n") != FIRST_LINE:
                raise DataError(
                    f"{run.record} would be overwritten by the training record: choose another model name, or move "
                    "this file."
                )


def _record(
    run: TrainingRun, folder: Path, ranker: sr.Ranker, data: Mapping[str, Mapping[str, Any]], model_digest: str
) -> dict[str, Any]:
    """The effective configuration; paths are relative to the folder of the model."""
    paths = {"valid": run.valid, "base_ranker": run.base_ranker, "output": run.output}
    train = [_relative(folder, path) for path in run.train_files]
    parameters = training_parameters(ranker)
    result = {"model": f"{ranker.kind}: {ranker.size_}", "digest": model_digest, "interrupted": ranker.interrupted_}
    return {
        "train": train[0] if len(train) == 1 else train,
        **{name: _relative(folder, path) for name, path in paths.items() if path is not None},
        "ranker": ranker.kind,
        "metric": str(ranker.metric),
        **({"seed": parameters.pop("random_state")} if "random_state" in parameters else {}),
        **({"columns": run.columns} if run.columns else {}),
        "parameters": parameters,
        "data": data,
        "versions": versions(),
        "result": result,
    }


def _relative(folder: Path, path: AnyPath) -> str:
    """A path relative to a folder; absolute paths stay absolute."""
    if Path(path).is_absolute():
        return str(path)
    return Path(os.path.relpath(path, folder)).as_posix()
