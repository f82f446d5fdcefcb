import numpy as np
import pytest

import swaprank as sr
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.ranknet_objective import RankNetObjective
from tests.metrics.naive import swap_gains
from tests.objectives.naive_constructions import gains_of
from tests.objectives.naive_lambdas import VALUES
from tests.objectives.test_lambdas import METRICS


def shuffled(seed: int = 0) -> tuple[sr.Dataset, list[float]]:
    """Rows of all queries in any order, and their scores."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(15), rng.integers(1, 12, 15)))
    return sr.Dataset(np.zeros((len(qid), 1)), rng.integers(0, 4, len(qid)), qid=qid), rng.normal(
        size=len(qid)
    ).tolist()


@pytest.mark.parametrize("name", [name for name in METRICS if name != "pairwise"])
def test_counts_equal_those_of_the_swap_gains(name: str) -> None:
    data, scores = shuffled()
    metric = METRICS[name]
    found = sr.instruments.effective_pairs(metric, data, scores)
    for query in range(data.n_queries):
        rows = data.rows(query)
        ranked = rows[np.argsort(-np.array(scores)[rows])]
        swap = np.triu(swap_gains(VALUES[name], data.labels[ranked].tolist())).round(12)
        gains = gains_of(name, data.labels[ranked])
        different = gains[:, None] != gains
        assert found.pairs[query] == (data.labels[rows][:, None] > data.labels[rows]).sum()
        assert found.distinguished[query] == np.triu(different).sum()
        assert found.effective[query] == (different & (swap != 0)).sum()


def test_ranknet_learns_from_all_pairs() -> None:
    data, scores = shuffled()
    plain, tied = (sr.instruments.effective_pairs(RankNetObjective(ties=ties), data, scores) for ties in (False, True))
    np.testing.assert_array_equal(plain.effective, plain.pairs)
    lengths = np.diff(data.indptr)
    np.testing.assert_array_equal(tied.effective, lengths * (lengths - 1) / 2)
    np.testing.assert_array_equal(sr.instruments.effective_pairs("pairwise", data, scores).effective, plain.pairs)
    given = sr.Dataset([[0], [0], [0]], [0, 0, 0], qid=[1, 1, 2], pairs=[(0, 1, 0.3), (1, 0, 0.9)])
    assert sr.instruments.effective_pairs("ranknet", given, [1, 2, 3]).effective.tolist() == [2, 0]


@pytest.mark.parametrize("construction", ["spring", "local_gradient", "local_cost"])
def test_counts_of_constructions(construction: str) -> None:
    data = sr.Dataset(np.zeros((6, 1)), [0, 0, 1, 1, 0, 2], qid=[1] * 6)
    objective = LambdaRankObjective(sr.metric("ndcg@3"), construction=construction)
    found = sr.instruments.effective_pairs(objective, data, [6, 5, 4, 3, 2, 1])
    # Ranks 1 to 6 have the labels 0 0 1 1 0 2. Neighbours: (2, 3) within the first three. Nearest of another label:
    # (1, 3), (2, 3), (2, 4), (3, 5).
    assert found.n_effective == {"spring": 11, "local_gradient": 1, "local_cost": 4}[construction]


@pytest.mark.parametrize(("metric", "construction"), [("ndcg", "step"), ("ndcg", "pairs"), ("pairwise", "pairs")])
def test_pairs_beyond_the_margin_have_no_lambda(metric: str, construction: str) -> None:
    data = sr.Dataset(np.zeros((4, 1)), [2, 0, 1, 0], qid=[1] * 4)
    objective = LambdaRankObjective(sr.metric(metric), construction=construction, margin=1.5, diagonal=0.1)
    # Of the five pairs, (1, 3) and (1, 4) lead by 2 and 3.
    assert sr.instruments.effective_pairs(objective, data, [4, 3, 2, 1]).n_effective == 3


def test_a_horizon_leaves_pairs_out() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [0, 1, 0, 1], qid=[1] * 4)
    objective = LambdaRankObjective(sr.metric("ndcg"), horizon=1)
    assert sr.instruments.effective_pairs(objective, data, [4, 3, 2, 1]).n_effective == 2


def test_what_has_no_pairs_to_count_is_refused() -> None:
    data, scores = shuffled()
    with pytest.raises(sr.errors.ParameterError, match="moves documents one by one"):
        sr.instruments.effective_pairs(
            LambdaRankObjective(sr.metric("map"), construction="discrete_bounded"), data, scores
        )


def test_queries_without_pairs_print() -> None:
    data = sr.Dataset([[0.0]], [1], qid=[1])
    assert "with a lambda            0        0.0      -" in str(sr.instruments.effective_pairs("ndcg", data, [1.0]))
