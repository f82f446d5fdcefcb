"""`swaprank predict`: scores from a saved ranker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import ModelFile, Threads
from swaprank.cli.output import say, show, tell


def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Documents to score, in a file as for train.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write scores, one a line in the order of the rows; a TREC run if it ends in .run.",
            show_default="printed",
        ),
    ] = None,
    trees: Annotated[int | None, typer.Option(min=0, help="Use the first trees only.")] = None,
    threads: Threads = None,
) -> None:
    """Score documents with a saved ranker."""
    from swaprank.errors import ParameterError
    from swaprank.files import writable_target
    from swaprank.reading.read import read_matching
    from swaprank.reading.score_files import write_scores
    from swaprank.reading.trec import write_run
    from swaprank.registry import load

    if output is not None:
        writable_target(output, (model, data))
    ranker = load(model)
    ranker.n_threads = threads
    tell(f"reading {data}")
    documents = read_matching(data, [str(name) for name in ranker.feature_names_in_])
    if trees is not None and ranker.model_.n_stages == 0:
        raise ParameterError(f"--trees is for rankers made of trees; {model} is a {ranker.kind}.")
    scores = ranker.predict(documents, **({} if trees is None else {"n_trees": trees}))
    if output is None:
        show("\n".join(map(repr, scores.tolist())))
        return
    if output.suffix == ".run":
        write_run(documents, scores, output)
    else:
        write_scores(scores, output)
    say(f"{output}: {len(scores):,} scores")
