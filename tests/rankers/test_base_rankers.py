"""Trees that are added to a fitted ranker of any kind: one model, which scores as the base plus the trees."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.collective import Collective
from swaprank.models.ensemble import Ensemble
from swaprank.models.forest import Forest
from tests.workers import run_workers

TRAIN, VALI, TEST = sr.datasets.random_net((60, 30, 30), n_features=5, n_documents=12, levels=4, random_state=1)
KINDS = ("net", "linear", "kernel machine", "combination", "stack", "imported")
SMALL: dict[str, Any] = {"n_trees": 6, "n_leaves": 5, "min_docs_in_leaf": 5}


@cache
def base(kind: str) -> Any:
    match kind:
        case "net":
            return sr.RankNet(hidden=(4,), n_epochs=3).fit(TRAIN)
        case "linear":
            return sr.LinearRegressionRanker(regularization=100.0).fit(TRAIN)
        case "kernel machine":
            return sr.SmoothRank(features="kernel_pca", n_landmarks=20, max_iterations=3).fit(TRAIN)
        case "combination":
            return sr.combine(base("linear"), base("forest"), VALI)
        case "stack":
            return sr.stack([base("net"), base("linear")], VALI, hidden=(3,), n_epochs=3)
        case "forest":
            return sr.MART(n_trees=3, n_leaves=4).fit(TRAIN)
    raise KeyError(kind)


def imported(folder: Path) -> Any:
    base("forest").export(folder / "model.txt", to="lightgbm")
    return sr.import_model(folder / "model.txt")


@pytest.mark.parametrize("trees", [sr.LambdaMART(**SMALL), sr.MART(**SMALL)], ids=["LambdaMART", "MART"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_base_plus_the_trees(kind: str, trees: Any, tmp_path: Path) -> None:
    start = imported(tmp_path) if kind == "imported" else base(kind)
    ranker = trees.fit(TRAIN, base_ranker=start)
    scores = ranker.predict(TEST)
    if kind == "imported":
        assert isinstance(ranker.model_, Forest)
        assert ranker.n_trees_ == 9
        np.testing.assert_array_equal(ranker.predict(TEST, n_trees=3), start.predict(TEST))
        return
    assert isinstance(ranker.model_, Ensemble)
    assert ranker.n_trees_ == ranker.best_round_ == 6
    np.testing.assert_array_equal(scores, start.predict(TEST) + ranker.trees_.score(TEST.features))
    # The same trees as with the base's scores in the data, which no model file has.
    given = TRAIN.replace(base_score=start.predict(TRAIN))
    plain = type(trees)(**SMALL).fit(given)
    assert plain.model_.leaf_value.tolist() == ranker.trees_.leaf_value.tolist()

    ranker.save(tmp_path / "both.swaprank")
    again: Any = sr.load(tmp_path / "both.swaprank")
    np.testing.assert_array_equal(again.predict(TEST), scores)
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "again.swaprank").read_bytes() == (tmp_path / "both.swaprank").read_bytes()
    np.testing.assert_array_equal(sr.Scorer(again).predict(TEST.features[:3]), scores[:3])


def test_stages_start_from_the_base() -> None:
    ranker = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    np.testing.assert_array_equal(ranker.predict(TEST, n_trees=0), base("net").predict(TEST))
    staged = dict(ranker.staged_predict(TEST, every=2))
    assert list(staged) == [2, 4, 6]
    for n_trees, scores in staged.items():
        np.testing.assert_array_equal(scores, ranker.predict(TEST, n_trees=n_trees))
    np.testing.assert_array_equal(staged[6], ranker.predict(TEST))
    assert ranker.apply(TEST).shape == (len(TEST), 6)
    assert sum(ranker.importances("splits").values()) == len(ranker.trees_.feature)
    assert ranker.to_text(0).startswith("if ")


def test_training_goes_on_with_the_trees_of_a_sum() -> None:
    whole = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    first = sr.LambdaMART(**{**SMALL, "n_trees": 2}).fit(TRAIN, base_ranker=base("net"))
    second = sr.LambdaMART(**{**SMALL, "n_trees": 4}).fit(TRAIN, base_ranker=first)
    assert second.n_trees_ == 6
    assert second.best_round_ == 4
    assert len(second.model_.members) == 2
    # The scores that training goes on from are added in another order: the last bits may differ.
    np.testing.assert_allclose(second.predict(TEST), whole.predict(TEST), rtol=1e-9)


def test_the_base_is_kept_if_no_tree_is_better() -> None:
    good = sr.MART(n_trees=60, n_leaves=15).fit(VALI)
    net = sr.stack([good, base("net")], VALI, n_epochs=5)
    bad = sr.Dataset(TRAIN.features, -TRAIN.labels + 3, qid=np.repeat(TRAIN.qids, np.diff(TRAIN.indptr)))
    ranker = sr.LambdaMART(**SMALL).fit(bad, valid=VALI, base_ranker=net)
    assert ranker.best_round_ == 0
    np.testing.assert_array_equal(ranker.predict(TEST), net.predict(TEST))


@pytest.mark.parametrize("kind", ["net", "linear"])
def test_refit_changes_the_trees_only(kind: str) -> None:
    ranker = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base(kind))
    assert ranker.refit(TRAIN, decay_rate=0.0).trees_.leaf_value.tolist() == ranker.trees_.leaf_value.tolist()
    elsewhere = ranker.refit(VALI, decay_rate=0.5)
    assert elsewhere.trees_.leaf_value.tolist() != ranker.trees_.leaf_value.tolist()
    np.testing.assert_array_equal(elsewhere.predict(TEST, n_trees=0), base(kind).predict(TEST))


def test_a_checkpoint_knows_its_base(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    first = sr.LambdaMART(**{**SMALL, "n_trees": 3}).fit(TRAIN, base_ranker=base("net"), checkpoint=path)
    assert first.n_trees_ == 3
    ranker = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"), checkpoint=path)
    whole = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    np.testing.assert_array_equal(ranker.predict(TEST), whole.predict(TEST))
    with pytest.raises(sr.errors.DataError, match="base_ranker was"):
        sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("linear"), checkpoint=path)


def test_workers_train_the_same_sum(tmp_path: Path) -> None:
    alone = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    owner = np.arange(TRAIN.n_queries) % 2

    def work(collective: Collective) -> Any:
        shard = TRAIN.subset(owner == collective.rank)
        return sr.LambdaMART(**SMALL).fit_shard(shard, {}, collective, base_ranker=base("net"))

    for ranker in run_workers(work, 2):
        np.testing.assert_array_equal(ranker.predict(TEST), alone.predict(TEST))


def test_contributions_of_a_linear_base_and_trees_add_up() -> None:
    ranker = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("linear"))
    shares = ranker.contributions(TEST)
    np.testing.assert_allclose(shares.sum(axis=1), ranker.predict(TEST), atol=1e-12)
    both = base("linear").contributions(TEST) + ranker.trees_.contributions(TEST.features)
    np.testing.assert_allclose(shares, both, atol=1e-14)
    on_net = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    with pytest.raises(sr.errors.ParameterError, match="exact contributions exist only for trees and linear models"):
        on_net.contributions(TEST)


def test_instruments_and_reports_take_a_sum(tmp_path: Path) -> None:
    ranker = sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=base("net"))
    assert ranker.size_ == "a net 5-4-1 of 28 weights plus 6 trees"
    of_both = base("stack")
    assert sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=of_both).size_ == f"({of_both.size_}) plus 6 trees"
    assert sr.explain_query(ranker, TEST).to_text()
    certificate = sr.certify(ranker, TRAIN, delta=0.5, epsilon=0.3)
    assert "leaf values of 6 trees" in certificate.parameters
    sr.report(ranker, TEST).save(tmp_path / "report.html")
    assert "plus 6 trees" in (tmp_path / "report.html").read_text()


def test_constraints_hold_for_the_sum() -> None:
    linear, names = base("linear"), list(TRAIN.feature_names)
    up = int(np.argmax(linear.coef_))
    ranker = sr.LambdaMART(**SMALL, monotone_constraints={names[up]: 1}).fit(TRAIN, base_ranker=linear)
    X = np.repeat(TEST.features[:20], 50, axis=0)
    X[:, up] = np.tile(np.linspace(-3, 3, 50), 20)
    assert (np.diff(ranker.predict(X).reshape(20, 50), axis=1) >= 0).all()
    with pytest.raises(sr.errors.ParameterError, match=r"breaks monotone_.* of .*: its weight has the other sign"):
        sr.LambdaMART(**SMALL, monotone_constraints={names[up]: -1}).fit(TRAIN, base_ranker=linear)
    trees = sr.LambdaMART(**SMALL).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match=r"breaks monotone_.* of .*: train it with the same constraints"):
        sr.LambdaMART(**SMALL, monotone_constraints={names[up]: -1}).fit(TRAIN, base_ranker=trees)
    with pytest.raises(sr.errors.ParameterError, match=r"cannot be checked whether the base ranker \(a net .*\) keeps"):
        sr.LambdaMART(**SMALL, monotone_constraints={names[up]: 1}).fit(TRAIN, base_ranker=base("net"))


def test_what_is_no_fitted_ranker_is_refused() -> None:
    for wrong, message in (
        (sr.RankNet(), "must be a fitted ranker, found RankNet that is not fitted"),
        ("model.swaprank", "must be a fitted ranker, found str. Read it with sr.load or sr.import_model"),
    ):
        with pytest.raises(sr.errors.ParameterError, match=message):
            sr.LambdaMART(**SMALL).fit(TRAIN, base_ranker=wrong)
    with pytest.raises(sr.errors.DataError, match="the data set has bins, not values"):
        sr.LambdaMART(**SMALL).fit(TRAIN.binned(), base_ranker=base("net"))
