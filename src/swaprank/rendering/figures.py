"""Create and save Matplotlib figures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from swaprank.errors import MissingExtraError, ParameterError
from swaprank.files import writable_target

SUFFIXES = (".svg", ".png", ".pdf")


def check_drawing(path: Path | None = None) -> None:
    """Raise an error if Matplotlib is missing or the file cannot be written. Call it before long work.

    >>> from pathlib import Path
    >>> from swaprank.rendering.figures import check_drawing
    >>> check_drawing(Path("metric.bmp"))
    Traceback (most recent call last):
    swaprank.errors.ParameterError: metric.bmp: the file name of a figure must end in .svg, .png or .pdf.
    """
    if path is not None:
        if path.suffix.lower() not in SUFFIXES:
            raise ParameterError(f"{path}: the file name of a figure must end in .svg, .png or .pdf.")
        writable_target(path)
    if find_spec("matplotlib") is None:
        raise MissingExtraError('drawing needs Matplotlib: pip install "swaprank[plots]".')


def new_figure(width: float = 7.0, height: float = 4.5) -> tuple[Any, Any]:
    """An empty figure and its axes."""
    check_drawing()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure in the format of the file suffix; the same figure gives the same bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "swaprank", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
