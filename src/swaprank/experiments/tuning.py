"""The search for good parameters, by Optuna: it goes on where it stopped, and gives up early on what leads nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from sklearn.base import clone

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.evaluation.evaluate import evaluate
from swaprank.experiments.grid_search import Tell, words
from swaprank.experiments.optuna_study import check_optuna, finished_trials, open_study, optimize, suggested
from swaprank.experiments.ranker_parameters import check_names
from swaprank.experiments.tuning_ranges import FIXED, Range, as_range, ranges_of
from swaprank.experiments.tuning_result import Tuning
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback, Progress
from swaprank.registry import ranker_class

_REPORTS = 100
"""Of a trial to its storage, at most."""


def tune(
    train: Dataset,
    valid: Dataset,
    ranker: str | Ranker = "lambdamart",
    *,
    ranges: Mapping[str, Any] | None = None,
    n_trials: int = 50,
    timeout: float | None = None,
    storage: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    callbacks: Callable[[str], Sequence[Callback]] = lambda title: (),
    tell: Tell = lambda words: None,
) -> Tuning:
    """Search for the parameters of a ranker that are best on a validation set.

    The ranker as it is given is the first trial; what is tried next follows from what was good so far. A trial that
    is worse than half of those before it, after as many rounds, is given up. Ctrl-C ends the search, and gives the best
    until then. Needs Optuna: pip install 'swaprank[tune]'.

    Args:
        train: The judged documents to learn from.
        valid: Those on which the ranker's metric is to be best.
        ranker: A kind of ranker, which is then trained for as many rounds as the validation set wants; or a ranker,
            whose parameters are kept but for those that are tuned.
        ranges: What to tune: {"n_leaves": (7, 63), "normalize": [True, False]}, bounds in a tuple and choices in a
            list; what usually matters for this kind of ranker if not given.
        n_trials: How many trials in all, with those that the storage has already.
        timeout: Begin no trial after so many seconds.
        storage: A file that keeps the trials; a later call with the same arguments goes on from there.
        random_state: Seed of what is tried; the ranker has its own.
        callbacks: Given what is about to be trained, in words, it gives callbacks for `fit`.
        tell: Told in words of every trial.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((40, 30), n_features=5, n_documents=10, random_state=0)
    >>> try:
    ...     tuning = sr.tune(train, vali, sr.MART(n_trees=10), ranges={"n_leaves": (4, 16)}, n_trials=3)
    ...     assert 4 <= tuning.best.parameters["n_leaves"] <= 31 and tuning.ranker.n_trees_ == 10
    ... except sr.MissingExtraError:
    ...     pass
    """
    check_optuna()
    learner = _learner(ranker)
    tuned = _ranges(learner, ranges)
    judge = learner._metric()
    study = open_study(storage, learner, tuned, train, valid, random_state)
    best_here: list[tuple[float, int, Ranker]] = []

    def objective(trial: Any) -> float:
        parameters = {name: suggested(trial, name, span) for name, span in tuned.items()}
        title, follow = f"trial {trial.number + 1}", _Follower(trial, str(judge))
        candidate: Ranker = clone(learner).set_params(**parameters)
        candidate.fit(train, valid=valid, callbacks=[*callbacks(title), follow])
        if candidate.interrupted_:
            raise KeyboardInterrupt
        if follow.given_up:
            tell(f"{title}: given up after {follow.round} rounds at {judge} {follow.best:.4f}; {words(parameters)}")
            return follow.give_up()
        value = evaluate(valid, candidate.predict(valid), [judge], n_threads=learner.n_threads).results[0].mean
        if value != value:
            raise DataError(f"{judge} has no value on the validation set: none of its queries counts.")
        trial.set_user_attr("size", candidate.size_)
        tell(f"{title}: {judge} {value:.4f}, {candidate.size_}; {words(parameters)}")
        if not best_here or value > best_here[0][0]:
            best_here[:] = [(value, trial.number + 1, candidate)]
        return value

    interrupted = optimize(study, objective, n_trials, timeout)
    trials = finished_trials(study, tuned)
    done = [trial for trial in trials if trial.value is not None]
    if not done:
        raise (KeyboardInterrupt if interrupted else DataError("no trial was completed: allow more time or trials."))
    best = max(done, key=lambda trial: (trial.value, -trial.number))
    if best_here and best_here[0][1] == best.number:
        return Tuning(best_here[0][2], str(judge), best, trials, interrupted)
    tell(f"trial {best.number}, of an earlier run, is still the best: trained again, it gives the same model")
    again: Ranker = clone(learner).set_params(**best.parameters)
    again.fit(train, valid=valid, callbacks=callbacks(f"trial {best.number}"))
    return Tuning(again, str(judge), best, trials, interrupted)


def _learner(ranker: str | Ranker) -> Ranker:
    if isinstance(ranker, str):
        return ranker_class(ranker)(**FIXED.get(ranker, {}))
    learner: Ranker = clone(ranker)
    return learner


def _ranges(learner: Ranker, ranges: Mapping[str, Any] | None) -> dict[str, Range]:
    if ranges is None:
        return dict(ranges_of(learner.kind))
    check_names(learner.kind, ranges)
    return {name: as_range(name, given) for name, given in ranges.items()}


@final
class _Follower:
    """Tells a trial's storage how it goes, and stops the training of one that leads nowhere."""

    def __init__(self, trial: Any, metric: str) -> None:
        self.trial = trial
        self.metric = metric
        self.best = -float("inf")
        self.round = 0
        self.given_up = False

    def __call__(self, told: Progress) -> bool:
        value = told.measured.get("valid", {}).get(self.metric)
        if value is None or value != value:
            return False
        # What counts is the best round, which is the one that is kept.
        self.best, self.round = max(self.best, value), told.round
        if told.round % max(1, told.n_rounds // _REPORTS) == 0 and told.round < told.n_rounds:
            self.trial.report(self.best, told.round)
            self.given_up = bool(self.trial.should_prune())
        return self.given_up

    def give_up(self) -> float:
        import optuna

        raise optuna.TrialPruned
