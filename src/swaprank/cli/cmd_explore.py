"""`swaprank explore`: a local page to look at queries."""

from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.completion import complete_metric
from swaprank.cli.options import Columns, Convention, JudgedFile, split_names
from swaprank.cli.output import print_info, print_result
from swaprank.cli.rankings import read_rankings, read_with_documents

ExploreMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=complete_metric,
        help="Metric. Can be repeated.",
        show_default="the metric of the first model, or ndcg@10",
    ),
]


def explore(
    data: JudgedFile,
    rankings: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING...",
            help="One or two models, score files, TREC runs, or columns or features of the data, as RANKING or "
            "NAME=RANKING. The first is compared with the second, or else with the best single feature.",
        ),
    ],
    metric: ExploreMetrics = None,
    convention: Convention = "standard",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page.", show_default="a free one")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    *,
    columns: Columns,
) -> None:
    """Look at queries in a local page: wins and losses, two rankings side by side, why A is above B, and what if."""
    from swaprank.reading.formats import is_table
    from swaprank.reporting.explorer.exploration import Ranking

    judged, given = read_rankings(
        data, split_names(rankings, "rankings", "NAME=RANKING"), columns, read=read_with_documents
    )
    if isinstance(judged, sr.trec.Qrels):
        raise sr.errors.DataError(f"{data} is a qrels file without documents: explore needs documents with features.")
    if len(given) == 1 and is_table(data) and not any(isinstance(each, Ranking) for each in given.values()):
        judged = sr.read(data, **columns)  # the best single feature must be found
    explorer = sr.reporting.explore(
        judged, given, metric or None, convention=convention, port=port, open_browser=browser
    )
    print_result(explorer.url)
    print_info("Press Ctrl-C to end.")
    explorer.wait()
