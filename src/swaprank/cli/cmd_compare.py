"""`swaprank compare`: is one ranking better than another?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, Convention, JudgedFile, Metrics, Seed, Threads
from swaprank.cli.output import show, tell


def compare(
    data: JudgedFile,
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES",
            help="Two or more of scores, TREC runs or models, as FILE or NAME=FILE; the first is the baseline.",
        ),
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    baseline: Annotated[str | None, typer.Option(help="The name to compare with, if not the first.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Random signs drawn by the randomisation test.")] = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Compare rankings query by query: paired tests, corrected for their number, and what they mean in words."""
    from swaprank.cli.rankings import read_ranking
    from swaprank.evaluation.compare import compare as compare_systems
    from swaprank.reading.read import read_judged

    tell(f"reading {data}")
    judged = read_judged(data)
    systems = {name: read_ranking(path, data, judged) for name, path in _named(scores).items()}
    result = compare_systems(
        judged,
        systems,
        metric,
        baseline=baseline,
        convention=convention,
        n_resamples=resamples,
        random_state=seed,
        n_threads=threads,
    )
    show(result.to_json() if json else str(result))


def _named(scores: list[str]) -> dict[str, Path]:
    """NAME=FILE, or FILE named by itself; a file that exists under the whole text is taken as it is."""
    named: dict[str, Path] = {}
    for text in scores:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = text, text
        if name in named:
            raise typer.BadParameter(f"two rankings are called '{name}': write NAME=FILE.")
        named[name] = Path(path)
    return named
