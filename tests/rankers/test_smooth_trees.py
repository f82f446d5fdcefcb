"""LambdaMART with the smooth objective: training, saving, cloning and the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import swaprank as sr
from tests.command_line import here

TRAIN, TEST = sr.datasets.random_polynomial((120, 120), n_features=6, n_documents=20, levels=5, random_state=0)


def smooth(
    metric: str | sr.metrics.Metric = "ndcg@10", smoothing_factor: float | None = None, **more: Any
) -> sr.LambdaMART:
    objective: Any = "smooth"
    if smoothing_factor is not None:
        objective = sr.objectives.SmoothBoostingObjective(sr.metric(metric), smoothing_factor)
    return sr.LambdaMART(metric, objective=objective, **({"n_trees": 15, "n_leaves": 7} | more))


@pytest.mark.slow
def test_it_beats_a_linear_model_and_its_base_ranker() -> None:
    line = sr.LinearRegressionRanker().fit(TRAIN).score(TEST)
    start = sr.MART(n_trees=60, n_leaves=7).fit(TRAIN)
    assert smooth(n_trees=200).fit(TRAIN).score(TEST) > line + 0.02
    assert (
        smooth("ndcg@10", 0.3, n_trees=100, base_ranker=start).fit(TRAIN).score(TEST) > start.score(TEST) + 0.01 > line
    )


@pytest.mark.parametrize(
    "metric",
    [
        "dcg@10",
        "map",
        "mrr(rel=4)",
        "err",
        "p@5",
        "rbp",
        sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r),
    ],
    ids=str,
)
def test_every_metric_of_gains_at_ranks_rises(metric: str | sr.metrics.Metric) -> None:
    start = sr.MART(n_trees=10, n_leaves=7).fit(TRAIN)
    ranker = smooth(metric, 0.3, n_trees=30, base_ranker=start).fit(TRAIN)
    before, after = (sr.evaluate(TRAIN, each.predict(TRAIN), metric).results[0].mean for each in (start, ranker))
    assert after > before


def test_model_is_identical_for_any_thread_count(tmp_path: Path) -> None:
    files = []
    for n_threads in (1, 2, 3):
        ranker = smooth(query_fraction=0.7, document_fraction=0.6, n_threads=n_threads).fit(TRAIN)
        ranker.save(tmp_path / "model.swaprank")
        files.append((tmp_path / "model.swaprank").read_bytes())
    assert len(set(files)) == 1


def test_saved_and_cloned(tmp_path: Path) -> None:
    ranker = smooth().fit(TRAIN)
    ranker.save(tmp_path / "model.swaprank")
    loaded = sr.load(tmp_path / "model.swaprank")
    assert loaded.get_params() == ranker.get_params() == clone(ranker).get_params()
    np.testing.assert_array_equal(loaded.predict(TEST), ranker.predict(TEST))
    np.testing.assert_array_equal(clone(ranker).fit(TRAIN).predict(TEST), ranker.predict(TEST))
    assert (ranker.predict(TEST) != sr.LambdaMART(n_trees=15, n_leaves=7).fit(TRAIN).predict(TEST)).any()
    np.testing.assert_array_equal(smooth("ndcg@10", 1.0).fit(TRAIN).predict(TEST), ranker.predict(TEST))


def test_from_the_command_line(tmp_path: Path) -> None:
    sr.write_letor(TRAIN, tmp_path / "train.txt")
    settings = ("objective=smooth", "n_trees=4")
    done = here(
        "train", tmp_path / "train.txt", "-o", tmp_path / "m.swaprank", *(a for s in settings for a in ("--set", s))
    )
    assert done.code == 0, done.err
    assert sr.load(tmp_path / "m.swaprank").get_params()["objective"] == "smooth"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"objective": "smoth"}, "there is no objective 'smoth'; did you mean 'smooth'"),
        ({"horizon": 5}, "horizon=5 is for objective='lambda'"),
        ({"metric": "pairwise"}, "pairwise cannot be smoothed"),
        ({"metric": "bpref"}, "bpref cannot be smoothed"),
        ({"sigma": 0.0}, "sigma must be a number above 0"),
        ({"sigma": 0.5}, "sigma=0.5 is the steepness of pair probabilities, .*SmoothBoostingObjective"),
        (
            {"objective": "smooth", "normalize": False},
            "normalize=False is for objective='lambda', and has no effect",
        ),
        (
            {"objective": "smooth", "hessian_floor": 0.5},
            "hessian_floor=0.5 is for objective='lambda', .* default, 0",
        ),
        ({"smoothing_factor": 0.0}, "smoothing_factor must be a number above 0; found 0.0"),
    ],
)
def test_invalid_parameters_are_errors(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises((sr.errors.ParameterError, sr.errors.MetricError), match=words):
        smooth(**parameters).fit(TRAIN) if "objective" not in parameters else sr.LambdaMART(**parameters).fit(TRAIN)
