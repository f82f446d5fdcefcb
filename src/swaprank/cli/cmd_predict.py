"""`swaprank predict`: score documents with a saved model."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import Columns, ModelFile, Threads
from swaprank.cli.output import print_info, print_result
from swaprank.cli.rankings import read_for
from swaprank.files import writable_target


def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Documents to score, in any format that train reads.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: one score per line in the order of the documents, or a TREC run if it ends in .run.",
            show_default="standard output",
        ),
    ] = None,
    trees: Annotated[int | None, typer.Option(min=0, help="Use only the first trees.", show_default="all")] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Probabilities or labels in place of scores, after calibrate.")
    ] = False,
    threads: Threads = None,
    *,
    columns: Columns,
) -> None:
    """Score documents with a saved model. They need no relevance labels.

    A table then has no label column, and lines of text start with the query id.
    """
    if output is not None:
        writable_target(output, (model, data))
    ranker = sr.load(model)
    ranker.n_threads = threads
    documents = read_for(ranker, data, columns, unlabeled=True)
    if trees is not None and ranker.model_.n_stages == 0:
        raise sr.errors.ParameterError(f"--trees requires a model made of trees; {model} is a {ranker.kind}.")
    if calibrated and trees is not None:
        raise sr.errors.ParameterError("--calibrated is for all trees: leave out --trees.")
    if calibrated:
        scores = ranker.calibrated(documents)
    else:
        scores = ranker.predict(documents) if trees is None else ranker.predict_stage(documents, trees)
    if output is None:
        print_result("\n".join(map(repr, scores.tolist())))
        return
    if output.suffix == ".run":
        sr.trec.write_run(documents, scores, output)
    else:
        sr.trec.write_scores(scores, output)
    print_info(f"{output}: {len(scores):,} scores")
