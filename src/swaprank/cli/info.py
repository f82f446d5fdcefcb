"""`swaprank info`: what a data file holds."""

from __future__ import annotations

from swaprank.cli.options import AsJson, DataFile
from swaprank.cli.output import can_show, show


def info(file: DataFile, json: AsJson = False) -> None:
    """Tell what a data file holds: sizes, list lengths, labels, and features that are missing or constant."""
    from swaprank.reading.by_ending import read
    from swaprank.summary import summarize

    summary = summarize(read(file))
    show(summary.to_json() if json else summary.to_text(bar="█" if can_show("█") else "#"))
