"""`swaprank clicks evaluate`: estimate from clicks how good rankings would be."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from swaprank.cli.common_options import AsJson, LogColumns, LogFile, Metrics, PropensityFile, split_names
from swaprank.cli.output import print_detail, print_result


class ClickEstimator(StrEnum):
    """How relevance is estimated from clicks."""

    SELF_NORMALIZED = "self_normalized"
    IPS = "ips"


def clicks_evaluate(
    log: LogFile,
    rankings: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING...", help="Models, or names of features of the log; NAME=RANKING to name one in the table."
        ),
    ],
    metric: Metrics = ["dcg@10"],  # noqa: B006
    propensities: PropensityFile = None,
    estimator: Annotated[
        ClickEstimator, typer.Option(help="Clicks over expected examinations, or inverse propensity scores.")
    ] = ClickEstimator.SELF_NORMALIZED,
    clip: Annotated[float, typer.Option(min=0, help="For ips: divide by a propensity of at least this.")] = 0.0,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Estimate the metrics of rankings that were never shown, with 95% intervals; compare several with the first.

    Without --propensities, the position bias is estimated from the same log, and intervals contain its uncertainty.
    """
    from swaprank.clicks.log_comparison import compare
    from swaprank.clicks.log_evaluation import evaluate
    from swaprank.clicks.log_files import read_clicks
    from swaprank.clicks.propensities import Propensities
    from swaprank.rendering.result import json_text

    known = None if propensities is None else Propensities.load(propensities)
    print_detail(f"reading {log}")
    clicks = read_clicks(log, **log_columns)
    named = split_names(rankings, "rankings", "NAME=RANKING")
    systems = {name: _ranking(ranking, clicks) for name, ranking in named.items()}
    options: dict[str, Any] = {"propensities": known, "estimator": estimator.value, "clip": clip}
    results = {name: evaluate(clicks, system, metric, **options) for name, system in systems.items()}
    comparison = compare(clicks, systems, metric, **options) if len(systems) > 1 else None
    if json:
        values = {"evaluations": {name: result.to_dict() for name, result in results.items()}}
        print_result(json_text(values | ({} if comparison is None else {"comparison": comparison.to_dict()})))
        return
    for name, result in results.items():
        print_result(f"{name}\n\n{result}\n" if len(results) > 1 else str(result))
    if comparison is not None:
        print_result(str(comparison))


def _ranking(text: str, clicks: Any) -> Any:
    """A model, or the feature of that name as scores."""
    from swaprank.cli.rankings import load_any
    from swaprank.clicks.log_evaluation import feature_of_pairs

    return load_any(Path(text)) if Path(text).exists() else feature_of_pairs(clicks, text)
