"""What the linear rankers share: their parameters, checked at the border, and who judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.linear.architectures import Linear
from swaprank.linear.candidates import Judge
from swaprank.linear.scorers import Scorer
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.net.net import Net
from swaprank.rankers.parameters import Bounds, check_parameter
from swaprank.rankers.rounds import Measured


def regularizations(given: Any, auto: Sequence[float]) -> list[float]:
    """The strengths to choose from, the strongest first, so that of equally good ones it is taken."""
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"regularization must be a number from 0, several, or 'auto'; found {given!r}.")
        return list(auto)
    several = list(given) if isinstance(given, Sequence | np.ndarray) else [given]
    if not several:
        raise ParameterError("regularization has nothing to choose from: it is empty.")
    for one in several:
        check_parameter("regularization", one, Bounds(False, 0, np.inf))
    return sorted({float(one) for one in several}, reverse=True)


def check_flags(ranker: Any, *names: str) -> None:
    """Refuse what is neither True nor False."""
    for name in names:
        if not isinstance(getattr(ranker, name), bool):
            raise ParameterError(f"{name} must be True or False; found {getattr(ranker, name)!r}.")


def held_weights(base: Any, shape: Linear, data: Dataset) -> Floats:
    """A base ranker's weights, in units of each feature's deviation; zeros if there is none."""
    if base is None:
        return np.zeros(shape.n_parameters)
    weights = getattr(base, "coef_", None)
    if weights is None:
        raise ParameterError(f"a base ranker must be a fitted linear one, with coef_; found {type(base).__name__}.")
    weights = np.ravel(np.asarray(weights, dtype=np.float64))
    if len(weights) != data.n_features or not np.isfinite(weights).all():
        raise DataError(f"the base ranker has {len(weights)} features, but the data has {data.n_features}.")
    # A feature that does not vary here has no unit, and its weight no effect.
    held: Floats = np.divide(weights, shape.units.factor, out=np.zeros(len(weights)), where=shape.units.factor > 0)
    return held


def check_numbers(name: str, values: Any, bounds: Bounds) -> None:
    """Refuse what is no tuple or list of numbers within bounds."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ParameterError(f"{name} must be a tuple of numbers; found {values!r}.")
    for value in values:
        check_parameter(name, value, bounds)


def base_net(base: Any, hidden: tuple[int, ...], data: Dataset) -> Net:
    """A base ranker's net, which must have the shape that is wanted."""
    net = getattr(base, "net_", getattr(base, "model_", None))
    if not isinstance(net, Net):
        raise ParameterError(f"for hidden={hidden} a base ranker must be a fitted net, found {type(base).__name__}.")
    if net.n_features != data.n_features or net.hidden != hidden:
        raise ParameterError(
            f"the base ranker is a net of {net.n_features} features and hidden={net.hidden}, but there are "
            f"{data.n_features} features and hidden={hidden}."
        )
    return net


def bind_metric(metric: Metric, data: Dataset) -> BoundMetric:
    """A metric bound to a data set, query after query."""
    docid = None if data.docid is None else data.by_query(data.docid)
    return metric.bind(data.by_query(data.labels), data.indptr, docid=docid)


def watched_judge(measured: Measured, scorers: Mapping[str, Scorer]) -> Judge | None:
    """The watched set and metric, if there are any."""
    if measured.watched is None:
        return None
    name, bound = measured.bound[measured.watched]
    return Judge(scorers[name], bound)
