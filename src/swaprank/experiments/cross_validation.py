"""Cross-validation: every query is tested once, by a ranker that was not trained on it."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import swaprank as sr
from swaprank.cluster.gathering import gathered
from swaprank.errors import DataError, Hint, Interrupted, ParameterError, did_you_mean
from swaprank.evaluation.segments import QueryValues, joined_segments, query_values
from swaprank.experiments.cross_validation_result import CrossValidation, FoldResult
from swaprank.experiments.folds import Fold, FoldData, find_folds, make_folds
from swaprank.experiments.grid_search import (
    FinishedTrials,
    candidates,
    find_parameter,
    grid_search,
    search_configuration,
)
from swaprank.files import file_in, replacing, uninterrupted
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.rounds import Callback, shown_trainings
from swaprank.registry import ranker_maker

_FILE_NAME = re.compile(r"[\w+-][\w.+-]*")
_RESULTS = ("txt", "json")
"""Endings of the files with the results."""


def cross_validate(
    data: sr.Dataset | sr.Parts | str | os.PathLike[str],
    rankers: Mapping[str, sr.Ranker] | str | sr.Ranker | Iterable[str | sr.Ranker],
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric] = "ndcg@10",
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    n_folds: int | None = None,
    output: str | os.PathLike[str] | None = None,
    by: str | None = None,
    baseline: str | None = None,
    convention: str = "standard",
    n_resamples: int = 10_000,
    random_state: int = 0,
    columns: Mapping[str, Any] | None = None,
    callbacks: Callable[[str], Sequence[Callback]] = lambda title: (),
    log: Callable[[str], object] = lambda message: None,
    verbose: bool | int = False,
) -> CrossValidation:
    """Train and test rankers on every fold, and compare them over all test queries.

    Args:
        data: A folder in LETOR's layout (Fold1, Fold2, … with train, vali and test files); or a data set or file,
            whose queries are split into folds. Each part is the test set once, the next part is the validation set,
            and the ranker is trained on the others. `Parts` are brought to this process. Trees cut the values of each
            fold's training queries into bins; those of data that is binned already come from all of its queries.
        rankers: A dictionary of rankers by name; or one or several rankers or kinds such as "lambdamart", named by
            their kind. Kinds are trained for the first metric.
        metrics: One or several metrics or their names. The first one is measured on the validation set and selects the
            grid parameters.
        grid: Values to try per parameter: {"n_leaves": (7, 15)} for every ranker that has this parameter,
            {"lambdamart.n_leaves": (7, 15)} for one ranker. All combinations are tried in every fold, and the best on
            its validation set is tested.
        n_folds: Number of folds to make from one data set. The default is 5. Not allowed for a folder of folds.
        output: Folder for models and results. A later call with the same arguments resumes from there.
        by: Compare segments of the test queries, too: the name of a side column or a feature with one value per query;
            or "n_documents" or "n_relevant", the size of queries in ranges.
        baseline: Name of the ranker to compare the others with. If None, the first.
        convention: Convention of the metric names.
        n_resamples: Number of resamples of the randomization test.
        random_state: Seed of the folds and of the randomization test. Rankers have their own.
        columns: Names of the columns of tables, as keywords of `read`: {"label": "clicked", "ignore": ["title"]}.
        callbacks: Called with a title, such as "Fold1  lambdamart", before each ranker is trained; returns the
            callbacks for `fit`.
        log: Called with one line of text after every training.
        verbose: Show the progress of every training, as `fit` does.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((60,), n_features=5, n_documents=10, levels=3, random_state=0)
    >>> rankers = {"trees": sr.LambdaMART(n_trees=10), "linear": sr.LinearRegressionRanker()}
    >>> result = sr.cross_validate(data, rankers, "ndcg@10", grid={"n_leaves": (4, 8)}, n_folds=3)
    >>> print(result.table("ndcg@10"))
    ndcg@10   Fold1   Fold2   Fold3  mean of folds
    -------  ------  ------  ------  -------------
    trees    0.9483  0.9476  0.9606         0.9522
    linear   0.9852  0.9577  0.9759         0.9729
    >>> result.folds["trees"][0].chosen["n_leaves"] in (4, 8)
    True
    >>> result.comparison.differences[0].system, result.comparison.differences[0].baseline
    ('linear', 'trees')
    """
    metrics = parse_metrics(metrics, convention)
    named = _named_rankers(rankers, metrics[0])
    against = next(iter(named)) if baseline is None else baseline
    if against not in named:
        raise DataError(f"there is no ranker '{against}' to compare with; {did_you_mean(str(against), named)}")
    for key in grid or {}:
        find_parameter(key, {name: type(ranker) for name, ranker in named.items()})
    grids = {name: candidates(name, ranker, grid or {}) for name, ranker in named.items()}
    folds = _folds(data, n_folds, random_state, columns or {})
    folder = None if output is None else _output_folder(output, named, [fold.name for fold in folds])
    results: dict[str, list[FoldResult]] = {name: [] for name in named}
    tested: list[QueryValues] = []
    with shown_trainings(verbose) as shown, _plain_interrupts():
        for fold in folds:
            parts = fold.load()
            if by is not None:
                tested.append(query_values(parts.test, by))
            for name, ranker in named.items():
                title = f"{fold.name}  {name}"
                found = _finished_trials(folder, fold.name, name, ranker, grids[name], metrics[0], parts)
                watching = [*shown(title), *callbacks(title)]
                grid_search(ranker, metrics[0], parts, found, watching, title, log)
                evaluation = sr.evaluate(parts.test, found.ranker.predict(parts.test), metrics, convention=convention)
                results[name].append(
                    FoldResult(fold.name, evaluation, found.best.parameters, found.best.value, found.trials)
                )
    segments = joined_segments(tested) if tested else None
    result = CrossValidation.from_folds(results, against, n_resamples, random_state, segments)
    if folder is not None:
        _write_results(folder, result)
    return result


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Ctrl-C without the half-trained ranker of one fold, which is no result of a cross-validation."""
    try:
        yield
    except Interrupted:
        raise KeyboardInterrupt from None


