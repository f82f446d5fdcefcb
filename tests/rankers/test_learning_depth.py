"""What is measured and what is learned: horizon, random ranks, samples, and what was chosen for the data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.model_summary import summarize_model
from swaprank.trees.tree_rules import (
    default_document_fraction,
    default_max_depth,
    default_randomness,
    default_score_noise,
)

TRAIN, VALI = sr.datasets.random_net((60, 20), n_features=8, random_state=0)


def small(metric: str = "ndcg@5", **parameters: Any) -> sr.LambdaMART:
    return sr.LambdaMART(metric, **{"n_trees": 4, "n_leaves": 7, **parameters})


def test_the_metric_is_measured_and_the_horizon_is_learned() -> None:
    ranker = small(horizon=20).fit(TRAIN, valid=VALI)
    assert list(ranker.history_["valid"]) == ["ndcg@5"]
    deep = small("ndcg@20", horizon=20).fit(TRAIN)
    np.testing.assert_array_equal(ranker.model_.part(0, ranker.best_round_).score(VALI.features),
                                  deep.model_.part(0, ranker.best_round_).score(VALI.features))  # fmt: skip


@pytest.mark.parametrize(("metric", "horizon"), [("ndcg@5", 30), ("map@40", None), ("mrr", None), ("p@5", None)])
def test_the_default_horizon_is_at_least_30(metric: str, horizon: int | None) -> None:
    ranker = small(metric).fit(TRAIN)
    assert ranker.chosen_["horizon"] == horizon
    np.testing.assert_array_equal(ranker.predict(VALI), small(metric, horizon=horizon).fit(TRAIN).predict(VALI))


def test_the_exact_metric_is_one_argument_away() -> None:
    exact = sr.objectives.LambdaRankObjective(sr.metric("ndcg@5"))
    same: dict[str, Any] = {
        "score_noise": 0.1, "leaf_smoothing": 50.0, "max_depth": 6, "split_noise": 0.5, "grow_policy": "symmetric"
    }  # fmt: skip
    given = small(objective=exact, **same).fit(TRAIN)
    ours = small(horizon=5, squared_error=0.0, **same).fit(TRAIN)
    np.testing.assert_array_equal(ours.predict(VALI), given.predict(VALI))


def test_noise_changes_the_trees_and_the_same_seed_gives_the_same_ones() -> None:
    noisy = small(score_noise=1.0, n_threads=1).fit(TRAIN)
    assert not np.array_equal(noisy.predict(VALI), small(score_noise=0.0).fit(TRAIN).predict(VALI))
    again = small(score_noise=1.0, n_threads=2).fit(TRAIN)
    np.testing.assert_array_equal(noisy.predict(VALI), again.predict(VALI))


def test_other_objectives_have_no_noise_unless_asked_for() -> None:
    ranker = sr.LambdaMART(objective=sr.objectives.RankNetObjective(), n_trees=3).fit(TRAIN)
    assert ranker.chosen_["score_noise"] == 0
    asked = sr.LambdaMART(objective=sr.objectives.RankNetObjective(), n_trees=3, score_noise=0.5).fit(TRAIN)
    assert not np.array_equal(ranker.predict(VALI), asked.predict(VALI))


def test_training_that_is_continued_makes_the_same_noise_as_in_one_go() -> None:
    whole = sr.LambdaMART(n_trees=8, score_noise=0.5).fit(TRAIN)
    half = sr.LambdaMART(n_trees=5, score_noise=0.5).fit(TRAIN)
    rest = sr.LambdaMART(n_trees=3, score_noise=0.5, base_ranker=half).fit(TRAIN)
    np.testing.assert_array_equal(whole.predict(VALI), rest.predict(VALI))


def test_regularization_fades_out() -> None:
    for default in (default_score_noise, default_randomness):
        values = [default(n) for n in (12_000, 60_000, 60_001, 10**5, 4 * 10**5, 10**7, 10**9)]
        assert values == sorted(values, reverse=True)
        assert values[2] > 0.99 * values[1]
        assert 0 <= values[-1] < 0.01 * values[0]


def test_trees_may_be_deeper_on_more_documents() -> None:
    depths = [default_max_depth(n) for n in (1, 8000, 12_000, 10**6, 10**9)]
    assert depths == sorted(depths)
    assert depths[:2] == [4, 4]
    leafwise: dict[str, Any] = {"grow_policy": "leafwise", "n_trees": 3, "n_leaves": 31}
    forest = small(**leafwise).fit(TRAIN).model_
    assert np.diff(forest.tree_leaves).max() <= 16
    whole = small(max_depth=31, min_docs_in_leaf=1, **leafwise).fit(TRAIN).model_
    assert np.diff(whole.tree_leaves).max() == 31


def test_samples_shrink_gradually() -> None:
    sizes = np.array([10**3, 65_000, 65_001, 10**5, 10**6, 10**8])
    fractions = np.array([default_document_fraction(int(n)) for n in sizes])
    assert fractions[:2].tolist() == [1, 1]
    assert (np.diff(fractions) <= 0).all()
    assert (np.diff(fractions * sizes) > 0).all()
    assert fractions[2] > 0.99


def test_show_says_what_was_chosen_also_for_a_saved_model(tmp_path: Path) -> None:
    small().fit(TRAIN).save(tmp_path / "model")
    ranker = sr.load(tmp_path / "model")
    assert ranker.chosen_["horizon"] == 30
    text = summarize_model(ranker).to_text()
    for name, chosen in (
        ("horizon", "30"),
        ("document_fraction", "1"),
        ("leaf_smoothing", "20"),
        ("grow_policy", "leafwise"),
        ("score_noise", "0.2"),
        ("split_noise", "1"),
        ("squared_error", "1"),
    ):
        assert re.search(rf"^  {name} +{chosen}, chosen$", text, re.MULTILINE)


def test_wrong_choices_in_a_model_file_are_refused() -> None:
    from swaprank.rankers.saving import content_of
    from swaprank.registry import ranker_of

    content = content_of(small().fit(TRAIN))
    content.meta["found"]["chosen"]["horizon"] = -1
    with pytest.raises(sr.errors.ModelFileError, match="horizon must be a whole number from 1"):
        ranker_of(content)
