"""`swaprank clicks`: learn from click logs; position bias, training, evaluation and simulation."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import swaprank as sr
from swaprank.cli.click_logs import (
    ClickModelName,
    DocumentsFile,
    Missing,
    fit_with_click_model,
    print_contradictions,
    print_evaluations,
    ranking_of,
    read_log,
)
from swaprank.cli.options import (
    AsJson,
    Columns,
    Figure,
    LogColumns,
    LogFile,
    LogMetrics,
    PropensityFile,
    RankerName,
    Seed,
    Settings,
    Threads,
    split_names,
)
from swaprank.cli.output import (
    INTERRUPTED,
    print_either,
    print_info,
    print_json,
    progress_bar,
    training_bar,
)
from swaprank.cli.rankings import read_ranking
from swaprank.files import writable_target
from swaprank.rendering.tables import counted


def clicks_info(log: LogFile, figure: Figure = None, json: AsJson = False, *, log_columns: LogColumns) -> None:
    """Describe a click log: sessions, queries, click rates by position, and how often documents changed places."""
    clicks = sr.clicks.read_clicks(log, **{"features": [], **log_columns})
    _show(clicks.summarize(), json, figure)
    if not json:
        print_contradictions(clicks)


def clicks_propensity(
    log: LogFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file to write, for the others.")] = None,
    method: Annotated[
        Literal["harvest", "swaps", "regression", "trust"],
        typer.Option(
            help="harvest: from documents that changed places. swaps: from neighbours that were shown in both orders. "
            "regression: relevance is predicted from features. trust: with trust bias."
        ),
    ] = "harvest",
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Each value of this column, such as the device, has a bias of its own."),
    ] = None,
    max_position: Annotated[
        int | None, typer.Option(min=2, help="Last position to estimate.", show_default="the last of the log")
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Bootstrap resamples of the sessions for the 95% intervals; 0 for none.",
            show_default="200; 20 for regression and trust",
        ),
    ] = None,
    documents: DocumentsFile = None,
    missing: Missing = "error",
    counts: Annotated[bool, typer.Option("--counts", help="LOG is a file of `swaprank clicks count`.")] = False,
    figure: Figure = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Estimate how likely documents are examined at each position, with 95% intervals.

    If the log cannot tell, because documents never change places, the answer is an error with advice.
    """
    if output is not None:
        writable_target(output, (log,))
    if method != "regression":
        log_columns = {"features": [], **log_columns}
    clicks: Any
    if counts:
        clicks = sr.clicks.LogCounts.load(log, context=[] if by is None else [by])
    else:
        clicks = read_log(log, log_columns, documents, missing, by)
    with progress_bar("resample") as update:
        found = sr.clicks.position_bias(
            clicks,
            method,
            by=by,
            max_position=max_position,
            n_resamples=resamples,
            random_state=seed,
            n_threads=threads,
            progress=lambda done, total: update(done, total, "intervals", ""),
        )
    if output is not None:
        found.save(output)
    _show(found, json, figure, output)
    if not json and not counts:
        print_contradictions(clicks)


