from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import BoundObjective
from swaprank.objectives.query_gradients import query_gradients, weigh_queries
from swaprank.objectives.ranknet_objective import RankNetObjective

(DATA,) = sr.datasets.random_net((6,), n_features=2, n_documents=12, random_state=0)
QID = np.repeat(DATA.qids, 12)
PAIRED = sr.Dataset(DATA.features, DATA.labels, qid=QID, pairs=[(0, 5, 0.3), (20, 13, 1.0), (14, 20, 0.0)])
WEIGHTED = sr.Dataset(DATA.features, DATA.labels, qid=QID, sample_weight=np.arange(72) / 10)


def lambdarank(construction: str, data: sr.Dataset = DATA) -> BoundObjective:
    objective = LambdaRankObjective(sr.metric("ndcg@5"), construction=construction)
    return objective.bind(data, random_state=0, n_threads=1)


@kernel
def one_by_one(arrays: Any, weights: Floats, indptr: Ints, scores: Floats, grad: Floats, hess: Floats) -> None:
    """As nets call objectives."""
    for query in range(len(indptr) - 1):
        query_gradients(arrays, indptr, scores, query, query + 1, grad, hess)
        weigh_queries(weights, indptr, query, query + 1, grad, hess)


@pytest.mark.parametrize(
    "bind",
    [
        lambda: RankNetObjective(ties=True).bind(DATA, random_state=0, n_threads=1),
        lambda: RankNetObjective(sigma=0.5).bind(PAIRED, random_state=0, n_threads=1),
        lambda: lambdarank("pairs"),
        lambda: lambdarank("pairs", WEIGHTED),
        *(partial(lambdarank, construction) for construction in CONSTRUCTIONS),
    ],
    ids=["ranknet", "given pairs", "pairs", "weighted", *CONSTRUCTIONS],
)
def test_gradients_of_one_query_in_a_kernel_are_those_of_all(bind: Callable[[], BoundObjective]) -> None:
    bound = bind()
    scores = np.random.default_rng(1).normal(size=len(DATA))
    expected, found = np.full((2, len(DATA)), np.nan), np.full((2, len(DATA)), np.nan)
    bound.update(scores, *expected)
    one_by_one(bound.kernel_arrays(), bound.weights, bound.indptr, scores, *found)
    np.testing.assert_array_equal(found, expected)
