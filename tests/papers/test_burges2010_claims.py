"""What [Burges2010] says of its algorithms beside their equations."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.objectives.ranknet_costs import total_cost
from tests.papers.naive_burges2010_trees import err
from tests.papers.test_burges2010_trees import as_in_the_paper, random_data

FIGURE_1 = [1, *[0] * 13, 1, 0]
"""Labels from the top: the relevant documents are at the ranks 1 and 15 of 16."""


def errors(labels: list[int]) -> int:
    scores = -np.arange(len(labels), dtype=float)
    wrong = 1 - sr.metric("pairwise").bind(labels, [0, len(labels)]).mean(scores)
    return round(wrong * sum(labels) * (len(labels) - sum(labels)))


def test_figure_1_pairwise_errors_fall_while_the_top_gets_worse() -> None:
    after = [0] * 16
    after[3] = after[9] = 1  # down three ranks, up five
    assert (errors(FIGURE_1), errors(after)) == (13, 11)
    for name in ("ndcg", "err"):
        before, now = (sr.metric(name).bind(labels, [0, 16]).mean(-np.arange(16.0)) for labels in (FIGURE_1, after))
        assert now < before


def test_figure_1_ranknet_lifts_the_lower_document_most_and_lambdas_the_upper_one() -> None:
    after = [0] * 16
    after[3] = after[9] = 1
    data, scores = sr.Dataset(np.zeros((16, 1)), after, qid=np.zeros(16)), -np.arange(16.0) / 100
    grad, hess = np.empty(16), np.empty(16)
    for objective, most in (
        (sr.objectives.RankNetObjective(), 9),
        (sr.objectives.LambdaRankObjective(sr.metric("ndcg"), normalize=False), 3),
        (sr.objectives.LambdaRankObjective(sr.metric("err"), normalize=False), 3),
    ):
        objective.bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
        assert int(np.argmin(grad)) == most


def test_section_3_err_never_rises_when_a_better_document_goes_down() -> None:
    for labels in product(range(3), repeat=5):
        for i in range(5):
            for j in range(i + 1, 5):
                if labels[i] > labels[j]:
                    swapped = list(labels)
                    swapped[i], swapped[j] = labels[j], labels[i]
                    assert err([*map(float, labels)], 2.0) >= err([*map(float, swapped)], 2.0)
        gains = sr.metric("err(max_label=2)").swap_gains(np.array(labels))
        better = np.greater.outer(labels, labels) & np.tri(5, k=-1, dtype=bool).T
        assert (gains[better] <= 1e-15).all()


@pytest.mark.parametrize("training", ["factored", "pairs"])
def test_section_2_a_small_step_lowers_the_cost(training: Any) -> None:
    """Eq. 2: by the learning rate times the squared gradient, to first order."""
    data = random_data(8, with_base=False)
    bound = sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1)
    options: dict[str, Any] = {"hidden": (4,), "optimizer": "sgd", "training": training, "standardize": False}
    for rate in (0.0005, 0.002):
        # One step for all queries; it is the mean over them.
        before, after = (
            sr.RankNet(**options, learning_rate=rate, batch_queries=data.n_queries, n_epochs=n_epochs).fit(data)
            for n_epochs in (0, 1)
        )
        fall = total_cost(bound, before.predict(data)) - total_cost(bound, after.predict(data))
        step = after.model_.weights.astype(np.float64) - before.model_.weights
        assert fall > 0
        assert fall == pytest.approx(data.n_queries * (step @ step) / rate, rel=0.02)


@pytest.mark.parametrize("kind", ["lambdamart", "mart"])
@pytest.mark.parametrize("split", ["newton", "least_squares"])
def test_sections_6_and_7_sigma_makes_no_difference(kind: str, split: str) -> None:
    """Scores are in units of 1 / sigma, and nothing else changes; with a power of two, to the last bit."""
    data = random_data(5, with_base=False)

    def fitted(sigma: float, **changes: Any) -> Any:
        if kind == "mart":
            return as_in_the_paper(sr.MART, objective="logistic", sigma=sigma, split=split).fit(data)
        return as_in_the_paper(sr.LambdaMART, metric="ndcg", sigma=sigma, split=split, **changes).fit(data)

    one, four = fitted(1.0), fitted(4.0)
    np.testing.assert_array_equal(one.predict(data), 4 * four.predict(data))
    if kind == "lambdamart":
        # Not so where pairs are divided by score differences, which have no unit of their own.
        one, four = fitted(1.0, normalize=True), fitted(4.0, normalize=True)
        assert np.abs(one.predict(data) - 4 * four.predict(data)).max() > 0.01


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_section_5_every_tree_lowers_the_cost(loss: str) -> None:
    data = random_data(6, with_base=False)
    ranker = as_in_the_paper(sr.MART, objective=loss, learning_rate=0.1, n_trees=20).fit(data)
    y = np.where(data.labels > 0, 1.0, -1.0)
    costs = [
        float((((data.labels - scores) ** 2) if loss == "squared" else np.log1p(np.exp(-2 * y * scores))).sum())
        for _, scores in ranker.staged_predict(data)
    ]
    assert (np.diff(costs) < 0).all()


def test_section_7_a_leaf_may_hurt_some_queries_if_the_utility_of_all_rises() -> None:
    data = random_data(7, with_base=False)
    ranker = as_in_the_paper(sr.LambdaMART, metric="ndcg", n_trees=8).fit(data, valid={"train": data})
    by_round = [
        sr.evaluate(data, scores, "ndcg").results[0].per_query for _, scores in ranker.staged_predict(data, every=1)
    ]
    changes = np.diff(np.array([np.asarray(each) for each in by_round]), axis=0)
    assert (changes.min(axis=1) < 0).any()
    assert np.mean(by_round[-1]) > np.mean(by_round[0])
