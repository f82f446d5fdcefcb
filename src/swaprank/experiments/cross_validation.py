"""Cross-validation: every query is tested once, by a ranker that has not learned from it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.evaluation.evaluate import evaluate
from swaprank.experiments.cross_validation_result import CrossValidation, FoldResult
from swaprank.experiments.folds import Fold, Parts, find_folds, made_folds
from swaprank.experiments.grid_search import Found, Keeper, Tell, plan_of, search
from swaprank.experiments.grids import candidates, check_used
from swaprank.files import replacing
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.reading.read import read
from swaprank.registry import ranker_class

_FILE_NAME = re.compile(r"[\w+-][\w.+-]*")


def cross_validate(
    data: Dataset | str | os.PathLike[str],
    rankers: Mapping[str, Ranker] | str | Ranker | Iterable[str | Ranker],
    metrics: str | Metric | Iterable[str | Metric] = "ndcg@10",
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    n_folds: int | None = None,
    output: str | os.PathLike[str] | None = None,
    baseline: str | None = None,
    convention: str = "standard",
    n_resamples: int = 10_000,
    random_state: int = 0,
    callbacks: Callable[[str], Sequence[Callback]] = lambda title: (),
    tell: Tell = lambda words: None,
) -> CrossValidation:
    """Train and test rankers fold by fold, and compare them over all test queries.

    Args:
        data: A folder with LETOR's Fold1, Fold2, … of train, vali and test; or a data set or file, of which folds of
            whole queries are made: in turn one part is for testing, the next for validation, the others for training.
        rankers: Rankers by name, or several that are called by their kind; the name of a kind learns for the first
            metric.
        metrics: Names or metrics, one or several; the first is watched on vali, and chooses there.
        grid: Values to choose from for each fold on its vali set, by parameter: {"n_leaves": (7, 15)} for every ranker
            that has it, {"lambdamart.n_leaves": (7, 15)} for one. Of several grids, all combinations are tried.
        n_folds: How many folds to make, 5 if not given; not for a folder, which has its own.
        output: A folder for models and results. What it has already is not trained again.
        baseline: The ranker that the others are compared with; the first if not given.
        convention: What the names of metrics mean.
        n_resamples: Random signs drawn by the randomisation test.
        random_state: Seed of the folds that are made, and of that test; rankers have their own.
        callbacks: Given what is about to be trained, in words, it gives callbacks for `fit`.
        tell: Told in words of every training that is done.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((60,), n_features=5, n_documents=10, levels=3, random_state=0)
    >>> rankers = {"trees": sr.LambdaMART(n_trees=10), "linear": sr.LinearRegressionRanker()}
    >>> result = sr.cross_validate(data, rankers, "ndcg@10", grid={"n_leaves": (4, 8)}, n_folds=3)
    >>> print(result.table("ndcg@10"))
    ndcg@10   Fold1   Fold2   Fold3  mean of folds
    -------  ------  ------  ------  -------------
    trees    0.9753  0.9519  0.9768         0.9680
    linear   0.9852  0.9577  0.9759         0.9729
    >>> result.folds["trees"][0].chosen["n_leaves"] in (4, 8)
    True
    >>> result.comparison.differences[0].system, result.comparison.differences[0].baseline
    ('linear', 'trees')
    """
    measured = parse_metrics(metrics, convention)
    named = _named_rankers(rankers, measured[0])
    against = next(iter(named)) if baseline is None else baseline
    if against not in named:
        raise DataError(f"there is no ranker '{against}' to compare with; {did_you_mean(str(against), named)}")
    check_used(named, grid or {})
    grids = {name: candidates(name, ranker, grid or {}) for name, ranker in named.items()}
    folds = _folds(data, n_folds, random_state)
    folder = None if output is None else _output_folder(output, named)
    results: dict[str, list[FoldResult]] = {name: [] for name in named}
    for fold in folds:
        parts = fold.load()
        for name, ranker in named.items():
            title = f"{fold.name}  {name}"
            place = None if folder is None else _place(folder, fold, name)
            keeper = Keeper(place, plan_of(ranker, measured[0], parts), grids[name])
            found = search(ranker, measured[0], parts, keeper, callbacks(title), partial(_tell_of, title, tell))
            results[name].append(_tested(fold, parts, found, measured, convention))
    whole = CrossValidation.of(results, against, n_resamples, random_state)
    if folder is not None:
        _write(folder, whole)
    return whole


def _tested(fold: Fold, parts: Parts, found: Found, metrics: list[Metric], convention: str) -> FoldResult:
    """What was found on train and vali, measured on test."""
    evaluation = evaluate(parts.test, found.ranker.predict(parts.test), metrics, convention=convention)
    return FoldResult(fold.name, evaluation, found.best.parameters, found.best.value, found.tried)


def _tell_of(title: str, tell: Tell, text: str) -> None:
    tell(f"{title}  {text}")


def _named_rankers(rankers: Any, metric: Metric) -> dict[str, Ranker]:
    """Rankers by name, none of them fitted or made of fitted ones."""
    if isinstance(rankers, str | Ranker):
        rankers = [rankers]
    if not isinstance(rankers, Mapping):
        each = [ranker_class(ranker)() if isinstance(ranker, str) else ranker for ranker in rankers]
        for given, made in zip(rankers, each, strict=True):
            if isinstance(given, str):
                made.set_params(metric=metric)
        rankers = {getattr(ranker, "kind", type(ranker).__name__): ranker for ranker in each}
        if len(rankers) < len(each):
            raise ParameterError("two rankers are of the same kind: give them names, {'small': …, 'large': …}.")
    if not rankers:
        raise ParameterError("cross-validation needs one ranker or more, found none.")
    for name, ranker in rankers.items():
        if not isinstance(ranker, Ranker) or ranker.made_of_rankers:
            raise ParameterError(f"'{name}' must be a ranker that learns from data, found {type(ranker).__name__}.")
        if ranker.base_ranker is not None:
            raise ParameterError(f"'{name}' has a base_ranker, which may have learned from what it is tested on.")
    return dict(rankers)


def _folds(data: Dataset | str | os.PathLike[str], n_folds: int | None, random_state: int) -> list[Fold]:
    if not isinstance(data, Dataset):
        if Path(data).is_dir():
            if n_folds is not None:
                raise DataError(f"{data} is a folder, which has its own folds: n_folds is for a single file.")
            return find_folds(data)
        data = read(data)
    return made_folds(data, 5 if n_folds is None else n_folds, random_state)


def _output_folder(output: str | os.PathLike[str], names: Iterable[str]) -> Path:
    for name in names:
        if not _FILE_NAME.fullmatch(name):
            raise ParameterError(f"'{name}' cannot name a file: use letters, digits, '_', '-', '.' and '+'.")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file: name a folder for the results.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place(folder: Path, fold: Fold, name: str) -> Path:
    (folder / fold.name).mkdir(exist_ok=True)
    return folder / fold.name / name


def _write(folder: Path, whole: CrossValidation) -> None:
    for ending, text in (("txt", str(whole)), ("json", whole.to_json())):
        with replacing(folder / f"results.{ending}") as stream:
            stream.write(f"{text}\n".encode())
