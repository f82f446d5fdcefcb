"""`swaprank certify`: is a model at a local optimum?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, Figure, ModelFile, Seed, Threads
from swaprank.cli.output import say, show, tell


def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The judged documents that it learned from.")],
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Of which measure; what it learned for if not given.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The share of rising directions to rule out.")] = 0.01,
    delta: Annotated[float, typer.Option(help="How probable it may be to overlook such a share.")] = 0.01,
    steps: Annotated[str, typer.Option(help="How far to go: wide (0.1 to 1), fine (0.001 to 0.01) or both.")] = "wide",
    weights: Annotated[int, typer.Option(min=0, help="How many parameters to vary alone, too.")] = 50,
    polish: Annotated[bool, typer.Option("--polish", help="Follow what rises, and certify the better model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the polished model.")] = None,
    figure: Figure = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Move a model's parameters in random directions: does the measure ever rise? Ends with 1 if it does."""
    from swaprank.cli.instrument_values import certificate_values
    from swaprank.cli.progress import training_bar
    from swaprank.instruments.certify import certify as test
    from swaprank.model_files.container import check_target
    from swaprank.rankers.rounds import Progress
    from swaprank.reading.read import read_matching
    from swaprank.registry import load
    from swaprank.rendering.figures import check_drawing
    from swaprank.rendering.json_values import json_text

    if output is not None:
        if not polish:
            raise typer.BadParameter("-o is for the model that --polish makes.")
        check_target(output, (model, data))
    if figure is not None:
        check_drawing(figure)
    ranker = load(model)
    ranker.n_threads = threads
    tell(f"reading {data}")
    judged = read_matching(data, [str(name) for name in ranker.feature_names_in_])
    with training_bar() as bar:
        certificate = test(
            ranker,
            judged,
            metric,
            epsilon=epsilon,
            delta=delta,
            steps=steps,
            n_weights=weights,
            polish=polish,
            random_state=seed,
            progress=lambda done, total: bar(Progress(done, total, {}, done)),
        )
    if output is not None:
        certificate.ranker.save(output)
    if figure is not None:
        certificate.draw(figure)
    if json:
        show(json_text(certificate_values(certificate)))
    else:
        show(str(certificate))
        for written in filter(None, (output, figure)):
            say(f"\n{written}")
    if not certificate.passed:
        raise typer.Exit(1)
