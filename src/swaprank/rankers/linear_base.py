"""What the linear rankers share: their parameters, checked at the border, and who judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.models.activations import ACTIVATIONS, Activation
from swaprank.models.linear import LinearModel
from swaprank.models.net import Net
from swaprank.rankers.parameter_checks import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Measured
from swaprank.smoothrank.architectures import KernelModel, Linear
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


def check_flags(ranker: Any, *names: str) -> None:
    """Refuse what is neither True nor False."""
    for name in names:
        if not isinstance(getattr(ranker, name), bool):
            raise ParameterError(f"{name} must be True or False; found {getattr(ranker, name)!r}.")


def held_weights(base: Any, shape: Linear, data: Dataset) -> Floats:
    """A base ranker's weights, in units of each feature's deviation; zeros if there is none."""
    if base is None:
        return np.zeros(shape.n_parameters)
    weights = _linear_weights(base) if isinstance(base, Ranker) else getattr(base, "coef_", None)
    if weights is None:
        raise ParameterError(f"a base ranker must be a fitted linear one, with coef_; found {type(base).__name__}.")
    weights = np.ravel(np.asarray(weights, dtype=np.float64))
    if not np.isfinite(weights).all():
        raise DataError("the base ranker has a weight that is not finite.")
    if len(weights) != data.n_features:
        raise DataError(f"the base ranker has {len(weights)} features, but the data has {data.n_features}.")
    # A feature that does not vary here has no unit, and its weight no effect.
    held: Floats = np.divide(weights, shape.units.factor, out=np.zeros(len(weights)), where=shape.units.factor > 0)
    return held


def _linear_weights(base: Ranker) -> Floats:
    """The weights of a ranker's features as they are; a net without hidden units has them as well."""
    model, found = _model_of(base), type(base).__name__
    if isinstance(model, LinearModel):
        return model.weights
    if isinstance(model, KernelModel):
        found += " of a kernel machine"
    elif isinstance(model, Net) and model.hidden:
        found += f" with hidden={model.hidden}"
    elif isinstance(model, Net) and model.scaling.logged.any():
        found += " of features' logarithms"
    elif isinstance(model, Net):
        # What its scaling takes off the features moves all scores alike.
        return model.weights.astype(np.float64) * model.scaling.factor
    elif not hasattr(base, "n_features_in_"):
        found += " that is not fitted"
    raise ParameterError(f"a base ranker must be a fitted linear one; found {found}.")


def _model_of(base: Any) -> Any:
    return getattr(base, "net_", getattr(base, "model_", None))


def check_numbers(name: str, values: Any, bounds: Bounds) -> None:
    """Refuse what is no tuple or list of numbers within bounds."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or np.ndim(values) == 0:
        raise ParameterError(f"{name} must be a tuple of numbers; found {values!r}.")
    for value in values:
        check_parameter(name, value, bounds)


def base_net(base: Any, hidden: tuple[int, ...], activation: Activation, data: Dataset) -> Net:
    """A base ranker's net, which must have the shape that is wanted."""
    net = _model_of(base)
    if not isinstance(net, Net):
        raise ParameterError(f"for hidden={hidden} a base ranker must be a fitted net, found {type(base).__name__}.")
    if net.n_features != data.n_features:
        raise DataError(f"the base ranker has {net.n_features} features, but the data has {data.n_features}.")
    if (net.hidden, net.layers.activation) != (hidden, ACTIVATIONS.index(activation)):
        raise ParameterError(
            f"the base ranker has hidden={net.hidden} and activation='{ACTIVATIONS[net.layers.activation]}', found "
            f"hidden={hidden} and activation='{activation}' here."
        )
    return net


def check_watched(measured: Measured) -> None:
    """Refuse to choose by a watched set that says nothing."""
    if measured.in_vain:
        raise DataError(
            f"there is nothing to choose by: '{measured.in_vain}' is the same for every order of its documents. "
            "Watch a set in which some are better than others, or none."
        )


def watched_judge(measured: Measured, scorers: Mapping[str, Scorer]) -> Judge | None:
    """The watched set and metric, if there are any."""
    if measured.watched is None:
        return None
    name, bound = measured.bound[measured.watched]
    return Judge(scorers[name], bound)
