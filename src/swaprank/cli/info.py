"""`swaprank info`: what a data file holds."""

from __future__ import annotations

import typer

from swaprank.cli.options import AsJson, DataFile


def info(file: DataFile, json: AsJson = False) -> None:
    """Tell what a data file holds: sizes, list lengths, labels, and features that are missing or constant."""
    from swaprank.reading.by_ending import read
    from swaprank.summary import summarize

    summary = summarize(read(file))
    typer.echo(summary.to_json() if json else str(summary))
