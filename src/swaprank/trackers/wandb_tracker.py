"""Weights & Biases: parameters, metrics, and an artifact with model and training record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from swaprank.errors import import_extra
from swaprank.rankers.ranker import Ranker
from swaprank.trackers.tracker import Tracker


@final
class WandB(Tracker):
    """Track a training with Weights & Biases: in the current run, or in one of its own. Needs pip install wandb.

    Args:
        project: The project of a run of its own.
        name: The name of a run of its own.
        model: Whether model and training record are kept as an artifact of the type "model".
        settings: More arguments of `wandb.init`, such as mode="offline".

    >>> import swaprank as sr
    >>> tracker = sr.trackers.WandB("shop", mode="offline")
    >>> # sr.LambdaMART().fit(train, valid=vali, callbacks=[tracker])
    """

    def __init__(
        self, project: str | None = None, *, name: str | None = None, model: bool = True, **settings: Any
    ) -> None:
        self.project, self.name, self.model, self.settings = project, name, model, settings
        self._run: Any = None
        self._owns_run = False

    def open(self, parameters: Mapping[str, Any]) -> None:
        """Start a run unless there is one, and keep the parameters as its configuration."""
        wandb = _wandb()
        self._owns_run = wandb.run is None
        self._run = wandb.init(project=self.project, name=self.name, **self.settings) if self._owns_run else wandb.run
        self._run.config.update(dict(parameters), allow_val_change=True)

    def log_round(self, number: int, values: Mapping[str, float]) -> None:
        """Log metrics with the round."""
        # Not as step=: a run that is not ours may have steps already, and they must not go back.
        self._run.log({**values, "round": number})

    def close(self, ranker: Ranker, files: list[Path], summary: Mapping[str, float]) -> None:
        """Keep the model."""
        try:
            self._run.summary.update(dict(summary))
            if self.model:
                artifact = _wandb().Artifact(f"{ranker.kind}-{self._run.id}", type="model")
                for file in files:
                    artifact.add_file(str(file))
                logged = self._run.log_artifact(artifact)
                if self.settings.get("mode") not in ("offline", "disabled"):
                    logged.wait()  # The files are deleted afterwards.
        except BaseException as error:
            self.close_failed(error)
            raise
        self._end(0)

    def close_failed(self, error: BaseException) -> None:
        """End the run as failed."""
        self._end(1)

    def _end(self, exit_code: int) -> None:
        if self._owns_run:
            self._run.finish(exit_code=exit_code)
        self._run, self._owns_run = None, False


def _wandb() -> Any:
    return import_extra("wandb", "this needs Weights & Biases: pip install wandb.")
