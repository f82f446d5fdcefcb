"""A training run on many machines: files in parts, and a model file at the end."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from swaprank.cluster.mpi_training import MPICollective, fit_on_mpi
from swaprank.cluster.parts import Parts
from swaprank.errors import Interrupted, SwaprankError
from swaprank.experiments.training_run import TrainingRun
from swaprank.files import uninterrupted
from swaprank.model_files.container import check_target
from swaprank.rankers.cluster_fit import fit_on_cluster
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.registry import load
from swaprank.rendering.json_values import json_text

_OTHERS_WAIT = 2.0
"""Seconds after which a process of MPI that is not the first reports an error: the first one mostly has the same."""


class ClusterRun(NamedTuple):
    """A training run whose data is read by the workers."""

    run: TrainingRun
    """Ranker, parameters, columns, base and output; there is no training record, because the data is elsewhere."""
    train: Sequence[Path]
    """Files, or one folder."""
    valid: Path | None
    """A file or a folder."""
    checkpoint: Path | None

    def parts(self) -> tuple[Parts, dict[str, Parts]]:
        """The files of the training data and of the validation set."""
        columns = self.run.columns
        train = Parts.read(self.train[0] if len(self.train) == 1 else self.train, **columns)
        return train, {} if self.valid is None else {"valid": Parts.read(self.valid, **columns)}

    def base(self) -> Ranker | None:
        """The model to start from."""
        return None if self.run.base is None else load(self.run.base)


class ClusterResult(NamedTuple):
    """A model that was trained on a cluster and saved."""

    output: str
    ranker: Ranker
    where: str

    def to_text(self) -> str:
        """The result as plain text."""
        lines = [f"{self.output}: {self.ranker.size_}, trained on {self.where}"]
        best = self.ranker.best_round_
        for name, of_set in self.ranker.history_.items() if best else ():
            lines += [f"{name} {metric}: {values[best - 1]:.4f}" for metric, values in of_set.items()]
        if self.ranker.interrupted_:
            lines.append("interrupted: this is the best model so far")
        return "\n".join(lines)

    def to_json(self) -> str:
        """The result as JSON."""
        ranker = self.ranker
        return json_text(
            {
                "model": self.output,
                "ranker": ranker.kind,
                "size": ranker.size_,
                "best_round": ranker.best_round_,
                "n_rounds": ranker.n_rounds_,
                "interrupted": ranker.interrupted_,
            }
        )


def run_on_dask(
    given: ClusterRun, scheduler: str, callbacks: Sequence[Callback], log: Callable[[str], object]
) -> ClusterResult:
    """Train on the workers of a Dask cluster and save the model here."""
    from swaprank.cluster.dask_training import connected

    check_target(given.run.output, (*given.train, given.valid))
    ranker, (train, sets), interrupted = given.run.make_ranker(), given.parts(), False
    with connected(scheduler) as client:
        log(f"training {ranker} on {train} at {client.scheduler.address}")
        try:
            fit_on_cluster(
                ranker, train, valid=sets, base_ranker=given.base(), callbacks=callbacks, checkpoint=given.checkpoint
            )
        except Interrupted:
            interrupted = True
    result = ClusterResult(str(given.run.output), ranker, f"{len(train):,} parts")
    with uninterrupted():
        ranker.save(given.run.output)
    if interrupted:
        raise Interrupted(result)
    return result


def run_on_mpi(given: ClusterRun, callbacks: Callable[[], Sequence[Callback]], exit_code: int) -> ClusterResult | None:
    """Train in all processes of MPI; the first one saves the model and has a result.

    An error in one process ends all of them with the exit code: the others would wait for it.
    """
    collective = MPICollective()
    try:
        ranker, (train, sets) = given.run.make_ranker(), given.parts()
        check_target(given.run.output, (*given.train, given.valid))
        own: dict[str, Any] = {}
        if collective.rank == 0:
            own = {"callbacks": callbacks(), "checkpoint": given.checkpoint}
        counts = fit_on_mpi(ranker, collective, train, sets, base_ranker=given.base(), **own)
        where = f"{counts['train']['documents']:,} documents in {collective.size} processes"
        if collective.rank > 0:
            return None
        ranker.save(given.run.output)
        return ClusterResult(str(given.run.output), ranker, where)
    except SwaprankError as error:
        if collective.size == 1:
            raise
        if collective.rank > 0:
            time.sleep(_OTHERS_WAIT)
        sys.stderr.write(f"error: {error}\n")
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
