"""`swaprank train`: a ranker from judged documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    data: Annotated[Path, typer.Argument(metavar="TRAIN", help="Judged documents to learn from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model.")],
    valid: Annotated[Path | None, typer.Option(help="Judged documents to measure on after every round.")] = None,
    ranker: Annotated[
        str, typer.Option(help="lambdamart, mart, lambdarank, ranknet, smoothrank or linear_regression.")
    ] = "lambdamart",
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The measure to learn for, such as ndcg@10.")
    ] = "ndcg@10",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the ranker, NAME=VALUE; may be given several times."),
    ] = None,
    base: Annotated[Path | None, typer.Option(help="A model to start from.")] = None,
) -> None:
    """Train a ranker and save it; Ctrl-C ends training early and saves the best model so far."""
    from swaprank.cli.progress import training_bar
    from swaprank.model_files.container import check_target
    from swaprank.model_files.rankers import load
    from swaprank.rankers.by_name import make_ranker
    from swaprank.reading.by_ending import read
    from swaprank.reading.matching import read_matching

    check_target(output)
    if any(setting.startswith("metric=") for setting in settings or []):
        raise typer.BadParameter("give the measure with --metric, not with --set.")
    learner = make_ranker(ranker, [f"metric={metric}", *(settings or [])])
    start = None if base is None else load(base)
    train_data = read(data)
    valid_data = None if valid is None else read_matching(valid, train_data.feature_names)
    with training_bar() as show:
        learner.fit(train_data, valid=valid_data, base=start, callbacks=[show])
    learner.save(output)
    typer.echo(f"{output}: {learner.size_} learned from {len(train_data):,} documents")
    if learner.interrupted_:
        typer.echo("interrupted: this is the best model until then")
    for name, values in learner.history_.items():
        if values:
            best = max(values)
            typer.echo(f"{name}: {best:.4f} after round {values.index(best) + 1}, {values[-1]:.4f} after {len(values)}")
