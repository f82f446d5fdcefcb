"""`swaprank clicks simulate`: clicks of imaginary people on judged documents."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import Columns, Seed
from swaprank.cli.output import print_info


class People(StrEnum):
    """How people click."""

    POSITION = "position"
    CASCADE = "cascade"
    DBN = "dbn"


def clicks_simulate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Documents with relevance labels, as for train.")],
    ranker: Annotated[
        str, typer.Argument(metavar="RANKER", help="The production ranker: a model, scores, or the name of a feature.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Click log to write: .csv, .tsv or .parquet.")],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions.")] = 10_000,
    model: Annotated[
        People,
        typer.Option(
            help="position: the place decides what is examined. cascade: people stop at the first click. dbn: they "
            "stop if they are satisfied or lose patience."
        ),
    ] = People.POSITION,
    bias: Annotated[float, typer.Option(min=0, help="Place k is examined with probability (1/k)^bias.")] = 1.0,
    trust: Annotated[
        float,
        typer.Option(min=0, help="Examined documents that are not relevant are clicked with probability trust/k."),
    ] = 0.0,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that a document of label 0 is found relevant.")
    ] = 0.1,
    shown: Annotated[int, typer.Option(min=1, help="Number of places on a page.")] = 10,
    moves: Annotated[
        float, typer.Option(min=0, help="How much documents change places between sessions. 0: they never do.")
    ] = 0.5,
    swaps: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the sessions with two neighbours in a random order.")
    ] = 0.0,
    truth: Annotated[
        Path | None, typer.Option(help="JSON file to write the true propensities to.", show_default=False)
    ] = None,
    seed: Seed = 0,
    *,
    columns: Columns,
) -> None:
    """Simulate clicks on judged documents, as a click log with features, to try out methods whose truth is known."""
    from swaprank.cli.rankings import read_ranking
    from swaprank.clicks.log_files import write_clicks
    from swaprank.clicks.simulation import simulate_clicks
    from swaprank.files import writable_target
    from swaprank.reading.read import read

    for target in (output, truth):
        if target is not None:
            writable_target(target, (data,))
    documents, file = read(data, **columns), Path(ranker)
    scores = read_ranking(file, data, documents, columns) if file.exists() else documents.column(ranker)
    log, known = simulate_clicks(
        documents,
        scores,
        sessions,
        model=model.value,
        bias=bias,
        trust=trust,
        noise=noise,
        n_shown=shown,
        moves=moves,
        swaps=swaps,
        random_state=seed,
    )
    write_clicks(log, output)
    print_info(f"{output}: {log}")
    if truth is not None:
        known.propensities.save(truth)
        print_info(f"{truth}: the true propensities")
