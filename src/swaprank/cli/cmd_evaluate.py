"""`swaprank evaluate` and `swaprank compare`: measure the quality of rankings, and compare them with paired tests."""

from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Convention, JudgedFile, Metrics, Seed, Segments, Threads, split_names
from swaprank.cli.output import print_either, print_json, print_result
from swaprank.cli.rankings import read_rankings


def evaluate(
    data: JudgedFile,
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING",
            help="Model, file of scores (one per line, in the order of the documents), TREC run, or a column or "
            "feature of the data; as RANKING or NAME=RANKING.",
        ),
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    by: Segments = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also print the values of every query.")] = False,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Evaluate rankings: means with 95% confidence intervals, and how each metric is defined."""
    judged, rankings = read_rankings(data, split_names(scores, "rankings", "NAME=RANKING"), columns, by)
    if by is not None:
        if per_query:
            raise sr.errors.ParameterError(
                "give ", sr.errors.Hint("by"), " or ", sr.errors.Hint("per_query"), ", not both."
            )
        segmented = {
            path: sr.evaluate(judged, ranking, metric, by=by, convention=convention, n_threads=threads)
            for path, ranking in rankings.items()
        }
        if json:
            print_json({path: found.to_dict() for path, found in segmented.items()})
            return
        for path, found in segmented.items():
            print_result(f"{path}\n\n{found}\n" if len(segmented) > 1 else str(found))
        return
    results = {
        path: sr.evaluate(judged, ranking, metric, convention=convention, n_threads=threads)
        for path, ranking in rankings.items()
    }
    if json:
        plain = {path: result.to_dict(per_query=per_query) for path, result in results.items()}
        print_json(plain, large=per_query)
        return
    for path, result in results.items():
        text = result.to_text(per_query=per_query)
        print_result(f"{path}\n\n{text}\n" if len(results) > 1 else text)


def compare(
    data: JudgedFile,
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING",
            help="Two or more models, score files, TREC runs, or columns or features of the data, as RANKING or "
            "NAME=RANKING. The first is the baseline.",
        ),
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    by: Segments = None,
    baseline: Annotated[str | None, typer.Option(help="Name of the baseline.", show_default="the first")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Number of resamples of the randomization test.")] = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Compare rankings query by query, with paired tests, corrected for the number of rankings."""
    judged, systems = read_rankings(data, split_names(scores, "rankings", "NAME=RANKING"), columns, by)
    result = sr.compare(
        judged,
        systems,
        metric,
        by=by,
        baseline=baseline,
        convention=convention,
        n_resamples=resamples,
        random_state=seed,
        n_threads=threads,
    )
    print_either(result.to_dict(), str(result), json)
