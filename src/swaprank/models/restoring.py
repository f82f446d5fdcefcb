"""Models of any kind from their parts."""

from collections.abc import Mapping
from typing import Any

from swaprank.arrays import AnyArray
from swaprank.errors import ModelFileError
from swaprank.models.ensemble import Ensemble
from swaprank.models.forest import Forest
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.models.selection import Selection

MODELS: dict[str, type[Model]] = {
    model.kind: model for model in (LinearModel, KernelMachine, Net, Forest, Ensemble, Selection)
}


def model_from_parts(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Model:
    """The inverse of `Model.to_parts`; all parts are checked.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> from swaprank.models.restoring import model_from_parts
    >>> model_from_parts(*LinearModel(np.array([2.0]), np.zeros(1, np.float32)).to_parts()).describe()
    '1 weights'
    """
    if meta["kind"] not in MODELS:
        raise ModelFileError(f"its model has the kind {meta['kind']!r}, which this version does not know.")
    return MODELS[meta["kind"]].from_parts(meta, arrays)
