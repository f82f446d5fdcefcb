"""Training from data files to a model file with its training record: here, on a Dask cluster, or with MPI."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import swaprank as sr
from swaprank.cluster.dask_launcher import Dask, connected
from swaprank.cluster.mpi_training import MPICollective, fit_on_mpi
from swaprank.data.fingerprints import data_fingerprint
from swaprank.errors import DataError, Interrupted, SwaprankError
from swaprank.experiments.model_summary import metric_text, metric_values
from swaprank.experiments.training_run import AnyPath, TrainingRun, check_outputs, read_train, write_record
from swaprank.files import existing_file, file_digest, uninterrupted
from swaprank.rankers.endings import ending
from swaprank.rankers.on_cluster import learn_on_cluster
from swaprank.rankers.rounds import Callback, as_checkpoint
from swaprank.reading.read import read_matching
from swaprank.rendering.escaping import printable
from swaprank.rendering.result import json_text, plain

_OTHERS_WAIT = 2.0
"""Seconds after which a process of MPI that is not the first reports an error: the first one mostly has the same."""


class TrainingResult(NamedTuple):
    """The fitted ranker of a training run, and facts about its data."""

    run: TrainingRun
    ranker: sr.Ranker
    data: Mapping[str, Mapping[str, Any]]
    """Sizes of train and valid, and digests of train, valid and base_ranker as far as they are known."""
    model_digest: str
    """SHA-256 of the model file; empty if the model went to a device or pipe."""
    valid: sr.Dataset | None = None
    """The validation data, if it is in this process."""
    divided: str = ""
    """The number of parts or processes on a cluster, in words."""

    def valid_values(self) -> dict[str, Any] | None:
        """The metric on the validation data, of the model and of the best round; None if no round was measured."""
        ranker, metric = self.ranker, str(self.ranker.training_metric())
        history = ranker.history_.get("valid", {}).get(metric)
        if not history:
            return None
        kept = metric_values(ranker)["valid"][metric]["value"]
        value = kept if self.valid is None else plain(ranker.score(self.valid))
        rounds = {"best_round": ranker.best_round_, "n_rounds": ranker.n_rounds_}
        return {"metric": metric, "value": value, "best": plain(max(history)), **rounds}

    def to_json(self) -> str:
        """The result as JSON."""
        values = {
            "model": str(self.run.output),
            "config": None if self.run.record is None else str(self.run.record),
            "ranker": self.ranker.kind,
            "size": self.ranker.size_,
            "n_documents": self.data["train"]["documents"],
            "n_queries": self.data["train"]["queries"],
            "best_round": self.ranker.best_round_,
            "n_rounds": self.ranker.n_rounds_,
            "interrupted": self.ranker.interrupted_,
            "valid": self.valid_values(),
        }
        return json_text(values)

    def to_text(self) -> str:
        """The result as plain text."""
        documents = f"{self.data['train']['documents']:,} documents" + (f" in {self.divided}" if self.divided else "")
        lines = [f"{self.run.output}: {self.ranker.size_}, trained on {documents}"]
        ended = ending(self.ranker)
        # It has the value on the validation data, if there is any.
        lines += self._metric_lines() if ended is None else [ended.for_command_line()]
        if self.ranker.interrupted_:
            lines.append("interrupted: this is the best model so far")
        return "\n".join(lines)

    def _metric_lines(self) -> list[str]:
        """What was measured during training, one line for each set and metric."""
        measured, valid = metric_values(self.ranker), self.valid_values()
        if valid is not None:
            measured = {"valid": {valid["metric"]: valid}}
        lines = [
            f"{name} {metric}: {metric_text(values['value'])}"
            for name, of_set in measured.items()
            for metric, values in of_set.items()
        ]
        if valid is not None and None not in valid.values() and valid["best"] > valid["value"] + 1e-9:
            lines[-1] += f"; the best round had {valid['best']:.4f}"
        return lines


def run_training(
    run: TrainingRun,
    callbacks: Sequence[Callback] = (),
    log: Callable[[str], object] = lambda message: None,
    checkpoint: AnyPath | None = None,
) -> TrainingResult:
    """Read the data, train, and save the model with its training record.

    Ctrl-C after the first round saves the best model so far and raises Interrupted.

    >>> import tempfile, swaprank as sr
    >>> from pathlib import Path
    >>> from swaprank.experiments.training import run_training
    >>> from swaprank.experiments.training_run import TrainingRun
    >>> folder = Path(tempfile.mkdtemp())
    >>> sr.write_letor(sr.datasets.random_net((20,), n_features=5, random_state=0)[0], folder / "train.txt")
    >>> run = TrainingRun(folder / "train.txt", folder / "model.swaprank", parameters={"n_trees": 3})
    >>> run_training(run).ranker.n_trees_
    3
    >>> sorted(path.name for path in folder.iterdir())
    ['model.swaprank', 'model.toml', 'train.txt']
    """
    ranker, base, base_data = _start(run, checkpoint)
    log(f"reading {run.train}")
    train = read_train(run)
    valid = (
        None if run.valid is None else read_matching(run.valid, train.feature_names, train.categories, **run.columns)
    )
    sets = {"train": train} if valid is None else {"train": train, "valid": valid}
    data = {name: data_fingerprint(each) for name, each in sets.items()} | base_data
    _check_unchanged(run, data)
    log(f"training {ranker} on {train}")
    with suppress(Interrupted):
        ranker.fit(train, valid=valid, base_ranker=base, callbacks=callbacks, checkpoint=checkpoint)
    return _save(TrainingResult(run, ranker, data, "", valid))


def run_on_dask(
    run: TrainingRun,
    scheduler: str,
    callbacks: Sequence[Callback] = (),
    log: Callable[[str], object] = lambda message: None,
    checkpoint: AnyPath | None = None,
    max_restarts: int = 3,
) -> TrainingResult:
    """Train on the workers of a Dask cluster, and save the model with its training record here."""
    ranker, base, base_data = _start(run, checkpoint)
    train, sets = _parts(run)
    with connected(scheduler) as client:
        log(f"training {ranker} on {train} at {client.scheduler.address}")
        trained = learn_on_cluster(
            ranker,
            train,
            sets,
            base_ranker=base,
            callbacks=callbacks,
            checkpoint=as_checkpoint(checkpoint),
            cluster=Dask(client, max_restarts=max_restarts),
            notice=log,
        )
    ranker.learned_ = trained.learned
    return _save(TrainingResult(run, ranker, {**trained.counts, **base_data}, "", divided=f"{len(train):,} parts"))


def run_on_mpi(
    run: TrainingRun, callbacks: Callable[[], Sequence[Callback]], exit_code: int, checkpoint: AnyPath | None = None
) -> TrainingResult | None:
    """Train in all processes of MPI; the first one saves the model with its training record, and has a result.

    An error in one process ends all of them with the exit code: the others would wait for it.
    """
    collective = MPICollective()
    try:
        ranker, base, base_data = _start(run, checkpoint)
        train, sets = _parts(run)
        own = {"callbacks": callbacks(), "checkpoint": checkpoint} if collective.rank == 0 else {}
        data = fit_on_mpi(ranker, collective, train, sets, base_ranker=base, **own)
        if collective.rank > 0:
            return None
        return _save(TrainingResult(run, ranker, {**data, **base_data}, "", divided=f"{collective.size} processes"))
    except Interrupted:
        raise
    except SwaprankError as error:
        if collective.size == 1:
            raise
        if collective.rank > 0:
            time.sleep(_OTHERS_WAIT)
        sys.stderr.write(f"error: {printable(error.for_command_line())}\n")
        sys.stderr.flush()
        collective.abort(exit_code)
        os._exit(exit_code)
    except BaseException:
        # The others would wait for ever.
        if collective.size > 1:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            collective.abort(1)
        raise


def _start(run: TrainingRun, checkpoint: AnyPath | None) -> tuple[Any, sr.Ranker | None, dict[str, dict[str, Any]]]:
    """The unfitted ranker; the model to start from, and its digest."""
    check_outputs(run, checkpoint)
    ranker = run.make_ranker()
    if run.base_ranker is None:
        return ranker, None, {}
    base_data = {"base_ranker": {"digest": file_digest(existing_file(run.base_ranker))}}
    _check_unchanged(run, base_data)
    return ranker, sr.load(run.base_ranker), base_data


def _check_unchanged(run: TrainingRun, data: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise DataError if data has another digest than the configuration has."""
    for role, fingerprint in data.items():
        if run.expected.get(role, fingerprint["digest"]) != fingerprint["digest"]:
            raise DataError(
                f"{getattr(run, role)} has changed since the configuration was written (its digest differs): to train "
                f"on it anyway, remove [data.{role}] from the configuration."
            )


def _parts(run: TrainingRun) -> tuple[sr.Parts, dict[str, sr.Parts]]:
    """The files of the training data and of the validation set, which the workers read."""
    train = sr.Parts.read(run.train_files[0] if len(run.train_files) == 1 else run.train_files, **run.columns)
    return train, {} if run.valid is None else {"valid": sr.Parts.read(run.valid, **run.columns)}


def _save(result: TrainingResult) -> TrainingResult:
    """Save the model with its training record; raises Interrupted, with the result, if Ctrl-C was pressed."""
    run, ranker, saved = result.run, result.ranker, None
    interrupted = ranker.interrupted_
    try:
        with uninterrupted():
            ranker.save(run.output)
            digest = "" if run.record is None else write_record(run, run.record, ranker, result.data)
            saved = result._replace(model_digest=digest)
    except KeyboardInterrupt:
        if saved is None:
            raise
        interrupted = True
    if interrupted:
        raise Interrupted(saved)
    return saved
