"""Several goals: weights and floors beside the metric, and the front between two goals, near the known one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.errors import DataError, ParameterError

DCG = "dcg@5(gain=linear)"


def shop(n_queries: int, seed: int) -> sr.Dataset:
    """Relevance and margin, each a function of features of its own."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * 15, 3))
    relevance, margin = 3 * X[:, 0] * (X[:, 1] > 0.3), 10 * X[:, 2]
    features = np.column_stack([X, margin])
    return sr.Dataset(features, relevance, group=[15] * n_queries, feature_names=["a", "b", "c", "margin"])


TRAIN, VALI, TEST = shop(80, 0), shop(60, 1), shop(300, 2)


def fit(goals: Any, train: sr.Dataset = TRAIN, **options: Any) -> sr.LambdaMART:
    given: dict[str, Any] = {
        "metric": DCG,
        "n_trees": 60,
        "n_leaves": 8,
        "grow_policy": "leafwise",
        "random_state": 0,
        **options,
    }
    return sr.LambdaMART(goals=goals, **given).fit(train, valid=VALI)


def values(scores: np.ndarray, data: sr.Dataset = TEST) -> tuple[float, float]:
    margin = data.replace(labels=data.column("margin"))
    return sr.evaluate(data, scores, DCG).results[0].mean, sr.evaluate(margin, scores, DCG).results[0].mean


def same(one: sr.LambdaMART, other: sr.LambdaMART) -> bool:
    first, second = one.model_.to_parts().arrays, other.model_.to_parts().arrays
    return all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_a_goal_of_weight_zero_changes_nothing() -> None:
    assert same(fit(None), fit(f"0 {DCG} of margin"))


def test_goals_on_side_columns_are_goals_on_features() -> None:
    """The same numbers as a side column, which is no feature to learn from."""
    plain = TRAIN.with_features(["a", "b", "c"]), VALI.with_features(["a", "b", "c"])
    named = [
        data.replace(columns={"profit": given.column("margin")})
        for data, given in zip(plain, (TRAIN, VALI), strict=True)
    ]
    options: dict[str, Any] = {"n_trees": 20, "n_leaves": 8, "grow_policy": "leafwise", "random_state": 0}
    ours = sr.LambdaMART(DCG, goals=f"3 {DCG} of profit", **options).fit(named[0], valid=named[1])
    alone = sr.LambdaMART(DCG, **options).fit(plain[0], valid=plain[1])
    test = TEST.with_features(["a", "b", "c"])
    assert values(ours.predict(test))[1] > values(alone.predict(test))[1] + 0.5


def test_a_checkpoint_knows_the_side_columns(tmp_path: Path) -> None:
    file, goals = tmp_path / "training.checkpoint", f"{DCG} of profit >= 1"
    data = TRAIN.replace(columns={"profit": TRAIN.column("margin")})
    vali = VALI.replace(columns={"profit": VALI.column("margin")})
    ranker = sr.LambdaMART(DCG, goals=goals, n_trees=4, random_state=0, grow_policy="leafwise")
    ranker.fit(data, valid=vali, checkpoint=file, checkpoint_every=2)
    other = data.replace(columns={"profit": data.columns["profit"][::-1]})
    with pytest.raises(sr.errors.SwaprankError, match="column 'profit' of train"):
        ranker.fit(other, valid=vali, checkpoint=file)


def test_a_goal_of_large_weight_is_the_only_one_that_counts() -> None:
    possible = values(TEST.column("margin"))[1]
    assert values(fit(f"1000 {DCG} of margin").predict(TEST))[1] > 0.99 * possible


def test_the_same_model_for_any_number_of_threads() -> None:
    goals = [f"0.5 {DCG} of margin", f"{DCG} of b >= 1.5"]
    assert same(fit(goals, n_threads=1), fit(goals, n_threads=3))


def test_the_floor_holds_on_the_watched_set_and_nearly_on_others() -> None:
    possible = values(VALI.column("margin"), VALI)[1]
    floor = 0.8 * possible
    ranker = fit(f"{DCG} of margin >= {floor}")
    relevance, margin = values(ranker.predict(VALI), VALI)
    assert margin >= floor
    assert ranker.history_["valid"][f"{DCG} of margin"][ranker.best_round_ - 1] == pytest.approx(margin)
    assert margin < 1.05 * floor  # no more than needed
    assert values(ranker.predict(TEST))[1] > 0.97 * 0.8 * values(TEST.column("margin"))[1]
    assert relevance > values(fit(f"10 {DCG} of margin").predict(VALI), VALI)[0]
    assert same(ranker, fit(f"{DCG} of margin >= 80% of margin"))


