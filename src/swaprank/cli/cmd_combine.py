"""`swaprank combine`: the exact best mix of two models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, Figure, Threads
from swaprank.cli.output import say, show, tell


def combine(
    first: Annotated[Path, typer.Argument(metavar="A", help="A saved model.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Judged documents that neither has learned from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the combined model.")],
    metric: Annotated[str, typer.Option("--metric", "-m", help="The measure that is to be best.")] = "ndcg@10",
    whole_line: Annotated[bool, typer.Option("--whole-line", help="Any alpha, and not only from 0 to 1.")] = False,
    figure: Figure = None,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Find the alpha for which alpha A + (1 - alpha) B has the best measure there is, and save that model."""
    from swaprank.cli.instrument_values import combination_values
    from swaprank.ensembles.combination import combine as mix
    from swaprank.errors import DataError
    from swaprank.model_files.container import check_target
    from swaprank.reading.read import read_matching
    from swaprank.registry import load
    from swaprank.rendering.figures import check_drawing
    from swaprank.rendering.json_values import json_text

    check_target(output, (first, second, data))
    if figure is not None:
        check_drawing(figure)
    a, b = load(first), load(second)
    if a.n_features_in_ != b.n_features_in_:
        raise DataError(f"{first} has {a.n_features_in_} features, but {second} has {b.n_features_in_}.")
    tell(f"reading {data}")
    judged = read_matching(data, [str(name) for name in a.feature_names_in_])
    both = mix(a, b, judged, metric, whole_line=whole_line, n_threads=threads)
    both.save(output)
    if figure is not None:
        both.draw(figure)
    if json:
        show(json_text({"model": str(output), **combination_values(both)}))
        return
    say(f"{output}: {both.size_}")
    show(both.summary())
    if figure is not None:
        say(f"\n{figure}")
