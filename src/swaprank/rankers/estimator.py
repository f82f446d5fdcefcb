"""What scikit-learn wants of an estimator: parameters, copies, tags and requests for query ids."""

from abc import ABC
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from swaprank.peer_names import check_arguments


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A scikit-learn estimator that knows what its parameters are called in other libraries."""

    # Pipelines and searches of scikit-learn pass qid on, if metadata routing is enabled.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"qid": True}
    __metadata_request__partial_fit: ClassVar[Mapping[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[Mapping[str, bool]] = {"qid": True}

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """Explain parameters that other libraries have; `__init__` stores the arguments."""
        check_arguments(parameters, cls._get_param_names(), cls.__name__)
        ranker: Self = super().__new__(cls)
        return ranker

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know of it: it takes sparse matrices and missing values, and needs labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __sklearn_clone__(self) -> Any:
        """A copy without what was learned; the base ranker keeps what it learned, because training starts from it."""
        given = self.get_params(deep=False)
        # Two clones with the same generator would draw different seeds from it.
        changeable = (np.random.RandomState, np.random.Generator, np.ndarray, list)
        return type(self)(
            **{name: deepcopy(value) if isinstance(value, changeable) else value for name, value in given.items()}
        )

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, as scikit-learn does it."""
        own = [name for name in parameters if "__" not in name]
        check_arguments(own, self._get_param_names(), type(self).__name__)
        return super().set_params(**parameters)  # type: ignore[no-any-return]

    def _set_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of `__init__` as attributes of the same names, as scikit-learn wants it."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])
