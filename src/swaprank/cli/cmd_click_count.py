"""`swaprank clicks count`: count the clicks of logs that do not fit in memory."""

from pathlib import Path
from typing import Annotated, Any

import typer

import swaprank as sr
from swaprank.cli.options import LogColumns
from swaprank.cli.output import print_info
from swaprank.errors import ParameterError
from swaprank.files import writable_target

_COUNTED = ("qid", "docid", "position", "click", "context", "binary")
"""Options of a log that counts have a use for. Sessions are not counted, but their column may be named as elsewhere."""


def clicks_count(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Click logs, or folders of them: .csv .tsv .parquet.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of counts to write: .csv, .tsv or .parquet.")],
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", metavar="FILE", help="Counts to add, such as yesterday's. Can be repeated."),
    ] = None,
    *,
    log_columns: LogColumns,
) -> None:
    """Count how often each document was shown and clicked at each position, block by block.

    `swaprank clicks propensity --counts` reads the counts. Memory does not grow with the length of the logs.
    """
    unused = [f"--{name}" for name in log_columns if name not in (*_COUNTED, "session")]
    if unused:
        raise ParameterError(f"counts have no use for {', '.join(unused)}.")
    # A file of counts may be written in place of the one that is added.
    writable_target(output, tuple(logs))
    counts = sr.clicks.count_clicks(logs, **{name: log_columns[name] for name in _COUNTED if name in log_columns})
    for file in add or []:
        counts = counts + _load(file, log_columns.get("context", []))
    counts.save(output)
    print_info(f"{output}: {counts}")


def _load(file: Path, context: list[str]) -> Any:
    """Counts of an earlier day, which must have the same context: a forgotten one would be lost."""
    from swaprank.reading.tables import polars_table

    counts = sr.clicks.LogCounts.load(file, context=context)
    more = set(polars_table(file, []).columns) - set(counts.columns())
    if more:
        raise ParameterError(f"{file} has counts by {', '.join(sorted(more))}: name it with --context.")
    return counts
