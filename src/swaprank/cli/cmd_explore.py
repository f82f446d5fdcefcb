"""`swaprank explore`: a local page to look at queries."""

from pathlib import Path
from typing import Annotated, Any

import typer

import swaprank as sr
from swaprank.cli.options import Columns, Convention, JudgedFile, split_names
from swaprank.cli.output import print_info, print_result
from swaprank.cli.rankings import is_model, load_any, read_for

ExploreMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", help="Metric. Can be repeated.", show_default="the metric of the first model, or ndcg@10"
    ),
]


def explore(
    data: JudgedFile,
    rankings: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING...",
            help="One or two rankings as NAME=VALUE or VALUE: a model, a file of scores, a TREC run, or a feature. The "
            "first is compared with the second, or else with the best single feature.",
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
    named = split_names(rankings, "rankings", "NAME=VALUE")
    given = {name: _given(value) for name, value in named.items()}
    judged = _read(data, given, columns)
    explorer = sr.reporting.explore(
        judged, given, metric or None, convention=convention, port=port, open_browser=browser
    )
    print_result(explorer.url)
    print_info("Press Ctrl-C to end.")
    explorer.wait()


def _given(value: str) -> Any:
    """A ranker, scores, or a name that the data must have."""
    file = Path(value)
    if not file.is_file():
        return value
    if is_model(file) or file.suffix in (".json", ".ubj"):
        return load_any(file)
    return sr.read_scores(file)


def _read(data: Path, given: dict[str, Any], columns: Columns) -> sr.Dataset:
    """The judged documents, with the features of the models: a sparse file may lack the last ones."""
    from swaprank.reading.read import read_judged

    judged = read_judged(data, **columns)
    if isinstance(judged, sr.trec.Qrels):
        raise sr.errors.DataError(f"{data} is a qrels file without features: explore needs documents with features.")
    for ranker in given.values():
        if isinstance(ranker, sr.Ranker) and not set(ranker.feature_names_in_) <= set(judged.feature_names):
            return read_for(ranker, data, columns)
    return judged