def test_a_floor_that_is_no_limit_costs_little() -> None:
    free, held = fit(None), fit(f"{DCG} of margin >= 1")
    assert values(held.predict(TEST))[0] > 0.98 * values(free.predict(TEST))[0]


def test_the_start_is_kept_only_if_it_is_at_the_floor() -> None:
    base = fit(None)
    ranker = fit(f"{DCG} of margin >= 75% of margin", base_ranker=base)
    assert ranker.best_round_ > 0
    assert values(ranker.predict(VALI), VALI)[1] >= 0.75 * values(VALI.column("margin"), VALI)[1]


def test_training_that_was_interrupted_goes_on_with_the_same_multipliers(tmp_path: Path) -> None:
    goals = f"{DCG} of margin >= 80% of margin"
    short, full = (
        sr.LambdaMART(DCG, goals=goals, n_trees=n, n_leaves=8, grow_policy="leafwise", random_state=0) for n in (20, 60)
    )
    short.fit(TRAIN, valid=VALI, checkpoint=tmp_path / "c")
    assert same(full.fit(TRAIN, valid=VALI, checkpoint=tmp_path / "c"), fit(goals))


def test_a_floor_out_of_reach_warns_and_keeps_the_nearest_round() -> None:
    with pytest.warns(UserWarning, match="no round keeps all goals at their floors"):
        ranker = fit(f"{DCG} of margin >= 99% of margin", n_trees=3)
    history = ranker.history_["valid"][f"{DCG} of margin"]
    assert history[ranker.best_round_ - 1] == max(history)


def test_errors() -> None:
    with pytest.raises(DataError, match=r"cannot be at least 99: .* at most"):
        fit(f"{DCG} of margin >= 99")
    with pytest.raises(DataError, match="a goal with a floor needs a data set to watch"):
        sr.LambdaMART(goals=f"{DCG} of b >= 0.1", n_trees=2).fit(TRAIN)
    with pytest.raises(ParameterError, match="is not a goal"):
        fit("more revenue please")
    with pytest.raises(ParameterError, match=r"goals=.* is for objective='lambda'"):
        fit("map of b", objective="smooth")
    with pytest.raises(ParameterError, match="cannot be refitted"):
        fit(f"{DCG} of b >= 0.1", n_trees=2).refit(TEST)


def test_a_saved_model_has_its_goals(tmp_path: Path) -> None:
    ranker = fit([f"0.5 {DCG} of margin"], n_trees=3)
    ranker.save(tmp_path / "m.swaprank")
    loaded = sr.load(tmp_path / "m.swaprank")
    assert list(loaded.goals) == [f"0.5 {DCG} of margin"]
    assert loaded.refit(TEST).n_trees_ == ranker.n_trees_


def test_the_front_is_monotone_and_near_the_best_one_there_is() -> None:
    ranker = sr.LambdaMART(DCG, n_trees=60, n_leaves=8, grow_policy="leafwise", random_state=0)
    front = sr.experiments.pareto(ranker, TRAIN, VALI, f"{DCG} of margin", weights=[0, 0.3, 1, 3, 30], test=TEST)
    goals, metrics = ([getattr(each, name) for each in front.models] for name in ("goal", "metric"))
    assert goals == sorted(goals)
    assert metrics == sorted(metrics, reverse=True)
    assert all(each.on_front for each in front.models)
    # Both goals have the same discounts, so the order by relevance + t margin has the largest A + t B there is.
    best = {t: values(TEST.labels + t * TEST.column("margin")) for t in np.logspace(-3, 2, 40)}
    for each in front.models:
        share = max((each.metric + t * each.goal) / (a + t * b) for t, (a, b) in best.items())
        assert 0.97 < share <= 1
    assert str(front).splitlines()[0].split() == ["weight", DCG, DCG, "of", "margin", "front"]
    assert front.to_frame()["on_front"].all()
    assert front.plot().get_xlabel() == f"{DCG} of margin"


def test_labels_drawn_at_random_are_a_way_to_both_goals_too() -> None:
    margin, relevance = (value / 10 * 3 for value in (TRAIN.column("margin"), TRAIN.labels))
    data = sr.Dataset(np.column_stack([TRAIN.features, margin]), relevance, group=[15] * 80)
    drawn = fit(None, sr.objectives.stochastic_labels(data, {"5": 0.5}).replace(features=TRAIN.features))
    only, both = values(fit(None).predict(TEST)), values(drawn.predict(TEST))
    assert both[1] > 1.1 * only[1]
    assert both[0] > 1.1 * values(TEST.column("margin"))[0]
