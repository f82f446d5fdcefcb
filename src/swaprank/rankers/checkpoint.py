"""A file in which training is kept while it goes on, so that it can go on after an interruption."""

import os
from pathlib import Path
from typing import NamedTuple

from swaprank.model_files.container import check_target
from swaprank.parameters import Bounds, check_parameter


class Checkpoint(NamedTuple):
    """Where and how often it is written."""

    path: Path
    every: int
    """After so many rounds."""


def as_checkpoint(path: str | os.PathLike[str] | None, every: int) -> Checkpoint | None:
    """The checkpoint that `fit` was given, checked before training."""
    check_parameter("checkpoint_every", every, Bounds(True, 1, 2**62))
    if path is None:
        return None
    check_target(path)
    return Checkpoint(Path(path), int(every))
