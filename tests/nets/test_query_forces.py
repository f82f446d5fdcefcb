from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr
from swaprank.nets.query_forces import forces_of_query, rule_of
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.forces import BoundForces
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.ranknet_objective import RankNetObjective

(DATA,) = sr.datasets.random_net((6,), n_features=2, n_documents=12, random_state=0)
QID = np.repeat(DATA.qids, 12)
PAIRED = sr.Dataset(DATA.features, DATA.labels, qid=QID, pairs=[(0, 5, 0.3), (20, 13, 1.0), (14, 20, 0.0)])
WEIGHTED = sr.Dataset(DATA.features, DATA.labels, qid=QID, sample_weight=np.arange(72) / 10)


def lambdarank(construction: str, data: sr.Dataset = DATA) -> BoundForces:
    objective = LambdaRankObjective(sr.metric("ndcg@5"), construction=construction)
    return objective.bind(data, random_state=0, n_threads=1)


@pytest.mark.parametrize(
    "bound",
    [
        RankNetObjective(ties=True).bind(DATA, random_state=0, n_threads=1),
        RankNetObjective(sigma=0.5).bind(PAIRED, random_state=0, n_threads=1),
        lambdarank("pairs"),
        lambdarank("pairs", WEIGHTED),
        *(lambdarank(construction) for construction in CONSTRUCTIONS),
    ],
    ids=["ranknet", "given pairs", "pairs", "weighted", *CONSTRUCTIONS],
)
def test_forces_of_one_query_are_those_of_all(bound: BoundForces) -> None:
    scores = np.random.default_rng(1).normal(size=len(DATA))
    expected, found = np.full((2, len(DATA)), np.nan), np.full((2, len(DATA)), np.nan)
    bound.update(scores, *expected)
    for query in range(6):
        forces_of_query(rule_of(bound.forces, bound.indptr), bound.forces, bound.indptr, scores, query, *found)
    np.testing.assert_array_equal(found, expected)