def clicks_train(
    log: LogFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, such as model.swaprank.")],
    propensities: PropensityFile = None,
    click_model: ClickModelName = None,
    valid: Annotated[
        Path | None, typer.Option(help="Click log of other sessions, best of other queries, for early stopping.")
    ] = None,
    documents: DocumentsFile = None,
    missing: Missing = "error",
    ranker: RankerName = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="Metric to optimize: a sum of linear gains.")
    ] = "dcg@10(gain=linear)",
    settings: Settings = None,
    save_propensities: Annotated[
        Path | None, typer.Option(help="JSON file to write the position bias to that the ranker was trained with.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Train a ranker on clicks, without position bias. Ctrl-C saves the model as it is; the exit code is 130.

    Without --propensities and --click-model, the position bias is estimated from the log, or learned together with the
    ranker.
    """
    from swaprank.rankers.endings import ending
    from swaprank.registry import make_ranker

    if click_model is not None and not (propensities is None and save_propensities is None):
        raise sr.errors.ParameterError("--click-model has no use for --propensities and --save-propensities.")
    sources = [path for path in (log, propensities, valid, documents) if path is not None]
    for target in (output, save_propensities):
        if target is not None:
            writable_target(target, sources)
    model: Any = make_ranker(ranker or "lambdamart", [f"metric={metric}", *(settings or [])])
    own = {"random_state": seed, "n_threads": threads}
    model.set_params(**{name: value for name, value in own.items() if name in model.get_params()})
    known = None if propensities is None else sr.clicks.Propensities.load(propensities)
    by = None if known is None else known.by
    clicks = read_log(log, log_columns, documents, missing, by)
    held_out = None if valid is None else read_log(valid, log_columns, documents, missing, by)
    found, interrupted = known, False
    try:
        with training_bar() as callbacks:
            if click_model is None:
                found = sr.clicks.train(model, clicks, known, valid=held_out, callbacks=callbacks("")).propensities
            else:
                fit_with_click_model(model, click_model, clicks, held_out, callbacks(""))
    except sr.errors.Interrupted:
        if not hasattr(model, "model_"):
            raise  # while held-out queries decided between labels: there is nothing to save
        interrupted = True
    model.save(output)
    if save_propensities is not None and found is not None:
        found.save(save_propensities)
    if json:
        bias = None if found is None else found.to_dict()
        values = {"model": output, "ranker": model.kind, "size": model.size_, "n_sessions": clicks.n_sessions}
        print_json({**values, "interrupted": interrupted, "propensities": bias})
    else:
        print_info(f"{output}: {model.size_}, trained on {counted(clicks.n_sessions, 'session', 'sessions')}")
        if (ended := ending(model)) is not None:
            print_info(ended.for_command_line())
        if known is None and found is not None:
            print_info(f"\n{found}")
        if click_model is None:
            print_contradictions(clicks)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def clicks_evaluate(
    log: LogFile,
    rankings: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKING...", help="Models, or names of features of the log; NAME=RANKING to name one in the table."
        ),
    ],
    metric: LogMetrics = ["dcg@10(gain=linear)"],  # noqa: B006
    propensities: PropensityFile = None,
    estimator: Annotated[
        Literal["self_normalized", "ips"],
        typer.Option(help="Clicks over expected examinations, or inverse propensity scores."),
    ] = "self_normalized",
    clip: Annotated[float, typer.Option(min=0, help="For ips: divide by a propensity of at least this.")] = 0.0,
    units: Annotated[
        Literal["sessions", "queries"],
        typer.Option(help="What intervals are for: other sessions with the same queries, or other queries, too."),
    ] = "sessions",
    documents: DocumentsFile = None,
    missing: Missing = "error",
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Estimate metrics of rankings that were never shown, with 95% intervals; compare several with the first.

    Without --propensities, the position bias is estimated from the same log, and intervals contain its uncertainty.
    """
    known = None if propensities is None else sr.clicks.Propensities.load(propensities)
    clicks = read_log(log, log_columns, documents, missing, None if known is None else known.by)
    named = split_names(rankings, "rankings", "NAME=RANKING")
    systems = {name: ranking_of(ranking, clicks) for name, ranking in named.items()}
    options: dict[str, Any] = {"propensities": known, "estimator": estimator, "clip": clip, "units": units}
    results = {name: sr.clicks.evaluate(clicks, system, metric, **options) for name, system in systems.items()}
    comparison = sr.clicks.compare(clicks, systems, metric, **options) if len(systems) > 1 else None
    print_evaluations(results, comparison, json)


def clicks_simulate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Documents with relevance labels, as for train.")],
    ranker: Annotated[
        str, typer.Argument(metavar="RANKER", help="The production ranker: a model, scores, or the name of a feature.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Click log to write: .csv, .tsv or .parquet.")],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions.")] = 10_000,
    model: Annotated[
        Literal["position", "cascade", "dbn"],
        typer.Option(
            help="position: the place decides what is examined. cascade: people stop at the first click. dbn: they "
            "stop if they are satisfied or lose patience."
        ),
    ] = "position",
    bias: Annotated[float, typer.Option(min=0, help="Place k is examined with probability (1/k)^bias.")] = 1.0,
    trust: Annotated[
        float,
        typer.Option(min=0, help="Examined documents that are not relevant are clicked with probability trust/k."),
    ] = 0.0,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that a document of label 0 is found relevant.")
    ] = 0.1,
    shown: Annotated[int, typer.Option(min=1, help="Number of places on a page.")] = 10,
    moves: Annotated[
        float, typer.Option(min=0, help="How much documents change places between sessions. 0: they never do.")
    ] = 0.5,
    swaps: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the sessions with two neighbours in a random order.")
    ] = 0.0,
    truth: Annotated[
        Path | None, typer.Option(help="JSON file to write the true propensities to.", show_default=False)
    ] = None,
    seed: Seed = 0,
    *,
    columns: Columns,
) -> None:
    """Simulate clicks on judged documents, as a click log with features, to try out methods whose truth is known."""
    for target in (output, truth):
        if target is not None:
            writable_target(target, (data,))
    documents, file = sr.read(data, **columns), Path(ranker)
    scores = read_ranking(file, data, documents, columns) if file.exists() else documents.column(ranker)
    log, known = sr.datasets.clicks(
        documents,
        scores,
        sessions,
        model=model,
        bias=bias,
        trust=trust,
        noise=noise,
        n_shown=shown,
        moves=moves,
        swaps=swaps,
        random_state=seed,
    )
    sr.clicks.write_clicks(log, output)
    print_info(f"{output}: {log}")
    if truth is not None:
        known.propensities.save(truth)
        print_info(f"{truth}: the true propensities")


def _show(result: Any, json: bool, figure: Path | None, output: Path | None = None) -> None:
    """Draw and print a result, and the names of the files that were written."""
    if figure is not None:
        from swaprank.rendering.figures import new_axes, save_figure

        save_figure(result.plot(new_axes()), figure)
    print_either(result.to_dict(), str(result), json, output, figure)
