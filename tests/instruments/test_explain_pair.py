from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Features
from swaprank.models.forest import Forest

(DATA,) = sr.datasets.random_polynomial((12,), n_features=5, n_documents=9, levels=4, random_state=0)
TREES = sr.LambdaMART(n_trees=6, n_leaves=6, min_docs_in_leaf=3).fit(DATA)
LINEAR = sr.LinearRegressionRanker(regularization=0.1).fit(DATA)
LINEAR_NET = sr.LambdaRank(hidden=(), n_epochs=2, random_state=0).fit(DATA)
NET = sr.LambdaRank(hidden=(3,), n_epochs=2, random_state=0).fit(DATA)
RANKERS = {
    "trees": TREES,
    "linear": LINEAR,
    "linear net": LINEAR_NET,
    "net": NET,
    "combination": sr.combine(TREES, LINEAR, DATA, "ndcg@10"),
    "stack": sr.stack([TREES, LINEAR, LINEAR_NET], DATA, "ndcg@10", n_epochs=2),
}


def path_expectation(forest: Forest, x: Features, known: set[int]) -> float:
    """The score if only some features are known: at others, both branches by their numbers of training documents."""
    total = forest.base_score
    for tree in range(forest.n_trees):
        first, leaves = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])

        def below(child: int, first: int = first, leaves: int = leaves) -> tuple[float, float]:
            """The expected value and the number of documents of a node or leaf."""
            if child < 0:
                return float(forest.leaf_value[leaves + ~child]), float(forest.leaf_count[leaves + ~child])
            node = first + child
            (left, n_left), (right, n_right) = below(int(forest.left[node])), below(int(forest.right[node]))
            f = int(forest.feature[node])
            if f in known:
                missing = bool(np.isnan(x[f])) and bool(forest.missing_left[node])
                value = left if missing or x[f] <= forest.threshold[node] else right
            else:
                value = (left * n_left + right * n_right) / (n_left + n_right)
            return value, n_left + n_right

        total += below(0 if forest.tree_nodes[tree + 1] > first else ~0)[0]
    return float(total)


def shapley(game: Callable[[set[int]], float], n: int) -> list[float]:
    """The definition: the mean gain of a player over all subsets of the others, each size with the same weight."""
    values = []
    for player in range(n):
        others = [each for each in range(n) if each != player]
        gains = 0.0
        for size in range(n):
            for chosen in combinations(others, size):
                gains += (game({*chosen, player}) - game(set(chosen))) / (n * comb(n - 1, size))
        values.append(gains)
    return values


def by_feature(pair: Any) -> list[float]:
    found = dict(zip(pair.features, pair.contributions.tolist(), strict=True))
    return [found[name] for name in DATA.feature_names]


@pytest.mark.parametrize(("a", "b"), [(0, 4), (7, 2)])
def test_shares_of_trees_are_shapley_values_of_the_difference(a: int, b: int) -> None:
    features, forest = np.array(DATA.features), TREES.model_
    assert isinstance(forest, Forest)

    def game(known: set[int]) -> float:
        return path_expectation(forest, features[a], known) - path_expectation(forest, features[b], known)

    assert by_feature(sr.explain_pair(TREES, DATA, a, b)) == pytest.approx(shapley(game, 5), abs=1e-12)


@pytest.mark.parametrize("name", ["trees", "net"])
def test_exchanges_are_shapley_values_of_taking_values_of_the_other(name: str) -> None:
    features, ranker = np.array(DATA.features), RANKERS[name]

    def game(taken: set[int]) -> float:
        mixed = features[4].copy()
        mixed[list(taken)] = features[0][list(taken)]
        return float(ranker.predict(mixed[None, :])[0])

    pair = sr.explain_pair(ranker, DATA, 0, 4, method="exchange")
    assert by_feature(pair) == pytest.approx(shapley(game, 5), abs=1e-6)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("method", [None, "exchange"])
def test_shares_sum_to_the_difference(name: str, method: str | None) -> None:
    scores = RANKERS[name].predict(DATA)
    pair = sr.explain_pair(RANKERS[name], DATA, 0, 4, method=method)
    assert pair.difference == scores[0] - scores[4]
    assert pair.contributions.sum() == pytest.approx(pair.difference, abs=1e-6)  # nets are in single precision
    assert pair.method == ("exchange" if method or name == "net" else "contributions")
    if name in ("linear", "linear net"):
        exchanged = sr.explain_pair(RANKERS[name], DATA, 0, 4, method="exchange")
        assert by_feature(pair) == pytest.approx(by_feature(exchanged), abs=1e-6)


def test_random_orders_are_near_the_contributions_of_a_linear_model_and_sum_exactly() -> None:
    (wide,) = sr.datasets.random_net((6,), n_features=20, random_state=0)
    linear = sr.LinearRegressionRanker(regularization=0.1).fit(wide)
    exact, sampled = (sr.explain_pair(linear, wide, 0, 1, method=each) for each in ("contributions", "exchange"))
    assert sampled.method == "sampled"
    assert sampled.features == exact.features
    assert sampled.contributions == pytest.approx(exact.contributions, abs=1e-9)  # there are no interactions
    net = sr.LambdaRank(hidden=(4,), n_epochs=1, random_state=0).fit(wide)
    pair = sr.explain_pair(net, wide, 0, 1)
    assert pair.contributions.sum() == pytest.approx(pair.difference, abs=1e-9)
    assert pair.contributions.tolist() == sr.explain_pair(net, wide, 0, 1).contributions.tolist()


