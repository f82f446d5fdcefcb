"""Every parameter of every ranker is checked."""

import inspect
from typing import Any

import pytest

import swaprank as sr
from swaprank.rankers.parameter_checks import BOUNDS, BOUNDS_OF_EACH
from swaprank.registry import RANKERS, ranker_class

(DATA,) = sr.datasets.random_net((4,), n_features=2, n_documents=5, random_state=0)
NUMBERS = [
    (kind, name)
    for kind in RANKERS
    for name, parameter in inspect.signature(ranker_class(kind)).parameters.items()
    if isinstance(parameter.default, int | float) or name in BOUNDS or name in BOUNDS_OF_EACH
]


@pytest.mark.parametrize(("kind", "name"), NUMBERS)
def test_a_number_or_flag_that_is_neither_is_refused(kind: str, name: str) -> None:
    wrong: Any = ("two",) if name in BOUNDS_OF_EACH else "two"
    with pytest.raises(sr.errors.ParameterError, match=f"{name} must be"):
        ranker_class(kind)(**{name: wrong}).fit(DATA)
