"""`swaprank report`: all there is to know of a model, on one page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import Convention, ModelFile
from swaprank.cli.output import Verbosity, say, show, tell, verbosity


def report(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Judged documents that it has not learned from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A measure; may be given several times, and the page goes by the first. The model's own and the usual "
            "ones if not given.",
        ),
    ] = None,
    convention: Convention = "standard",
    baseline: Annotated[Path | None, typer.Option(help="A model to compare with.")] = None,
    baseline_feature: Annotated[
        str | None,
        typer.Option(
            help="A feature to compare with; --baseline-feature=-NAME has the smallest first. The best single feature "
            "if no baseline is given."
        ),
    ] = None,
    qid: Annotated[
        list[str] | None,
        typer.Option("--qid", help="A query whose ranked list to show; may be given several times."),
    ] = None,
    train: Annotated[Path | None, typer.Option(help="What the model learned from.")] = None,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Whether the model is at a local optimum on --train; by default only if that is small.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
) -> None:
    """Write one page about a model: measures, queries, features, calibration; it works offline, and prints well."""
    from swaprank.reporting.report import report as make

    with _step_bar() as bar:
        made = make(
            model,
            data,
            output,
            metrics=metric or None,
            convention=convention,
            baseline=baseline,
            baseline_feature=baseline_feature,
            qids=qid or (),
            train=train,
            certify=certify,
            title=title,
            progress=bar,
        )
    result, difference = made.evaluation.results[0], made.comparison.differences[0]
    low, high = result.interval
    say(f"{output}: {output.stat().st_size / 1000:,.0f} kB")
    show(f"{result.metric} {result.mean:.4f} (95% interval {low:.4f} to {high:.4f})")
    show(difference.sentence())


@contextmanager
def _step_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Something to call before every step: it draws a bar on standard error if that is a terminal, and we may."""
    if verbosity.get() is Verbosity.QUIET or not sys.stderr.isatty():
        yield lambda what, done, total: tell(f"{what} ({done + 1} of {total})")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def step(what: str, done: int, total: int) -> None:
            bar.update(task, total=total, completed=done, description=what)

        yield step
