"""A training run from data files to a model file, and the record that allows repeating it exactly."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, final

from swaprank.data.dataset import Dataset
from swaprank.data.fingerprints import data_fingerprint
from swaprank.environment import versions
from swaprank.errors import DataError, Interrupted, ParameterError
from swaprank.experiments.config_files import toml_text
from swaprank.experiments.model_summary import metric_text, metric_values
from swaprank.experiments.ranker_parameters import check_parameter_names, training_parameters
from swaprank.files import file_digest, replacing, uninterrupted, writable_target, written_directly
from swaprank.model_files.container import check_target
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.reading.read import is_bins, is_table, read, read_matching
from swaprank.registry import load, ranker_class
from swaprank.rendering.json_values import json_number, json_text

FIRST_LINE = "# Written by swaprank; `swaprank train --config` with this file repeats the run."


@final
@dataclass(frozen=True)
class TrainingRun:
    """Everything that a training run depends on.

    >>> from swaprank.experiments.training_run import TrainingRun
    >>> TrainingRun(train="train.txt", output="model.swaprank", parameters={"n_leaves": 7}).record.name
    'model.toml'
    """

    train: str | os.PathLike[str]
    output: str | os.PathLike[str]
    valid: str | os.PathLike[str] | None = None
    base: str | os.PathLike[str] | None = None
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
    """SHA-256 digests that train, valid and base must have."""

    @property
    def record(self) -> Path | None:
        """The file next to the model that records how it was trained; None if the model goes to a device or pipe."""
        return None if written_directly(self.output) else Path(self.output).with_suffix(".toml")

    def make_ranker(self) -> Ranker:
        """Create the unfitted ranker."""
        kind = ranker_class(self.ranker)
        if kind.can.learns_from == "rankers":
            raise ParameterError(
                f"{self.ranker} is made of fitted rankers: use `swaprank combine` for two, sr.stack for any number."
            )
        if kind.can.learns_from == "nothing":
            raise ParameterError(f"{self.ranker} is a model of another library: read one with `swaprank import`.")
        options = {"metric": self.metric, "random_state": self.seed, "n_threads": self.threads}
        known = kind._get_param_names()
        own = {name: value for name, value in options.items() if value is not None and name in known}
        check_parameter_names(self.ranker, self.parameters)
        for name, option in (("metric", "metric"), ("random_state", "seed"), ("n_threads", "threads")):
            if name in own and name in self.parameters:
                raise ParameterError(f"{option} is given twice: as {option} and as the parameter {name}.")
        return kind(**{**self.parameters, **own})


class TrainingResult(NamedTuple):
    """The fitted ranker of a training run, and its data."""

    run: TrainingRun
    ranker: Ranker
    train: Dataset
    valid: Dataset | None
    model_digest: str
    """SHA-256 of the model file; empty if the model went to a device or pipe."""

    def valid_values(self) -> dict[str, Any] | None:
        """The metric on the validation data, of the model and of the best round; None if no round was measured."""
        ranker, metric = self.ranker, str(self.ranker.training_metric())
        history = ranker.history_.get("valid", {}).get(metric)
        if self.valid is None or not history:
            return None
        values = {"value": json_number(ranker.score(self.valid)), "best": json_number(max(history))}
        return {"metric": metric, **values, "best_round": ranker.best_round_, "n_rounds": ranker.n_rounds_}

    def to_json(self) -> str:
        """The result as JSON."""
        values = {
            "model": str(self.run.output),
            "config": None if self.run.record is None else str(self.run.record),
            "ranker": self.ranker.kind,
            "size": self.ranker.size_,
            "n_documents": len(self.train),
            "n_queries": self.train.n_queries,
            "interrupted": self.ranker.interrupted_,
            "valid": self.valid_values(),
        }
        return json_text(values)

    def to_text(self) -> str:
        """The result as plain text."""
        lines = [f"{self.run.output}: {self.ranker.size_}, trained on {len(self.train):,} documents"]
        measured, valid = metric_values(self.ranker), self.valid_values()
        if valid is not None:
            measured = {"valid": {valid["metric"]: valid}}
        lines += [
            f"{name} {metric}: {metric_text(values['value'])}"
            for name, of_set in measured.items()
            for metric, values in of_set.items()
        ]
        if valid is not None and None not in valid.values() and valid["best"] > valid["value"] + 1e-9:
            lines[-1] += f"; the best round had {valid['best']:.4f}"
        if self.ranker.interrupted_:
            lines.append("interrupted: this is the best model so far")
        return "\n".join(lines)


def run_training(
    run: TrainingRun,
    callbacks: Sequence[Callback] = (),
    log: Callable[[str], object] = lambda message: None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> TrainingResult:
    """Read the data, train, and save the model with its training record.

    Ctrl-C after the first round saves the best model so far and raises Interrupted.

    >>> import tempfile, swaprank as sr
    >>> from pathlib import Path
    >>> from swaprank.experiments.training_run import TrainingRun, run_training
    >>> folder = Path(tempfile.mkdtemp())
    >>> sr.write_letor(sr.datasets.random_net((20,), n_features=5, random_state=0)[0], folder / "train.txt")
    >>> run = TrainingRun(folder / "train.txt", folder / "model.swaprank", parameters={"n_trees": 3})
    >>> run_training(run).ranker.n_trees_
    3
    >>> sorted(path.name for path in folder.iterdir())
    ['model.swaprank', 'model.toml', 'train.txt']
    """
    check_outputs(run)
    ranker = run.make_ranker()
    base = None if run.base is None else load(run.base)
    base_digest = None if run.base is None else file_digest(run.base)
    log(f"reading {run.train}")
    train = read_train(run)
    valid = (
        None if run.valid is None else read_matching(run.valid, train.feature_names, train.categories, **run.columns)
    )
    data = {name: data_fingerprint(part) for name, part in (("train", train), ("valid", valid)) if part is not None}
    if base_digest is not None:
        data["base"] = {"digest": base_digest}
    for role, digest in run.expected.items():
        if role in data and data[role]["digest"] != digest:
            raise DataError(
                f"{getattr(run, role)} has changed since the configuration was written (its digest differs): to train "
                f"on it anyway, remove [data.{role}] from the configuration."
            )
    log(f"training {ranker} on {train}")
    interrupted = False
    try:
        ranker.fit(train, valid=valid, base_ranker=base, callbacks=callbacks, checkpoint=checkpoint)
    except Interrupted:
        interrupted = True
    result = None
    try:
        with uninterrupted():
            ranker.save(run.output)
            digest = "" if run.record is None else write_record(run, run.record, ranker, data)
            result = TrainingResult(run, ranker, train, valid, digest)
    except KeyboardInterrupt:
        if result is None:
            raise
        interrupted = True
    if interrupted:
        raise Interrupted(result)
    return result


def write_record(run: TrainingRun, file: Path, ranker: Ranker, data: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the training record: data, ranker, parameters, seed and versions. Returns SHA-256 of the saved model.

    Args:
        run: The paths of the run.
        file: The record, next to the model.
        ranker: The fitted ranker, already saved.
        data: Fingerprints of train, valid and base.
    """
    digest = file_digest(run.output)
    with replacing(file) as stream:
        stream.write(f"{FIRST_LINE}\n{toml_text(_record(run, file.parent, ranker, data, digest))}\n".encode())
    return digest


