"""The model that training starts from: what `base_ranker` must be, for each kind of ranker."""

from typing import Any, TypeVar

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.matching import check_count
from swaprank.errors import DataError, Hint, ParameterError
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.rankers.ranker import Ranker

_BASE = Hint("base_ranker", option="--base")

AnyModel = TypeVar("AnyModel", bound=Model)


def base_model(base: Any, kind: type[AnyModel], expected: str, n_features: int) -> AnyModel:
    """The model of a base ranker, which must be fitted, of a kind and for so many features."""
    model = getattr(base, "model_", None) if isinstance(base, Ranker) else None
    if not isinstance(model, kind):
        unfitted = isinstance(base, Ranker) and model is None
        found = f"{type(base).__name__} that is not fitted" if unfitted else type(base).__name__
        raise ParameterError(_BASE, f" must be {expected}, found {found}.")
    check_count(model.n_features, n_features, "the base ranker", "the data")
    return model


def base_weights(base: Any, n_features: int) -> Floats:
    """The weights of the features in a linear base ranker: one of ours, or any fitted estimator with coef_."""
    if isinstance(base, Ranker):
        model = base_model(base, Model, "a fitted linear ranker", n_features)  # type: ignore[type-abstract]
        try:
            weights = model.feature_weights()
        except ParameterError as error:
            raise ParameterError(_BASE, " must be a fitted linear ranker: ", error) from None
    elif hasattr(base, "coef_"):
        weights = np.ravel(np.asarray(base.coef_, dtype=np.float64))
    else:
        raise ParameterError(_BASE, f" must be a fitted linear ranker, with coef_; found {type(base).__name__}.")
    if not np.isfinite(weights).all():
        raise DataError("the base ranker has a weight that is not finite.")
    check_count(len(weights), n_features, "the base ranker", "the data")
    return weights


def check_net_shape(net: Net, ranker: Any, whose: str) -> None:
    """Raise an error if a net has other hidden layers or another activation than a ranker's parameters."""
    hidden = tuple(int(n_units) for n_units in ranker.hidden)
    if (net.hidden, net.activation) != (hidden, ranker.activation):
        raise ParameterError(
            f"{whose} has hidden={net.hidden} and activation='{net.activation}', but the parameters are "
            f"hidden={hidden} and activation='{ranker.activation}'."
        )
