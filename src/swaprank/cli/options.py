"""Arguments and options that several commands share, and options that are added to every command.

A command that reads a table has a parameter `columns` (or `log_columns`); it gets an option for each role of a column.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from swaprank.cli.completion import complete_convention, complete_metric, complete_ranker, complete_setting
from swaprank.cli.output import Verbosity, print_detail, stdout_is_taken, verbosity
from swaprank.files import is_standard_output

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
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file of swaprank: train, tune, combine and import write one.")
]
TrainFile = Annotated[Path, typer.Argument(metavar="TRAIN", help=f"Training data: {_FORMATS}.")]
InfoFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help=f"Data file: {_FORMATS}; or a model file.", show_default=False)
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Draw a figure to this file (.svg, .png or .pdf). Requires Matplotlib.")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed. The same seed gives the same output.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of threads. It does not change the result.", show_default="all cores")
]
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        autocompletion=complete_metric,
        help="Metric, such as ndcg@10, map or 'p@5(rel=2)'. Can be repeated.",
    ),
]
LogMetrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        help="Metric that clicks can estimate: 'dcg@10(gain=linear)', p@5, rbp, mrr, success@5. Can be repeated.",
    ),
]
TrainingMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=complete_metric,
        help="Metric to optimize, such as ndcg@10.",
        show_default="the ranker's default, usually ndcg@10",
    ),
]
ModelMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=complete_metric,
        help="Metric.",
        show_default="the metric the model was trained for",
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        autocompletion=complete_convention,
        help="Convention of the metric names: standard, trec, letor, mslr or lightgbm.",
    ),
]
RankerName = Annotated[
    str | None,
    typer.Option(
        "--ranker",
        autocompletion=complete_ranker,
        help="Ranker, such as lambdamart, or lambdamart2010 as in the paper. `swaprank info --rankers` lists all.",
        show_default="lambdamart",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        autocompletion=complete_setting,
        help="Parameter of the ranker, such as n_leaves=15. Can be repeated. `swaprank info --ranker lambdamart` lists "
        "the parameters of LambdaMART.",
    ),
]
Segments = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also show segments of the queries: a column with one value per query; or n_documents or n_relevant, the "
        "size of queries.",
        show_default=False,
    ),
]
Columns: TypeAlias = dict[str, Any]
"""The names of columns that were given, as keywords of `swaprank.read`."""
LogFile = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="Click log: a table (.csv .tsv .parquet) with a row for each document that was shown in a session; or "
        "another --schema.",
    ),
]
PropensityFile = Annotated[
    Path | None,
    typer.Option("--propensities", help="JSON file of `swaprank clicks propensity`.", show_default="from the log"),
]
LogColumns: TypeAlias = dict[str, Any]
"""The form of a click log and the names of its columns, as keywords of `swaprank.clicks.read_clicks`."""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

_PANEL = "Columns of tables"


def _column(name: str, meaning: str, default: str | None = None, *, several: bool = False) -> Any:
    return Annotated[
        list[str] | None if several else str | None,
        typer.Option(
            f"--{name}",
            metavar="COLUMNS" if several else "COLUMN",
            help=f"{meaning}, separated by commas. Can be repeated." if several else meaning,
            show_default=default or False,
            rich_help_panel=_PANEL,
        ),
    ]


_COLUMNS: Mapping[str, Any] = {
    "label": _column("label", "Relevance labels.", "label"),
    "qid": _column("qid", "Query ids.", "qid"),
    "docid": _column("docid", "Document ids."),
    "sample_weight": _column("sample-weight", "Training weights of documents."),
    "query_weight": _column("query-weight", "Training weights of queries."),
    "columns": _column(
        "columns", "Side columns, such as a segment, a price or a baseline: kept, but no features", several=True
    ),
    "features": _column("features", "Features", "all columns without another role", several=True),
    "ignore": _column("ignore", "Columns to leave out", several=True),
    "categorical_features": _column(
        "categorical", "Features whose values are categories; also feature numbers of LETOR text", several=True
    ),
}
"""The options by the keywords of `swaprank.read` that they stand for."""
_LOG_COLUMNS: Mapping[str, Any] = {
    "session": _column("session", "Session ids: one id per page of results.", "session"),
    "qid": _COLUMNS["qid"],
    "docid": _column("docid", "Document ids.", "docid"),
    "position": _column("position", "Positions, from 1.", "position"),
    "click": _column("click", "Clicks: 0 or 1, or grades from 0 to 1.", "click"),
    "propensity": _column("propensity", "Logged propensities."),
    "features": _COLUMNS["features"],
    "context": _column("context", "What describes a session, such as its device: one value each", several=True),
    "binary": Annotated[
        bool,
        typer.Option(
            "--binary",
            help="Any number of clicks above 0 is one click.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ],
    "schema": Annotated[
        Literal["rows", "wide", "ubi"] | None,
        typer.Option(
            "--schema",
            help="rows: one row per shown document. wide: one row per page, with columns 'documents' and 'clicks'. "
            "ubi: queries and events of User Behavior Insights, a file or a folder (.jsonl .parquet).",
            show_default="rows",
            rich_help_panel=_PANEL,
        ),
    ],
    "actions": Annotated[
        list[str] | None,
        typer.Option(
            "--actions",
            metavar="NAMES",
            help="For ubi: actions that are clicks, separated by commas. Can be repeated.",
            show_default="click",
            rich_help_panel=_PANEL,
        ),
    ],
}
"""The options by the keywords of `swaprank.clicks.read_clicks` that they stand for."""
_TABLES = {"columns": _COLUMNS, "log_columns": _LOG_COLUMNS}
"""The options that replace a parameter of a command."""
_EVERYWHERE = {
    "verbose": Annotated[bool, typer.Option("--verbose", "-v", help="Print every step to standard error.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print only results.")],
}


def with_added_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --verbose and --quiet, and with options for columns in place of its parameter for them."""
    signature = inspect.signature(command, eval_str=True)
    table = next((name for name in _TABLES if name in signature.parameters), None)
    columns = {} if table is None else _TABLES[table]
    added = [
        *(_keyword(f"{name}_column", annotation, None) for name, annotation in columns.items()),
        *(_keyword(name, annotation, False) for name, annotation in _EVERYWHERE.items()),
    ]

    @wraps(command)
    def run(*arguments: Any, verbose: bool, quiet: bool, **options: Any) -> None:
        if verbose and quiet:
            raise typer.BadParameter("--verbose and --quiet exclude each other.")
        verbosity.set(Verbosity.VERBOSE if verbose else Verbosity.QUIET if quiet else Verbosity.NORMAL)
        stdout_is_taken.set(is_standard_output(options.get("output")))
        given = {name: options.pop(f"{name}_column") for name in columns}
        if table is not None:
            options[table] = {name: _names(value) for name, value in given.items() if value}
        if options.get("figure") is not None:
            from swaprank.rendering.figures import check_drawing

            check_drawing(options["figure"])
        command(*arguments, **options)
        _say_if_kernels_are_lost()

    own = [parameter for name, parameter in signature.parameters.items() if name != table]
    setattr(run, "__signature__", signature.replace(parameters=[*own, *added]))  # noqa: B010
    return run


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _names(given: str | list[str] | bool) -> str | list[str] | bool:
    """The name of a column, or a flag; or several names, of which each text may hold some, separated by commas."""
    if isinstance(given, str | bool):
        return given
    return [name.strip() for names in given for name in names.split(",") if name.strip()]


def _say_if_kernels_are_lost() -> None:
    """Say why the next run will compile again, if this one compiled and could not save."""
    storage = sys.modules.get("swaprank.compilation.storage")
    if storage and storage.STORAGE.n_compiled and storage.STORAGE.problem:
        print_detail(
            f"{storage.STORAGE.n_compiled} compiled kernels could not be saved: {storage.STORAGE.problem}. "
            "Set NUMBA_CACHE_DIR to a folder of yours, or let the owner of the installation run `swaprank warm`."
        )


def names_or_file(given: str | None) -> list[str] | Path | None:
    """Names that are separated by commas, or the path of a file.

    >>> from swaprank.cli.options import names_or_file
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
