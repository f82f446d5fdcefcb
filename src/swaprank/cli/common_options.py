"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

_FORMATS = (
    "LETOR/SVMlight text (.txt .letor .svm .dat, also with .gz .xz .zst), a table (.csv .tsv .parquet .arrow), "
    "or bins (.bins, see swaprank bin)"
)

JudgedFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help=f"Documents with relevance labels: {_FORMATS}; or TREC qrels (text with four columns)."
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by train, tune or combine.")]
TrainFile = Annotated[Path, typer.Argument(metavar="TRAIN", help=f"Training data: {_FORMATS}.")]
InfoFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help=f"Data file: {_FORMATS}; or a model file.", show_default=False),
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Draw a figure to this file (.svg, .png or .pdf). Requires Matplotlib.")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed. The same seed gives the same output.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="Number of threads. It does not change the result.", show_default="all cores"),
]
Metrics = Annotated[
    list[str],
    typer.Option("--metric", "-m", help="Metric, such as ndcg@10, map or 'p@5(rel=2)'. Can be repeated."),
]
TrainingMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        help="Metric to optimize, such as ndcg@10.",
        show_default="the ranker's default, usually ndcg@10",
    ),
]
ModelMetric = Annotated[
    str | None, typer.Option("--metric", "-m", help="Metric.", show_default="the metric the model was trained for")
]
Convention = Annotated[
    str, typer.Option(help="Convention of the metric names: standard, trec, letor, mslr or lightgbm.")
]
RankerName = Annotated[
    str | None,
    typer.Option(
        "--ranker",
        help="Ranker, such as lambdamart or smoothrank. `swaprank info --rankers` lists all.",
        show_default="lambdamart",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of the ranker, such as n_leaves=15. Can be repeated. `swaprank info --ranker lambdamart` lists "
        "the parameters of LambdaMART.",
    ),
]
Columns: TypeAlias = dict[str, Any]
"""What `with_table_columns` gives to a command: the names of columns, as keywords of `swaprank.read`."""
LogFile = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="Click log: a table (.csv .tsv .parquet) with a row for each document that was shown in a session.",
    ),
]
PropensityFile = Annotated[
    Path | None,
    typer.Option("--propensities", help="JSON file of `swaprank clicks propensity`.", show_default="from the log"),
]
LogColumns: TypeAlias = dict[str, Any]
"""What `with_table_columns` gives to a command that reads a click log: keywords of `swaprank.clicks.read_clicks`."""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def names_or_file(given: str | None) -> list[str] | Path | None:
    """Names that are separated by commas, or the path of a file.

    >>> from swaprank.cli.common_options import names_or_file
    >>> names_or_file("bm25, age"), names_or_file("bm25,")
    (['bm25', 'age'], ['bm25'])
    """
    if given is None or "," not in given or Path(given).exists():
        return None if given is None else Path(given)
    return [name.strip() for name in given.split(",") if name.strip()]


def split_names(arguments: list[str], what: str, form: str) -> dict[str, str]:
    """Arguments of the form NAME=VALUE by name; VALUE alone is its own name."""
    named: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        # The path of an existing file may contain "=".
        if not equals or Path(argument).exists():
            name = value = argument
        if name in named:
            raise typer.BadParameter(f"two {what} are named '{name}': write {form}.")
        named[name] = value
    return named