def read_record(model: str | os.PathLike[str], digest: str) -> dict[str, Any] | None:
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


def read_train(run: TrainingRun) -> Dataset:
    """Read the training data of a run."""
    train = Path(run.train)
    # The names of columns may be those of the validation data.
    columns = {} if is_bins(train) and run.valid is not None else run.columns
    threads = None if is_table(train) else run.threads
    return read(train, n_threads=threads, **columns)


def check_outputs(run: TrainingRun) -> None:
    """Raise DataError if the model or its record cannot be written, or would overwrite another file."""
    for path in (run.train, run.valid, run.base, run.output):
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise DataError(f"{path!r}: the training record cannot have a file name that is not UTF-8.") from None
    check_target(run.output, (run.train, run.valid))
    if run.record == Path(run.output):
        raise DataError(f"{run.output}: this is the name of the training record; end the model's name in .swaprank.")
    if run.record is None:
        return
    writable_target(run.record)
    if run.record.is_file():
        with run.record.open(encoding="utf-8", errors="replace") as stream:
            if stream.readline().rstrip("\n") != FIRST_LINE:
                raise DataError(
                    f"{run.record} would be overwritten by the training record: choose another model name, or move "
                    "this file."
                )


def _record(
    run: TrainingRun, folder: Path, ranker: Ranker, data: Mapping[str, Mapping[str, Any]], model_digest: str
) -> dict[str, Any]:
    """The effective configuration; paths are relative to the folder of the model."""
    paths = {"train": run.train, "valid": run.valid, "base": run.base, "output": run.output}
    parameters = training_parameters(ranker)
    result = {"model": f"{ranker.kind}: {ranker.size_}", "digest": model_digest, "interrupted": ranker.interrupted_}
    return {
        **{name: _relative(folder, path) for name, path in paths.items() if path is not None},
        "ranker": run.ranker,
        "metric": str(ranker.metric),
        **({"seed": parameters.pop("random_state")} if "random_state" in parameters else {}),
        **({"columns": run.columns} if run.columns else {}),
        "parameters": parameters,
        "data": data,
        "versions": versions(),
        "result": result,
    }


def _relative(folder: Path, path: str | os.PathLike[str]) -> str:
    """A path relative to a folder; absolute paths stay absolute."""
    if Path(path).is_absolute():
        return str(path)
    return Path(os.path.relpath(path, folder)).as_posix()
