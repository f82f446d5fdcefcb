"""`swaprank clicks train`: train a ranker on a click log."""

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, LogColumns, LogFile, PropensityFile, RankerName, Seed, Settings, Threads
from swaprank.cli.exit_codes import INTERRUPTED
from swaprank.cli.output import print_detail, print_info, print_result


def clicks_train(
    log: LogFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, such as model.swaprank.")],
    propensities: PropensityFile = None,
    valid: Annotated[
        Path | None, typer.Option(help="Click log of other sessions, best of other queries, for early stopping.")
    ] = None,
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

    Without --propensities, the position bias is learned together with the ranker.
    """
    from swaprank.cli.progress_bars import training_bar
    from swaprank.clicks.click_training import train
    from swaprank.clicks.log_files import read_clicks
    from swaprank.clicks.propensities import Propensities
    from swaprank.errors import Interrupted
    from swaprank.files import writable_target
    from swaprank.registry import make_ranker
    from swaprank.rendering.result import json_text

    sources = [path for path in (log, propensities, valid) if path is not None]
    for target in (output, save_propensities):
        if target is not None:
            writable_target(target, sources)
    model = make_ranker(ranker or "lambdamart", [f"metric={metric}", *(settings or [])])
    own = {"random_state": seed, "n_threads": threads}
    model.set_params(**{name: value for name, value in own.items() if name in model.get_params()})
    known = None if propensities is None else Propensities.load(propensities)
    print_detail(f"reading {log}")
    clicks = read_clicks(log, **log_columns)
    held_out = None if valid is None else read_clicks(valid, **log_columns)
    found, interrupted = known, False
    try:
        with training_bar() as callbacks:
            found = train(model, clicks, known, valid=held_out, callbacks=callbacks("")).propensities
    except Interrupted:
        interrupted = True
    model.save(output)
    if save_propensities is not None and found is not None:
        found.save(save_propensities)
    if json:
        bias = None if found is None else found.to_dict()
        values = {"model": output, "ranker": model.kind, "size": model.size_, "n_sessions": clicks.n_sessions}
        print_result(json_text({**values, "interrupted": interrupted, "propensities": bias}))
    else:
        print_info(f"{output}: {model.size_}, trained on {clicks.n_sessions:,} sessions")
        if known is None and found is not None:
            print_info(f"\n{found}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
