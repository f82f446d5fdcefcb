"""MLflow: parameters, metrics, training record, and the model as a pyfunc that is no pickle."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from swaprank.errors import import_extra
from swaprank.rankers.ranker import Ranker
from swaprank.trackers.tracker import Tracker, tracked_name
from swaprank.version import __version__

_SECONDS = 1.0
"""Metrics are sent after so much time, because a server takes longer than a tree."""
_MAX_BATCH = 500
"""Metrics of one request; MLflow takes 1,000."""
_LONGEST = 500
"""Characters of a parameter; servers of all versions take so many."""


@final
class MLflow(Tracker):
    """Track a training with MLflow: in the active run, or in one of its own.

    Metrics are named without "@", which MLflow does not take: `valid/ndcg_at_10`. The model is logged as "model", a
    pyfunc whose content is the `.swaprank` file: `mlflow.pyfunc.load_model(uri).predict(frame)` gives the scores. Where
    runs are kept is MLflow's: `mlflow.set_tracking_uri`, `mlflow.set_experiment`. Needs pip install mlflow-skinny, or
    mlflow.

    Args:
        run_name: The name of a run of its own.
        model: Whether the model is logged, too.

    >>> import swaprank as sr
    >>> tracker = sr.trackers.MLflow(run_name="63 leaves")
    >>> # sr.LambdaMART(n_leaves=63).fit(train, valid=vali, callbacks=[tracker])
    >>> tracker.run_id is None  # the id of the run, once training has started
    True
    """

    def __init__(self, run_name: str | None = None, *, model: bool = True) -> None:
        self.run_name, self.model = run_name, model
        self.run_id: str | None = None
        self._pending: list[Any] = []
        self._sent = 0.0
        self._owns_run = False

    def open(self, parameters: Mapping[str, Any]) -> None:
        """Start a run unless one is active, and log the parameters."""
        mlflow = _mlflow()
        active = mlflow.active_run()
        self._owns_run = active is None
        run = mlflow.start_run(run_name=self.run_name) if active is None else active
        self.run_id, self._pending, self._sent = run.info.run_id, [], time.monotonic()
        try:
            mlflow.log_params({tracked_name(name): str(value)[:_LONGEST] for name, value in parameters.items()})
        except BaseException as error:
            self.close_failed(error)
            raise

    def log_round(self, number: int, values: Mapping[str, float]) -> None:
        """Log metrics, some rounds at a time."""
        entities = _mlflow().entities
        now = int(time.time() * 1000)
        self._pending += [entities.Metric(name, value, now, number) for name, value in values.items()]
        if len(self._pending) >= _MAX_BATCH or time.monotonic() - self._sent > _SECONDS:
            self._send()

    def close(self, ranker: Ranker, files: list[Path], summary: Mapping[str, float]) -> None:
        """Log the training record and the model."""
        mlflow = _mlflow()
        try:
            self._send()
            mlflow.log_metrics(dict(summary))
            mlflow.log_artifact(str(files[1]))
            if self.model:
                mlflow.pyfunc.log_model(
                    name="model",
                    loader_module="swaprank.trackers.mlflow_model",
                    data_path=str(files[0]),
                    pip_requirements=[f"swaprank=={__version__}", "pandas"],
                )
        except BaseException as error:
            self.close_failed(error)
            raise
        self._end("FINISHED")

    def close_failed(self, error: BaseException) -> None:
        """End the run as failed."""
        self._end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")

    def _send(self) -> None:
        if self._pending:
            for first in range(0, len(self._pending), _MAX_BATCH):
                batch = self._pending[first : first + _MAX_BATCH]
                _mlflow().MlflowClient().log_batch(self.run_id, metrics=batch)
        self._pending, self._sent = [], time.monotonic()

    def _end(self, status: str) -> None:
        if self._owns_run:
            _mlflow().end_run(status)
            self._owns_run = False


def _mlflow() -> Any:
    return import_extra("mlflow", "this needs MLflow: pip install mlflow-skinny pandas, or mlflow.")
