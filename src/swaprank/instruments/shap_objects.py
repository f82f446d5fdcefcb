"""Our contributions as objects of the package shap, for its plots."""

from typing import Any

import numpy as np

from swaprank.errors import MissingExtraError
from swaprank.rankers.ranker import Ranker


def shap_explanation(ranker: Ranker, X: Any) -> Any:
    """The contributions of a ranker as a `shap.Explanation`, for `shap.plots`; needs the package shap.

    Args:
        ranker: A fitted ranker of trees or with a linear model.
        X: A data set or matrix: one explanation per row.

    >>> from importlib.util import find_spec
    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(data)
    >>> if find_spec("shap"):
    ...     assert sr.instruments.shap_explanation(ranker, data).values.shape == (len(data), 3)
    """
    explanation = shap_class()
    shares = ranker.contributions(X)
    features = np.array(ranker._features_of(X), dtype=np.float64)
    names = [str(name) for name in ranker.feature_names_in_]
    shown = features.astype(object) if ranker.categories_ else features
    for at, name in enumerate(names):
        if name in ranker.categories_:
            known = ranker.categories_[name]
            shown[:, at] = [None if code != code else known[int(code)] for code in features[:, at]]
    return explanation(values=shares[:, :-1], base_values=shares[:, -1], data=shown, feature_names=names)


def shap_class() -> Any:
    """`shap.Explanation`; MissingExtraError if shap is not installed."""
    try:
        from shap import Explanation
    except ImportError:
        raise MissingExtraError("these objects need the package shap: pip install shap.") from None
    return Explanation