def test_members_with_other_features() -> None:
    data = sr.Dataset(DATA.features, DATA.labels, qid=np.repeat(DATA.qids, 9), feature_names=list("abcde"))
    narrow = sr.Dataset(DATA.features[:, [3, 1]], DATA.labels, qid=np.repeat(DATA.qids, 9), feature_names=["d", "b"])
    few, all_of_them = (sr.MART(n_trees=3, n_leaves=4, min_docs_in_leaf=3).fit(each) for each in (narrow, data))
    both = sr.combine(few, all_of_them, data, "ndcg@10")
    assert both.contributions(data).sum(axis=1) == pytest.approx(both.predict(data))
    pair = sr.explain_pair(both, data, 0, 4)
    assert pair.contributions.sum() == pytest.approx(pair.difference)


def shop() -> sr.Dataset:
    import pandas as pd

    brands = pd.Categorical(["x", "y", None, "x", "y", "x", "y", "x"])
    frame = pd.DataFrame({"price": [1.0, 2, 3, 4, np.nan, 6, 7, 8], "brand": brands})
    base = [0.1 * row for row in range(8)]
    names = [f"d{row % 4}" for row in range(8)]
    return sr.Dataset(frame, [3, 1, 0, 2, 0, 2, 0, 1], qid=[1] * 4 + [2] * 4, docid=names, base_score=base)


def test_categories_missing_values_base_scores_and_names() -> None:
    data = shop()
    ranker = sr.MART(n_trees=5, n_leaves=4, min_docs_in_leaf=1).fit(data)
    pair = sr.explain_pair(ranker, 2, "d0", "d1", data=data)
    assert (pair.qid, pair.documents) == (2, ("d0", "d1"))
    values = dict(zip(pair.features, pair.values, strict=True))
    assert values == {"price": (None, 6.0), "brand": ("y", "x"), "base score": pytest.approx((0.4, 0.5))}
    assert pair.contributions.sum() == pytest.approx(pair.difference)
    in_words = sr.explain_pair(ranker, None, {"brand": "y", "price": None}, {"price": 6.0, "brand": "x"})
    assert in_words.ranks is None
    assert in_words.difference == pytest.approx(pair.difference + 0.1)
    binned = data.binned()
    again = sr.MART(n_trees=5, n_leaves=4, min_docs_in_leaf=1).fit(binned)
    assert sr.explain_pair(again, binned, 4, 5).difference == pytest.approx(pair.difference)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda data: (data, "d0", "d1"), "2 queries have the documents 'd0' and 'd1': choose one by query"),
        (lambda data: (data, 0, 5), "the documents 0 and 5 are not in one query"),
        (lambda data: (data, 0, "zz"), "there is no document 'zz'"),
        (lambda data: (2, "d0", "d1"), "query 2 is the id of a query: give the data set as data"),
        (lambda data: (None, {"price": 1.0}, {"price": 2.0}), "a document has no feature 'brand'"),
    ],
)
def test_what_cannot_be_compared(arguments: Callable[[sr.Dataset], tuple[Any, Any, Any]], message: str) -> None:
    data = shop()
    ranker = sr.MART(n_trees=1, min_docs_in_leaf=1).fit(data)
    with pytest.raises(sr.errors.DataError, match=message):
        sr.explain_pair(ranker, *arguments(data))


def test_sentences() -> None:
    pair = sr.explain_pair(LINEAR, DATA, 0, 4)
    word = "above" if pair.difference > 0 else "below"
    assert pair.sentence.startswith(f"row 0 is {word} row 4 by {abs(pair.difference):.4g}, mostly because of feature ")
    assert sr.explain_pair(LINEAR, DATA, 0, 0).sentence == "row 0 and row 0 have the same score."
    rounded = sr.instruments.PairExplanation(
        None, ("A", "B"), (1.0, 0.0), None, ("x",), ((1.0, 1.0),), np.array([0.0]), "contributions"
    )
    assert rounded.sentence == "A is above B by 1."


def test_the_waterfall_goes_from_the_one_score_to_the_other(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pair = sr.explain_pair(TREES, DATA, 0, 4)
    axes = pair.plot(n_features=3)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [labels[0], labels[-1]] == ["row 4", "row 0"]
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(pair.difference)
    pair.draw(tmp_path / "pair.svg")
    assert "<svg" in (tmp_path / "pair.svg").read_text()


def test_objects_of_shap() -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed")
    found = sr.instruments.shap_explanation(TREES, DATA)
    assert isinstance(found, shap.Explanation)
    assert found.values.sum(axis=1) + found.base_values == pytest.approx(TREES.predict(DATA))
    pair = sr.explain_pair(TREES, DATA, 0, 4)
    assert pair.to_shap().values.sum() + pair.to_shap().base_values == pytest.approx(pair.scores[0])


def test_ranked_lists_as_frames() -> None:
    scores = TREES.predict(DATA)
    frame = TREES.rank(DATA, k=3)
    expected = [
        int(row) for q in range(12) for row in DATA.rows(q)[np.argsort(-scores[DATA.rows(q)], kind="stable")[:3]]
    ]
    assert frame["row"].tolist() == expected
    assert frame["rank"].tolist() == [1, 2, 3] * 12
    assert frame["score"].tolist() == scores[expected].tolist()
    again = TREES.rank(np.array(DATA.features), qid=np.repeat(DATA.qids, 9), k=3)
    assert again.equals(frame)
