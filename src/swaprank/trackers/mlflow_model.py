"""What MLflow loads as a pyfunc: a `.swaprank` file, which holds no code."""

from pathlib import Path
from typing import Any, final

from swaprank.arrays import Floats
from swaprank.rankers.ranker import Ranker
from swaprank.registry import load


@final
class PyfuncModel:
    """A ranker with the methods of a pyfunc: `predict` of a frame gives one score per row."""

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Floats:
        """One score per row; columns are matched by name, in any order."""
        return self.ranker.predict(model_input)


def _load_pyfunc(path: str) -> PyfuncModel:
    """Called by MLflow with the model file, or with the folder that holds it."""
    file = Path(path)
    return PyfuncModel(load(next(file.glob("*.swaprank")) if file.is_dir() else file))
