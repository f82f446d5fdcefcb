"""TensorBoard: metrics as curves, parameters and training record as text."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from swaprank.errors import MissingExtraError, import_extra
from swaprank.rankers.ranker import Ranker
from swaprank.trackers.tracker import Tracker


@final
class TensorBoard(Tracker):
    """Write what `tensorboard --logdir FOLDER` shows. Needs pip install tensorboardX, or PyTorch with tensorboard.

    Args:
        folder: Where the event files of this run are written, such as "runs/63 leaves".

    >>> import swaprank as sr
    >>> tracker = sr.trackers.TensorBoard("runs/63 leaves")
    >>> # sr.LambdaMART(n_leaves=63).fit(train, valid=vali, callbacks=[tracker])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._writer: Any = None

    def open(self, parameters: Mapping[str, Any]) -> None:
        """Open the folder, and write the parameters as a table."""
        self._writer = _writer_class()(str(self.folder))
        rows = [f"| {name} | {value} |" for name, value in parameters.items()]
        self._writer.add_text("parameters", "\n".join(["| parameter | value |", "|---|---|", *rows]))

    def log_round(self, number: int, values: Mapping[str, float]) -> None:
        """Write metrics."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, number)

    def close(self, ranker: Ranker, files: list[Path], summary: Mapping[str, float]) -> None:
        """Write the training record."""
        self._writer.add_text("training record", f"```\n{files[1].read_text('utf-8')}```")
        self._writer.close()

    def close_failed(self, error: BaseException) -> None:
        """Close the file."""
        self._writer.close()


def _writer_class() -> Any:
    advice = "this needs a writer of TensorBoard's files: pip install tensorboardX."
    try:
        return import_extra("tensorboardX", advice).SummaryWriter
    except MissingExtraError:
        return import_extra("torch.utils.tensorboard", advice).SummaryWriter
