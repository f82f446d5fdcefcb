"""`swaprank clicks policy`: what policies would get, from a click log with propensities."""

from typing import Annotated, Any, Literal

import typer

import swaprank as sr
from swaprank.cli.click_logs import print_evaluations, ranking_of
from swaprank.cli.options import AsJson, LogColumns, LogFile, Seed, split_names
from swaprank.cli.output import print_detail


def clicks_policy(
    log: LogFile,
    policies: Annotated[
        list[str],
        typer.Argument(
            metavar="POLICY...",
            help="Models, or names of features of the log, whose rankings are shown; 'uniform' for a random order; "
            "'logged' for the policy of the log. NAME=POLICY to name one in the table.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="clicks (per session) or ctr (clicks per shown document). Can be repeated.",
            show_default="both",
        ),
    ] = None,
    estimator: Annotated[
        Literal["self_normalized", "ips", "doubly_robust", "direct"],
        typer.Option(
            help="Weighted clicks over weights, weighted clicks, a reward model that is corrected by them, or the "
            "model alone."
        ),
    ] = "self_normalized",
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Draw rankings at random instead: documents in proportion to exp(score / temperature).",
            show_default="one ranking",
        ),
    ] = None,
    clip: Annotated[float, typer.Option(min=0, help="Divide by a propensity of at least this.")] = 0.0,
    seed: Seed = 0,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Estimate the clicks that policies would get, from logged propensities; compare several with the first.

    The log needs the probability that each document was shown at its place: a column 'propensity', or --propensity.
    """
    named = split_names(policies, "policies", "NAME=POLICY")
    print_detail(f"reading {log}")
    clicks = sr.clicks.read_clicks(log, **{"propensity": "propensity", **log_columns})
    made = {name: _policy(text, clicks, temperature, seed) for name, text in named.items()}
    metrics = metric or ["clicks", "ctr"]
    options: dict[str, Any] = {"estimator": estimator, "clip": clip}
    results = {name: sr.clicks.evaluate_policy(clicks, policy, metrics, **options) for name, policy in made.items()}
    comparison = sr.clicks.compare_policies(clicks, made, metrics, **options) if len(made) > 1 else None
    print_evaluations(results, comparison, json)


def _policy(text: str, clicks: Any, temperature: float | None, seed: int) -> Any:
    """The policy of that name, or the one that shows the rankings of a model or a feature."""
    if text == "uniform":
        return sr.clicks.Policy.uniform(clicks)
    if text == "logged":
        return sr.clicks.Policy.logged(clicks)
    ranking = ranking_of(text, clicks)
    if temperature is None:
        return sr.clicks.Policy.ranking(clicks, ranking)
    return sr.clicks.Policy.plackett_luce(clicks, ranking, temperature=temperature, random_state=seed)
