"""Grid search: train every candidate and keep the best on a validation set. Checkpoints allow resuming."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from sklearn.base import clone

from swaprank.errors import DataError
from swaprank.evaluation.evaluate import evaluate
from swaprank.experiments.folds import Parts
from swaprank.experiments.log import Log
from swaprank.experiments.uninterrupted import uninterrupted
from swaprank.files import replacing
from swaprank.metrics.metric import Metric
from swaprank.model_files.configurations import check_configuration, format_parameters, plain_values
from swaprank.model_files.plain_json import from_json, to_json
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.registry import load


class GridTrial(NamedTuple):
    """One trained candidate of a grid."""

    parameters: dict[str, Any]
    value: float
    """The metric on the validation set."""
    seconds: float


class SearchResult(NamedTuple):
    """The best candidate of a grid, fitted, and all trials."""

    ranker: Ranker
    best: GridTrial
    trials: list[GridTrial]


@final
class Checkpoint:
    """The finished trials of a grid and the best ranker so far.

    Args:
        grid: All candidates.
        path: Trials are saved to path + ".json" and the best model to path + ".swaprank" after every trial, and are
            loaded from there if they exist. If None, they are only kept in memory.
        configuration: What the trials depend on; saved trials must have the same.
    """

    def __init__(
        self,
        grid: Sequence[dict[str, Any]],
        path: Path | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.grid = grid
        self.path = path
        self.configuration = dict(configuration or {})
        self.trials: list[GridTrial] = []
        self._ranker: Ranker | None = None
        if path is not None and self._file(".json").exists():
            self._load(self._file(".json"))

    @property
    def best(self) -> GridTrial:
        """The trial with the highest value; the first of equal ones."""
        return max(self.trials, key=lambda trial: trial.value)

    @property
    def ranker(self) -> Ranker:
        """The ranker of the best trial, fitted."""
        if self._ranker is None:
            self._ranker = load(self._file(".swaprank"))
        return self._ranker

    def add(self, trial: GridTrial, ranker: Ranker) -> None:
        """Add a finished trial and save it."""
        with uninterrupted():
            self.trials.append(trial)
            if self.best is trial:
                self._ranker = ranker
                if self.path is not None:
                    ranker.save(self._file(".swaprank"))
            if self.path is not None:
                content = {"configuration": self.configuration, "trials": [each._asdict() for each in self.trials]}
                with replacing(self._file(".json")) as stream:
                    stream.write(to_json(content))

    def _file(self, ending: str) -> Path:
        assert self.path is not None  # noqa: S101
        return self.path.with_name(self.path.name + ending)

    def _load(self, file: Path) -> None:
        try:
            content = from_json(file.read_bytes())
            saved, trials = dict(content["configuration"]), [GridTrial(**each) for each in content["trials"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{file} is damaged ({error}): delete it to start over.") from None
        grid = [plain_values(candidate) for candidate in self.grid]
        finished = [trial.parameters for trial in trials]
        # A grid may have new candidates, but every saved trial must belong to it.
        current = finished if all(candidate in grid for candidate in finished) else grid
        check_configuration(file, {**saved, "grid": finished}, {**self.configuration, "grid": current})
        if not self._file(".swaprank").exists():
            raise DataError(f"{self._file('.swaprank')} is missing: delete {file} to start over.")
        # JSON has lists where the grid may have tuples.
        self.trials = [trial._replace(parameters=self.grid[grid.index(trial.parameters)]) for trial in trials]


def grid_search(
    ranker: Ranker, metric: Metric, parts: Parts, checkpoint: Checkpoint, callbacks: Sequence[Callback], log: Log
) -> SearchResult:
    """Train every candidate that the checkpoint does not have yet, and return the best on the validation set.

    Ctrl-C raises KeyboardInterrupt; the interrupted training does not count as a trial.
    """
    finished = [trial.parameters for trial in checkpoint.trials]
    remaining = [candidate for candidate in checkpoint.grid if candidate not in finished]
    if finished:
        log(f"{len(finished)} of {len(checkpoint.grid)} already trained" if remaining else "already trained")
    for candidate in remaining:
        started = time.perf_counter()
        learner: Ranker = clone(ranker).set_params(**candidate)
        learner.fit(parts.train, valid=parts.vali, metrics=[metric], callbacks=callbacks)
        value = evaluate(parts.vali, learner.predict(parts.vali), [metric], n_threads=learner.n_threads).results[0].mean
        seconds = time.perf_counter() - started
        # If the metric is undefined on every validation query, all candidates are equal.
        checkpoint.add(GridTrial(candidate, value if value == value else 0.0, seconds), learner)
        label = f"{format_parameters(candidate)}: " if candidate else ""
        log(f"{label}vali {metric} {value:.4f}, {learner.size_}, {seconds:.1f} s")
    return SearchResult(checkpoint.ranker, checkpoint.best, checkpoint.trials)
