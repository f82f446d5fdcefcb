"""A training run from files to a model file, and the record beside it from which it can be repeated exactly."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, final

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.experiments.config_files import toml_text
from swaprank.experiments.fingerprints import data_facts, versions
from swaprank.experiments.ranker_parameters import check_names, plain_parameters
from swaprank.files import replacing
from swaprank.model_files.container import check_target
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.reading.read import read, read_matching
from swaprank.registry import load, ranker_class

FIRST_LINE = "# Written by swaprank; `swaprank train --config` with this file repeats the run."


@final
@dataclass(frozen=True)
class TrainingRun:
    """All that a training run depends on.

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
    """What the ranker has by itself, if not given."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    threads: int | None = None
    expected: Mapping[str, str] = field(default_factory=dict)
    """Digests that train, valid and base must have."""

    @property
    def record(self) -> Path:
        """Where the effective configuration goes: beside the model."""
        return Path(self.output).with_suffix(".toml")

    def make_ranker(self) -> Ranker:
        """The ranker, not yet fitted."""
        kind = ranker_class(self.ranker)
        if kind.made_of_rankers:
            raise ParameterError(
                f"a {self.ranker} is made of fitted rankers: swaprank combine mixes two, sr.stack any number."
            )
        given = {"metric": self.metric, "random_state": self.seed, "n_threads": self.threads}
        own = {name: value for name, value in given.items() if value is not None}
        check_names(self.ranker, self.parameters)
        for name, option in (("metric", "metric"), ("random_state", "seed"), ("n_threads", "threads")):
            if name in own and name in self.parameters:
                raise ParameterError(f"{option} is given twice: once more as the parameter {name}.")
        return kind(**{**self.parameters, **own})


class Trained(NamedTuple):
    """What came out of a training run."""

    ranker: Ranker
    train: Dataset
    valid: Dataset | None
    model_digest: str
    """SHA-256 of the model file."""


def run_training(
    run: TrainingRun, callbacks: Sequence[Callback] = (), tell: Callable[[str], object] = lambda words: None
) -> Trained:
    """Read, train, save the model, and beside it the record of the run.

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
    tell(f"reading {run.train}")
    train = read(run.train, **_threads(run.train, run.threads))
    valid = None if run.valid is None else read_matching(run.valid, train.feature_names)
    facts = {"train": data_facts(train)} | ({} if valid is None else {"valid": data_facts(valid)})
    if base_digest is not None:
        facts["base"] = {"digest": base_digest}
    for role, digest in run.expected.items():
        if role in facts and facts[role]["digest"] != digest:
            raise DataError(
                f"{getattr(run, role)} is not what it was when the configuration was written (its digest is another): "
                f"to train on it all the same, take [data.{role}] out of the configuration."
            )
    tell(f"training {ranker} on {train}")
    ranker.fit(train, valid=valid, base=base, callbacks=callbacks)
    ranker.save(run.output)
    digest = file_digest(run.output)
    write_record(run, ranker, facts, digest)
    return Trained(ranker, train, valid, digest)


def write_record(run: TrainingRun, ranker: Ranker, facts: Mapping[str, Mapping[str, Any]], model_digest: str) -> None:
    """Write what trained a model beside it: data, ranker, parameters, seed and versions.

    Args:
        run: Where everything is.
        ranker: The fitted ranker.
        facts: Sizes and digests of train, valid and base.
        model_digest: Of the model file.
    """
    with replacing(run.record) as stream:
        stream.write(f"{FIRST_LINE}\n{toml_text(_record(run, ranker, facts, model_digest))}\n".encode())


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


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, as sha256sum prints it."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _threads(path: str | os.PathLike[str], threads: int | None) -> dict[str, Any]:
    from swaprank.reading.read import is_table

    return {} if threads is None or is_table(Path(path)) else {"n_threads": threads}


def check_outputs(run: TrainingRun) -> None:
    """Refuse, before long work, places that cannot be written to, and to write over a file that is somebody's own."""
    check_target(run.output, (run.train, run.valid))
    if run.record == Path(run.output):
        raise DataError(f"{run.output}: the record of the run takes this name; let the model end in .swaprank.")
    if run.record.is_file():
        with run.record.open(encoding="utf-8", errors="replace") as stream:
            if stream.readline().rstrip("\n") != FIRST_LINE:
                raise DataError(
                    f"{run.record} would be written over by the record of this run: name the model otherwise, or move "
                    "that file away."
                )


def _record(
    run: TrainingRun, ranker: Ranker, facts: Mapping[str, Mapping[str, Any]], model_digest: str
) -> dict[str, Any]:
    """The effective configuration; paths count from the folder of the model."""
    folder = run.record.parent
    paths = {"train": run.train, "valid": run.valid, "base": run.base, "output": run.output}
    parameters = plain_parameters(ranker)
    result = {"model": f"{ranker.kind}: {ranker.size_}", "digest": model_digest, "interrupted": ranker.interrupted_}
    return {
        **{name: _from(folder, path) for name, path in paths.items() if path is not None},
        "ranker": run.ranker,
        "metric": str(ranker.metric),
        "seed": parameters.pop("random_state"),
        "parameters": parameters,
        "data": facts,
        "versions": versions(),
        "result": result,
    }


def _from(folder: Path, path: str | os.PathLike[str]) -> str:
    """A path as it is called from a folder; absolute ones stay so."""
    if Path(path).is_absolute():
        return str(path)
    return Path(os.path.relpath(path, folder)).as_posix()
