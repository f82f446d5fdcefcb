"""A tuning run from data files to the best model, its training record and the file of trials."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from swaprank.errors import DataError, Interrupted, ParameterError
from swaprank.experiments.fingerprints import data_fingerprint
from swaprank.experiments.log import Log
from swaprank.experiments.optuna_study import check_optuna
from swaprank.experiments.ranker_parameters import parse_settings
from swaprank.experiments.training_run import TrainingRun, check_outputs, read_train, write_record
from swaprank.experiments.tuning import tune
from swaprank.experiments.tuning_ranges import default_ranges, parse_range
from swaprank.experiments.tuning_result import Tuning
from swaprank.experiments.uninterrupted import uninterrupted
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.reading.read import read_matching
from swaprank.registry import ranker_class


def run_tuning(
    run: TrainingRun,
    settings: Sequence[str],
    ranges: Sequence[str],
    *,
    n_trials: int,
    timeout: float | None,
    callbacks: Callable[[str], Sequence[Callback]],
    log: Log,
) -> Tuning:
    """Tune a ranker, and save the best model with its training record.

    Args:
        run: Data, ranker, metric and seed. The trials are stored next to its output, in a file that ends in .trials.
        settings: Fixed parameters, such as "n_trees=500".
        ranges: Parameters to tune, such as "n_leaves=7..63". If empty, the default ranges without the settings.
        n_trials: Total number of trials, including those of earlier runs.
        timeout: Start no new trial after this many seconds.
        callbacks: Called with the title of a trial; returns the callbacks for `fit`.
        log: Called with one line of text after every trial.
    """
    check_optuna()
    assert run.valid is not None  # noqa: S101
    check_outputs(run)
    if run.record is None:
        raise DataError(
            f"{run.output} is not a file, so the trials cannot be stored next to it: choose another output."
        )
    learner, tuned = _learner_and_ranges(run, settings, ranges)
    train = read_train(run)
    valid = read_matching(run.valid, train.feature_names, train.categories, **run.columns)
    try:
        tuning = tune(
            train,
            valid,
            learner,
            ranges=tuned,
            n_trials=n_trials,
            timeout=timeout,
            storage=Path(run.output).with_suffix(".trials"),
            random_state=run.seed or 0,
            callbacks=callbacks,
            log=log,
        )
    except Interrupted as stopped:
        tuning = stopped.result
    data = {"train": data_fingerprint(train), "valid": data_fingerprint(valid)}
    with uninterrupted():
        tuning.ranker.save(run.output)
        write_record(run, run.record, tuning.ranker, data)
    return tuning


def _learner_and_ranges(
    run: TrainingRun, settings: Sequence[str], ranges: Sequence[str]
) -> tuple[Ranker, dict[str, Any]]:
    fixed = parse_settings(run.ranker, settings)
    learner = replace(run, parameters={**ranker_class(run.ranker).tuning_fixed, **fixed}).make_ranker()
    if not ranges:
        return learner, {name: span for name, span in default_ranges(learner).items() if name not in fixed}
    tuned = dict(parse_range(run.ranker, text) for text in ranges)
    for name in tuned:
        if name in fixed:
            raise ParameterError(f"{name} is both set and tuned: choose one.")
    return learner, tuned
