"""Targets that read a missing value as 0: refused, warned about, or exact."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.exported import Export, check_missing_as_zero
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.served import FeedForward, Mixture, ServedModel, Trees, WeightedSum
from tests.exchange.fitted_models import NAMES, data, fitted


def trees(*nodes: tuple[float, bool]) -> Trees:
    """A stump on each feature: its threshold, and whether missing values go left."""
    stumps = [PeerTree([f], [t], [left], [~0], [~1], [0.0, 1.0]) for f, (t, left) in enumerate(nodes)]
    return Trees(build_forest(stumps, n_features=len(nodes)))


def check(model: ServedModel, n_features: int, missing: Literal["refuse", "zero"] = "refuse") -> None:
    names = tuple(f"f{f}" for f in range(n_features))
    check_missing_as_zero(Export("solr", model, names, {}, "m", missing, False, None), "Solr")


@pytest.mark.parametrize("nodes", [((1.0, True),), ((-1.0, False),), ((0.0, True), (-1e-9, False))])
def test_trees_that_send_missing_values_where_0_goes_are_exact(nodes: Any) -> None:
    check(trees(*nodes), len(nodes))


def test_trees_that_have_learned_another_way_are_refused_until_accepted() -> None:
    model = trees((1.0, True), (-1.0, True), (-2.0, True))
    with pytest.raises(sr.errors.ExportError, match="missing values of 'f1' and 1 more, but Solr reads them as 0"):
        check(model, 3)
    check(model, 3, "zero")


def test_trees_that_never_saw_a_missing_value_are_warned_about() -> None:
    with pytest.warns(sr.errors.ExportWarning, match="for 'f0': send a value with every document"):
        check(trees((1.0, False)), 1)
    check(trees((1.0, False)), 1, "zero")


def test_means_for_missing_values_are_warned_about_unless_they_do_not_count() -> None:
    mean = np.array([0.0, 2.0], np.float32)
    with pytest.warns(sr.errors.ExportWarning, match="'f1'"):
        check(WeightedSum(np.array([1.0, 1.0]), mean, 0.0), 2)
    check(WeightedSum(np.array([1.0, 0.0]), mean, 0.0), 2)
    zero, one = np.zeros(2, np.float32), np.ones(2, np.float32)
    layers = ((np.ones((1, 2), np.float32), np.zeros(1, np.float32)),)
    with pytest.warns(sr.errors.ExportWarning, match="'f1'"):
        check(FeedForward(zero > 0, mean, one, zero, layers, "tanh"), 2)
    check(FeedForward(zero > 0, zero, one, zero, layers, "tanh"), 2)


def test_members_of_a_mixture_count_together() -> None:
    top = WeightedSum(np.ones(2), np.zeros(2, np.float32), 0.0)
    linear = WeightedSum(np.array([0.0, 1.0]), np.array([0.0, 1.0], np.float32), 0.0)
    exact = trees((1.0, True), (-1.0, False))
    with pytest.warns(sr.errors.ExportWarning, match="'f1'"):
        check(Mixture((exact, linear), np.zeros(2), np.ones(2), top), 2)
    with warnings.catch_warnings(), pytest.raises(sr.errors.ExportError, match="'f0'"):
        check(Mixture((trees((-1.0, True), (-1.0, False)), linear), np.zeros(2), np.ones(2), top), 2)


@pytest.mark.slow
def test_features_that_were_never_missing_in_training_are_not_warned_about(tmp_path: Path) -> None:
    assert fitted("trees").missing_features_ == ()
    fitted("trees").export(tmp_path / "model.xml", "ranklib")
    fitted("smoothrank").export(tmp_path / "model.xml", "ranklib")
    assert fitted("linear").missing_features_ == NAMES
    with pytest.warns(sr.errors.ExportWarning, match="'bm25' and 4 more: send a value"):
        fitted("linear").export(tmp_path / "model.xml", "ranklib")


def test_a_model_file_knows_them_and_an_old_one_is_warned_about(tmp_path: Path) -> None:
    fitted("trees").save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    assert again.missing_features_ == ()
    again.learned_ = replace(again.learned_, missing_features=None)
    with pytest.warns(sr.errors.ExportWarning, match="send a value with every document"):
        again.export(tmp_path / "model.xml", "ranklib")


def test_continued_training_and_ensembles_know_what_their_rankers_knew() -> None:
    train, vali, _ = data()
    base = fitted("trees of missing values")
    more = sr.LambdaMART(n_trees=1, base_ranker=base).fit(train)
    assert more.missing_features_ == base.missing_features_ == NAMES
    assert sr.combine(fitted("trees"), base, vali).missing_features_ == NAMES
    assert sr.combine(fitted("trees"), fitted("linear net"), vali).missing_features_ == ()