def _finished_trials(
    folder: Path | None,
    fold: str,
    name: str,
    ranker: sr.Ranker,
    grid: list[dict[str, Any]],
    metric: sr.metrics.Metric,
    parts: FoldData,
) -> FinishedTrials:
    """The trials of one ranker in one fold: in memory, or in files of the output folder."""
    if folder is None:
        return FinishedTrials(grid)
    file_in(folder, fold).mkdir(exist_ok=True)
    configuration = search_configuration(ranker, grid[0], metric, parts.train, parts.vali)
    return FinishedTrials(grid, folder / fold / name, configuration)


def _named_rankers(rankers: Any, metric: sr.metrics.Metric) -> dict[str, sr.Ranker]:
    """The rankers by name, after checking that all of them can be trained."""
    if isinstance(rankers, str | sr.Ranker):
        rankers = [rankers]
    if not isinstance(rankers, Iterable) or isinstance(rankers, type):
        raise ParameterError(f"cross_validate takes the data, then rankers; found {type(rankers).__name__} as rankers.")
    if not isinstance(rankers, Mapping):
        given = list(rankers)
        made = [ranker_maker(ranker)(metric=metric) if isinstance(ranker, str) else ranker for ranker in given]
        names = [each if isinstance(each, str) else getattr(each, "kind", type(each).__name__) for each in given]
        rankers = dict(zip(names, made, strict=True))
        if len(rankers) < len(made):
            raise ParameterError("two rankers are of the same kind: give them names, {'small': …, 'large': …}.")
    if not rankers:
        raise ParameterError("cross-validation needs at least one ranker; found none.")
    for name, ranker in rankers.items():
        if not isinstance(ranker, sr.Ranker) or ranker.can.learns_from != "data":
            raise ParameterError(
                f"'{name}' must be a ranker that learns from data; found {type(ranker).__name__}. What needs no "
                "training, such as a column, is compared on all queries by compare."
            )
        if ranker.base_ranker is not None:
            raise ParameterError(f"'{name}' has a base ranker, which may have been trained on test queries.")
    return dict(rankers)


def _folds(
    data: sr.Dataset | sr.Parts | str | os.PathLike[str],
    n_folds: int | None,
    random_state: int,
    columns: Mapping[str, Any],
) -> list[Fold]:
    data = gathered(data)
    if not isinstance(data, sr.Dataset):
        if not isinstance(data, str | os.PathLike):
            raise DataError(f"cross_validate takes a Dataset, a file or a folder; found {type(data).__name__}.")
        if Path(data).is_dir():
            if n_folds is not None:
                raise DataError(
                    f"{data} is a folder with its own folds: ",
                    Hint("n_folds", option="--folds"),
                    " is for a single file.",
                )
            return find_folds(data, columns)
        data = sr.read(data, **columns)
    return make_folds(data, 5 if n_folds is None else n_folds, random_state)


def _output_folder(output: str | os.PathLike[str], names: Iterable[str], folds: Sequence[str]) -> Path:
    for name in names:
        if not _FILE_NAME.fullmatch(name):
            raise ParameterError(f"'{name}' cannot be used as a file name: use letters, digits, '_', '-', '.' and '+'.")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file: choose a folder for the results.")
    folder.mkdir(parents=True, exist_ok=True)
    for ending in _RESULTS:
        file_in(folder, f"results.{ending}")
    for fold, name, ending in product(folds, names, ("json", "swaprank")):
        file_in(folder, fold, f"{name}.{ending}")
    return folder


def _write_results(folder: Path, result: CrossValidation) -> None:
    with uninterrupted():
        for ending, text in zip(_RESULTS, (str(result), result.to_json()), strict=True):
            with replacing(file_in(folder, f"results.{ending}")) as stream:
                stream.write(f"{text}\n".encode())
