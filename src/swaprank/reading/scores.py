"""Scores as text: one number a line."""

from __future__ import annotations

import os

from swaprank.arrays import Floats
from swaprank.reading.compression import replacing


def write_scores(scores: Floats, path: str | os.PathLike[str]) -> None:
    """Write scores, one a line, so that they read back the same; or, on any error, nothing.

    >>> import pathlib, tempfile, numpy as np, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> sr.write_scores(np.array([0.5, 1 / 3]), path)
    >>> sr.read_scores(path)
    array([0.5       , 0.33333333])
    """
    with replacing(path) as stream:
        stream.write("".join(f"{score!r}\n" for score in scores.tolist()).encode())
