"""The lambdas, the pair counts and the number of directions of [Donmez2009] beside plain loops over its equations."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.instruments.certify import STEPS, count_directions, random_direction
from swaprank.objectives.constructions import CONSTRUCTIONS
from tests.papers.naive_donmez2009_lambdarank import average_precision
from tests.papers.naive_donmez2009_lambdas import (
    average_precision_gain,
    directions,
    effective_pairs,
    lambdas,
    ndcg_gain,
    ranked,
    reciprocal_rank_gain,
)

BINARY = [labels for n in range(1, 7) for labels in product((0, 1), repeat=n)]
EQ_11 = "mrr(swaps=raising)"


def as_in_the_paper(metric: str = EQ_11, **changes: Any) -> sr.LambdaRank:
    """LambdaRank with the lambdas of section 4, not normalized; section 6 has labels from 2 as relevant, rel=2."""
    return sr.papers.lambdarank2009(metric, **changes)


def plain(metric: str) -> sr.LambdaRank:
    """The lambdas alone, from all swaps that change the metric."""
    return sr.LambdaRank(metric, normalize=False, pair_weight=0.0)


def gradient(ranker: sr.LambdaRank, lists: list[tuple[int, ...]], scores: list[Floats]) -> list[Floats]:
    """The gradient that the net is trained with, of each list."""
    lengths = [len(labels) for labels in lists]
    labels = np.concatenate([np.array(each, float) for each in lists])
    data = sr.Dataset(np.zeros((len(labels), 1)), labels, qid=np.repeat(np.arange(len(lists)), lengths))
    grad, hess = np.empty(len(labels)), np.empty(len(labels))
    objective = ranker._objective()
    objective.bind(data, random_state=0, n_threads=1).update(np.concatenate(scores), grad, hess)
    return np.split(grad, np.cumsum(lengths)[:-1])


def test_the_example_of_equation_11() -> None:
    (exact,) = gradient(plain("mrr"), [(0, 1, 0, 1)], [np.array([4.0, 3, 2, 1])])
    (eq_11,) = gradient(as_in_the_paper("mrr"), [(0, 1, 0, 1)], [np.array([4.0, 3, 2, 1])])
    np.testing.assert_allclose(-exact, [-0.842, 0.410, -0.045, 0.476], atol=6e-4)
    np.testing.assert_allclose(-eq_11, [-0.842, 0.366, 0.0, 0.476], atol=6e-4)
    (on_top,) = gradient(as_in_the_paper("mrr"), [(1, 0, 0, 1)], [np.array([4.0, 3, 2, 1])])
    assert (on_top == 0).all()


@pytest.mark.parametrize("wide", [1.0, 30.0])
@pytest.mark.parametrize(("metric", "gain"), [(EQ_11, reciprocal_rank_gain), ("map", None)])
def test_lambdas_of_every_short_list(metric: str, gain: Callable[..., float] | None, wide: float) -> None:
    """All lists of relevant and other documents up to length 6; also scores so far apart that exp is taken per pair."""

    def by_rank(relevant: Any, i: int, j: int, ranks: dict[int, int]) -> float:
        if ranks[j] < ranks[i]:
            return average_precision_gain(relevant, i, j, ranks)
        # In the right order: what the swap back gains in the swapped list.
        other = list(relevant)
        other[i], other[j] = other[j], other[i]
        return average_precision_gain(other, j, i, ranks)

    rng = np.random.default_rng(0)
    scores = [wide * rng.normal(size=len(labels)) for labels in BINARY]
    for labels, at, found in zip(BINARY, scores, gradient(plain(metric), BINARY, scores), strict=True):
        expected = lambdas(labels, at.tolist(), gain or by_rank) if any(labels) else [0.0] * len(labels)
        np.testing.assert_allclose(-found, expected, atol=1e-9)


@pytest.mark.parametrize("cut", [None, 3])
def test_lambdas_of_ndcg(cut: int | None) -> None:
    rng = np.random.default_rng(1)
    lists = [tuple(map(int, rng.integers(0, 5, 9))) for _ in range(30)]
    scores = [rng.normal(size=9) for _ in lists]
    name = "ndcg" if cut is None else f"ndcg@{cut}"
    for labels, at, found in zip(lists, scores, gradient(as_in_the_paper(name), lists, scores), strict=True):
        np.testing.assert_allclose(-found, lambdas(labels, at.tolist(), ndcg_gain, cut=cut), atol=1e-9)


def test_swap_gains_and_counts_are_those_that_train() -> None:
    """One option of the metric has the swap gains, the training and the pair counts of Eq. 11."""
    metric, rng = sr.metric(EQ_11), np.random.default_rng(2)
    for labels in BINARY:
        found = metric.swap_gains(labels)
        ranks = ranked(list(range(len(labels), 0, -1)))
        for i, j in product(range(len(labels)), repeat=2):
            expected = reciprocal_rank_gain(labels, i, j, ranks) if labels[i] > labels[j] else 0.0
            assert labels[i] <= labels[j] or abs(found[i, j] - expected) < 1e-12
        data = sr.Dataset(np.zeros((len(labels), 1)), np.array(labels, float), qid=np.ones(len(labels)))
        scores = rng.normal(size=len(labels))
        assert sr.instruments.effective_pairs(metric, data, scores).n_effective == effective_pairs(labels, list(scores))


def test_the_value_of_the_metric_is_not_changed() -> None:
    rng = np.random.default_rng(3)
    labels, scores, indptr = rng.integers(0, 5, 60), rng.normal(size=60), np.arange(0, 61, 6)
    exact, raising = (
        sr.metric(f"mrr(rel=2, swaps={swaps})").per_query(labels, scores, indptr) for swaps in ("exact", "raising")
    )
    np.testing.assert_array_equal(exact, raising)
    assert str(sr.metric("mrr(swaps=raising)")) == "mrr(swaps=raising)"
    assert str(sr.metric("mrr(swaps=exact)")) == "mrr"
    with pytest.raises(sr.errors.MetricError, match="swaps cannot be 'rising'; did you mean 'raising'"):
        sr.metric("mrr(swaps=rising)")


def test_a_net_learns_by_equation_11(tmp_path: Any) -> None:
    train, vali = sr.datasets.random_net((60, 30), n_features=8, n_documents=15, random_state=0)
    net = as_in_the_paper("mrr(rel=2, swaps=raising)", n_epochs=20, learning_rate=0.01).fit(train, valid=vali)
    assert max(net.history_["valid"]["mrr(rel=2, swaps=raising)"]) > 0.7
    net.save(tmp_path / "net.swaprank")
    assert sr.load(tmp_path / "net.swaprank").metric == "mrr(rel=2, swaps=raising)"


def test_labels_from_2_are_relevant() -> None:
    """Section 6: the values of MAP and MRR, and their lambdas, are those of the labels 2 to 4 as 1, and others as 0."""
    rng = np.random.default_rng(4)
    lists = [(*map(int, rng.integers(0, 5, 8)), 1, 2) for _ in range(40)]
    scores = [rng.normal(size=10) for _ in lists]
    two_levels = [tuple(int(label >= 2) for label in labels) for labels in lists]
    for name in ("map", "mrr"):
        found = gradient(as_in_the_paper(f"{name}(rel=2)"), lists, scores)
        for one, other in zip(found, gradient(as_in_the_paper(name), two_levels, scores), strict=True):
            np.testing.assert_array_equal(one, other)
    for labels, relevant, at in zip(lists, two_levels, scores, strict=True):
        in_order = [relevant[document] for document in ranked(at.tolist())]
        precision, reciprocal = (sr.metric(f"{name}(rel=2)").mean(labels, at, [0, 10]) for name in ("map", "mrr"))
        assert precision == pytest.approx(average_precision(in_order), abs=1e-12)
        assert reciprocal == pytest.approx(1 / (1 + in_order.index(1)), abs=1e-12)


def test_directions_are_uniform_on_the_unit_sphere() -> None:
    """Section 5; of n weights, each has the mean 0 and the variance 1 / n, and no two are correlated."""
    n, n_draws = 6, 6000
    drawn = np.array([random_direction(n, (0, 0, at)) for at in range(n_draws)])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=0.025)
    np.testing.assert_allclose(drawn.T @ drawn / n_draws, np.eye(n) / n, atol=0.015)
    # Fourth moments tell the sphere from a cube, whose corners would be drawn more often: 3 / (n (n + 2)).
    along = drawn @ np.column_stack((np.eye(n)[0], np.ones(n) / np.sqrt(n)))
    np.testing.assert_allclose((along**4).mean(axis=0), 3 / (n * (n + 2)), rtol=0.1)


@pytest.mark.parametrize(("delta", "eps"), [(0.01, 0.01), (0.05, 0.01), (0.001, 0.1)])
def test_the_number_of_directions(delta: float, eps: float) -> None:
    assert count_directions(eps, delta) == directions(delta, eps)
    assert directions(0.01, 0.01) == 459


def test_the_five_constructions_of_tables_1_and_2_have_names() -> None:
    names = ["pairs", *CONSTRUCTIONS]
    assert {"pairs", "spring", "local_gradient", "local_cost", "discrete_bounded"} <= set(names)
    assert all(as_in_the_paper(construction=name)._objective().construction == name for name in names)  # type: ignore[attr-defined]


def test_the_step_sizes_of_section_5() -> None:
    np.testing.assert_allclose(STEPS["wide"], [step / 10 for step in range(1, 11)])
    np.testing.assert_allclose(STEPS["fine"], [step / 1000 for step in range(1, 11)])


def test_metrics_in_the_order_of_their_pairs() -> None:
    """Section 7.2: NDCG learns from the most pairs, and MRR from the fewest, by an order of magnitude.

    In the paper NDCG@10 has more than MAP. That depends on the labels: here, most documents are relevant.
    """
    (data,) = sr.datasets.random_net((200,), n_features=10, n_documents=60, levels=5, random_state=0)
    scores = data.column(0) + 0.5 * np.random.default_rng(0).normal(size=len(data))
    names = ("ndcg", "ndcg@10", "map(rel=2)", "mrr(rel=2, swaps=raising)")
    pairs = [sr.instruments.effective_pairs(name, data, scores).n_effective for name in names]
    assert pairs[0] == sr.instruments.effective_pairs("ndcg", data, scores).n_pairs
    assert pairs[0] > pairs[1]
    assert pairs[0] > pairs[2] > 10 * pairs[3]
