"""Stochastic label aggregation: one of several labels per query, drawn at random, and then a single goal [Carmel2020].

Over many queries, the expected gradient is the sum of the goals' gradients, weighted by their probabilities. The paper
draws one label for each training example; for a ranker, that is a query, so that labels of two units never meet in one
list. It is the simplest way to several goals, for any ranker, and noisier than the sum itself: see `WeightedSum`.
"""

from collections.abc import Mapping

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.data.document_places import random_fractions
from swaprank.errors import ParameterError
from swaprank.objectives.goals import column_values
from swaprank.parameters import Bounds, check_parameter


def stochastic_labels(data: Dataset, columns: Mapping[str, float], *, random_state: int = 0) -> Dataset:
    """The data with labels from one of several columns in each query, drawn at random.

    Args:
        data: Judged documents.
        columns: The probability of each side column or feature; what is missing from 1 is that of the data's labels.
        random_state: The seed. The choice of a query depends on its id, not on its place.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[7], [8], [9]], [0, 1, 2], qid=[1, 2, 3], feature_names=["margin"])
    >>> sr.objectives.stochastic_labels(data, {"margin": 0.5}).labels.tolist()
    [7.0, 1.0, 9.0]
    """
    for name, share in columns.items():
        check_parameter(f"the probability of {name}", share, Bounds(False, 0, 1))
    if sum(columns.values()) > 1 + 1e-9:
        raise ParameterError(f"the probabilities of columns must sum to at most 1; found {sum(columns.values()):g}.")
    drawn = random_fractions(data.places.keys, random_state)
    labels, below = np.array(data.by_query(data.labels)), 0.0
    for name, share in columns.items():
        chosen = ((drawn >= below) & (drawn < below + share)).repeat(np.diff(data.indptr))
        labels[chosen] = data.by_query(column_values(data, name, f"labels='{name}'"))[chosen]
        below += share
    return data.replace(labels=data.as_given(labels))
