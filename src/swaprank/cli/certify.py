"""`swaprank certify`: is a model at a local optimum?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import Seed
from swaprank.cli.output import show


def certify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that train has saved.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The judged documents that it learned from.")],
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Of which measure; what it learned for if not given.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The share of rising directions to rule out.")] = 0.01,
    delta: Annotated[float, typer.Option(help="How probable it may be to overlook such a share.")] = 0.01,
    fine: Annotated[bool, typer.Option("--fine", help="Steps of 0.001 to 0.01 instead of 0.1 to 1.")] = False,
    polish: Annotated[bool, typer.Option("--polish", help="Follow what rises, and certify the better model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the polished model.")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the measure along some directions (.svg, .png, .pdf).")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Move a model's parameters in random directions: does the measure ever rise? Ends with 1 if it does."""
    from swaprank.cli.progress import training_bar
    from swaprank.instruments.certificate import FINE_STEPS, STEPS
    from swaprank.instruments.certify import certify as test
    from swaprank.model_files.container import check_target
    from swaprank.model_files.rankers import load
    from swaprank.rankers.rounds import Progress
    from swaprank.reading.matching import read_matching
    from swaprank.reproduction.drawing import check_drawing

    if output is not None:
        if not polish:
            raise typer.BadParameter("-o is for the model that --polish makes.")
        check_target(output)
    if figure is not None:
        check_drawing()
    ranker = load(model)
    judged = read_matching(data, [str(name) for name in ranker.feature_names_in_])
    with training_bar() as bar:
        certificate = test(
            ranker,
            judged,
            metric,
            epsilon=epsilon,
            delta=delta,
            steps=FINE_STEPS if fine else STEPS,
            polish=polish,
            random_state=seed,
            progress=lambda done, total: bar(Progress(done, total, {}, done)),
        )
    show(str(certificate))
    if output is not None:
        certificate.ranker.save(output)
        show(f"\n{output}")
    if figure is not None:
        certificate.draw(figure)
        show(f"\n{figure}")
    if not certificate.passed:
        raise typer.Exit(1)
