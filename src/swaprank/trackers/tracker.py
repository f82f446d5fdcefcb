"""What every tracker does: parameters at the start, metrics of the rounds, model and training record at the end."""

import math
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.data.fingerprints import data_fingerprint
from swaprank.environment import versions
from swaprank.metrics.metric import Metric
from swaprank.rankers.observers import Observer
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Progress
from swaprank.rendering.result import json_text

MODEL, RECORD = "model.swaprank", "training.json"
"""The files that a tracker keeps of a training."""


class Tracker(Observer, ABC):
    """The base class of trackers; implement `open`, `log_round` and `close` for one of your own.

    >>> import swaprank as sr
    >>> class Printing(sr.trackers.Tracker):
    ...     def open(self, parameters):
    ...         print("n_trees:", parameters["n_trees"])
    ...
    ...     def log_round(self, number, values):
    ...         print(number, *values)
    ...
    ...     def close(self, ranker, files, summary):
    ...         print(*(file.name for file in files), summary["best_round"])
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=1).fit(train, valid=vali, callbacks=[Printing()])
    n_trees: 1
    1 valid/ndcg_at_10
    model.swaprank training.json 1
    """

    _sets: Mapping[str, Any] = {}

    @abstractmethod
    def open(self, parameters: Mapping[str, Any]) -> None:
        """Open a run with these parameters."""

    @abstractmethod
    def log_round(self, number: int, values: Mapping[str, float]) -> None:
        """Keep the metrics of a round; values that are not finite are left out."""

    @abstractmethod
    def close(self, ranker: Ranker, files: list[Path], summary: Mapping[str, float]) -> None:
        """Keep the files, model first and then training record, and end the run. The files are deleted afterwards."""

    def close_failed(self, error: BaseException) -> None:
        """End a run that an error stopped."""

    def started(self, ranker: Ranker, sets: Mapping[str, Any]) -> None:
        """Open a run with the ranker's parameters."""
        self._sets = sets
        self.open({"ranker": ranker.kind, **tracked_parameters(ranker)})

    def __call__(self, progress: Progress) -> None:
        """Keep the metrics of a round."""
        self.log_round(progress.round, metric_values(progress.measured))

    def ended(self, ranker: Ranker) -> None:
        """Keep model and training record."""
        sets, self._sets = self._sets, {}
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / MODEL, Path(folder) / RECORD]
            try:
                ranker.save(files[0])
                files[1].write_text(json_text(training_record(ranker, sets)) + "\n", "utf-8")
            except BaseException as error:
                self.close_failed(error)
                raise
            self.close(ranker, files, {"best_round": ranker.best_round_, "n_rounds": ranker.n_rounds_})

    def failed(self, error: BaseException) -> None:
        """End the run."""
        self._sets = {}
        self.close_failed(error)


def tracked_name(name: str) -> str:
    """A name of letters, digits and `_.-/`, which every tracker accepts.

    >>> from swaprank.trackers.tracker import tracked_name
    >>> tracked_name("ndcg@10"), tracked_name("rbp(p=0.8)"), tracked_name("valid/map")
    ('ndcg_at_10', 'rbp_p_0.8', 'valid/map')
    """
    return re.sub(r"[^\w./-]+", "_", name.replace("@", "_at_"), flags=re.ASCII).strip("_")


def metric_values(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The metrics of a round by name, such as "valid/ndcg_at_10", without those that are not finite.

    >>> from swaprank.trackers.tracker import metric_values
    >>> metric_values({"valid": {"ndcg@10": 0.5, "map": float("nan")}})
    {'valid/ndcg_at_10': 0.5}
    """
    return {
        f"{tracked_name(name)}/{tracked_name(metric)}": float(value)
        for name, of_set in measured.items()
        for metric, value in of_set.items()
        if math.isfinite(value)
    }


def tracked_parameters(ranker: Ranker) -> dict[str, Any]:
    """The parameters of a ranker as text, numbers, true or false; other rankers by their text.

    >>> import swaprank as sr
    >>> from swaprank.trackers.tracker import tracked_parameters
    >>> tracked_parameters(sr.LambdaMART(metric="err", n_trees=50))["n_trees"]
    50
    """
    return {name: _plain(getattr(ranker, name)) for name in ranker.declared}


def _plain(value: Any) -> Any:
    return str(value) if value is None or isinstance(value, Metric) else _number_or_text(value)


def _number_or_text(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)


def training_record(ranker: Ranker, sets: Mapping[str, Any]) -> dict[str, Any]:
    """How a model was trained: ranker, parameters, seed, sizes and digests of the data, versions, rounds.

    >>> import swaprank as sr
    >>> from swaprank.trackers.tracker import training_record
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> record = training_record(sr.LambdaMART(n_trees=2).fit(train), {"train": train})
    >>> record["result"]["model"], record["data"]["train"]["queries"]
    ('lambdamart: 2 trees', 20)
    """
    return {
        "ranker": ranker.kind,
        "parameters": tracked_parameters(ranker),
        "seed": ranker.learned_.seed,
        # Data on a cluster is not here.
        "data": {name: data_fingerprint(each) for name, each in sets.items() if isinstance(each, Dataset)},
        "versions": versions(),
        "result": {
            "model": f"{ranker.kind}: {ranker.size_}",
            "best_round": ranker.best_round_,
            "n_rounds": ranker.n_rounds_,
            "interrupted": ranker.interrupted_,
        },
    }
