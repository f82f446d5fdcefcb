"""Shared by the linear rankers: regularization strengths, base weights, the regression problem and evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.linear.architectures import LinearArchitecture, ScoreFunction
from swaprank.linear.cross_validation import Evaluator, FitProblem
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.base_model import base_weights
from swaprank.rankers.learned import found
from swaprank.rankers.rounds import VALID, Measured


def found_by_strength() -> found[dict[float, float]]:
    """Declare a value for each regularization strength, which training finds."""
    return found(
        lambda pairs: {float(strength): float(value) for strength, value in pairs},
        save=lambda values: list(values.items()),
    )


def regularizations(given: Any, auto: Sequence[float]) -> list[float]:
    """Return the strengths to choose from, in descending order: of equally good ones, the strongest is chosen."""
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"regularization must be a number from 0, several, or 'auto'; found {given!r}.")
        return list(auto)
    several = np.atleast_1d(given) if isinstance(given, np.ndarray) else given
    strengths = list(several) if isinstance(several, Sequence | np.ndarray) else [several]
    if not strengths:
        raise ParameterError("regularization has nothing to choose from: it is empty.")
    for strength in strengths:
        check_parameter("regularization", strength, Bounds(False, 0, np.inf))
    return sorted({float(strength) for strength in strengths}, reverse=True)


def center_weights(base: Any, architecture: LinearArchitecture, data: Dataset) -> Floats:
    """Return a base ranker's weights, as weights of the standardized features; zeros if there is no base ranker."""
    if base is None:
        return np.zeros(architecture.n_parameters)
    factor = architecture.units.factor
    weights = base_weights(base, data.n_features)
    # A feature that is constant on this data has a factor of 0, and its weight has no effect.
    center: Floats = np.divide(weights, factor, out=np.zeros(len(weights)), where=factor > 0)
    return center


def fit_problem(data: Dataset, score_function: ScoreFunction, targets: Floats, n_threads: int | None) -> FitProblem:
    """Return the regression of targets, which are grouped by query."""
    weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
    labels = np.array(data.by_query(data.labels))
    return FitProblem(score_function, targets, labels, np.array(data.indptr), weights, n_threads)


def watched_evaluator(measured: Measured, score_functions: Mapping[str, ScoreFunction]) -> Evaluator | None:
    """Return an evaluator of the watched metric on the watched set; None if no set is watched."""
    if measured.watched is None:
        return None
    return Evaluator(score_functions[measured.watched.set], measured.watched_metric)


def needs_folds(data: Dataset, measured: Measured, n_folds: int | None) -> bool:
    """Return True if cross-validation chooses the regularization, and not the watched set alone."""
    if n_folds is None and measured.unusable is not None:
        raise DataError(
            f"cannot choose by {measured.unusable}, which is the same for every order of the documents. Watch a set "
            "in which the documents of a query have different labels, or none."
        )
    if n_folds is None and measured.watched is not None:
        return False
    if data.n_queries < 2:
        raise DataError(
            "one query is too few to choose a regularization by; give a number, or a validation set: ", VALID, "."
        )
    return True
