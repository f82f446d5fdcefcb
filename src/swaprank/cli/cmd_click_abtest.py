"""`swaprank clicks abtest`: analyse an A/B test."""

from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, LogColumns, LogFile
from swaprank.cli.output import print_detail, print_either


def clicks_abtest(
    log: LogFile,
    variant: Annotated[
        str, typer.Option(metavar="COLUMN", help="Which ranking a session saw, such as A or B.", show_default=True)
    ] = "variant",
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What was assigned to a variant, such as the user.",
            show_default="the session itself",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Number of a session: clicked, abandoned, clicks, clicks@3 or reciprocal_rank of the first click; or "
            "a column with a number of each session, such as revenue. Can be repeated.",
            show_default="clicked, clicks, reciprocal_rank, clicks@3",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Variant that the others are compared with.", show_default="the first in order"),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Planned shares of the variants in their order, such as 0.9,0.1.",
            show_default="equal shares",
        ),
    ] = None,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Intervals and p-values that are right however often you look.")
    ] = False,
    planned: Annotated[
        int,
        typer.Option(min=1, help="For --sequential: how many sessions you plan; do not change it later."),
    ] = 10_000,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Compare the clicks of sessions that saw one ranking or another at random: differences with 95% intervals.

    If users were assigned to variants, name their column with --unit: the sessions of a user are alike.
    """
    from swaprank.clicks.experiments.session_metrics import SESSION_METRICS, is_session_metric

    metrics = metric or SESSION_METRICS
    wanted = [variant, *([] if unit is None else [unit]), *(name for name in metrics if not is_session_metric(name))]
    context = list(dict.fromkeys([*wanted, *log_columns.get("context", [])]))
    print_detail(f"reading {log}")
    clicks = sr.clicks.read_clicks(log, **{"features": [], **log_columns, "context": context})
    result = sr.clicks.ab_test(
        clicks,
        variant,
        metrics,
        unit=unit,
        baseline=baseline,
        shares=None if shares is None else _numbers(shares),
        sequential=sequential,
        planned=planned,
    )
    print_either(result.to_dict(), str(result), json)


def _numbers(text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--shares must be numbers, such as 0.9,0.1; found '{text}'.") from None
