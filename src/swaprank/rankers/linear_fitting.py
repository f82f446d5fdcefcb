"""What the linear rankers share: regularisations to choose from, where weights start, and what judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.rankers.base_model import base_weights
from swaprank.rankers.parameter_checks import Bounds, check_parameter
from swaprank.rankers.rounds import Measured
from swaprank.smoothrank.architectures import Linear
from swaprank.smoothrank.candidates import Judge
from swaprank.smoothrank.scorers import Scorer


def regularizations(given: Any, auto: Sequence[float]) -> list[float]:
    """The strengths to choose from, the strongest first, so that of equally good ones it is taken."""
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"regularization must be a number from 0, several, or 'auto'; found {given!r}.")
        return list(auto)
    several = list(np.atleast_1d(given)) if isinstance(given, np.ndarray) else given
    several = list(several) if isinstance(several, Sequence) else [several]
    if not several:
        raise ParameterError("regularization has nothing to choose from: it is empty.")
    for one in several:
        check_parameter("regularization", one, Bounds(False, 0, np.inf))
    return sorted({float(one) for one in several}, reverse=True)


def center_weights(base: Any, shape: Linear, data: Dataset) -> Floats:
    """A base ranker's weights in units of each feature's standard deviation; zeros if there is no base ranker."""
    if base is None:
        return np.zeros(shape.n_parameters)
    factor = shape.units.factor
    weights = base_weights(base, data.n_features)
    # A feature that does not vary here has no unit, and its weight no effect.
    center: Floats = np.divide(weights, factor, out=np.zeros(len(weights)), where=factor > 0)
    return center


def check_watched(measured: Measured) -> None:
    """Refuse to choose by a watched set that says nothing."""
    if measured.unusable is not None:
        raise DataError(
            f"there is nothing to choose by: {measured.unusable} is the same for every order of its documents. "
            "Watch a set in which some documents are better than others, or none."
        )


def watched_judge(measured: Measured, scorers: Mapping[str, Scorer]) -> Judge | None:
    """The watched set and metric, if there are any."""
    if measured.watched is None:
        return None
    return Judge(scorers[measured.watched.set], measured.watched_metric)
