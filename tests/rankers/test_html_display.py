"""Notebooks show rankers as scikit-learn's diagrams, with metrics, objectives and base rankers as parameters."""

from html import unescape

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import swaprank as sr

(TRAIN,) = sr.datasets.random_net((10,), n_features=3, random_state=0)


def small(**parameters: object) -> sr.LambdaMART:
    return sr.LambdaMART(**{"n_trees": 2, **parameters})  # type: ignore[arg-type]


def test_it_says_whether_it_is_fitted() -> None:
    for ranker in (small(), sr.LinearRegressionRanker(), sr.LambdaRank(n_epochs=1)):
        assert "Not fitted" in estimator_html_repr(ranker)
        shown = estimator_html_repr(ranker.fit(TRAIN))
        assert "Not fitted" not in shown
        assert type(ranker).__name__ in shown
        assert ranker._repr_html_() is not None


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"metric": sr.metrics.NDCG(5, gain=[0, 1, 3])}, "gain=(0, 1, 3)"),
        ({"metric": sr.metrics.CumulativeMetric(gain=lambda label: label, name="<b>own</b>")}, "name='<b>own</b>'"),
        ({"objective": sr.objectives.RankNetObjective(sigma=2.0)}, "RankNetObjective(sigma=2.0"),
        ({"base_ranker": small().fit(TRAIN)}, "base_ranker"),
    ],
)
def test_parameters_are_shown_and_escaped(parameter: dict[str, object], expected: str) -> None:
    shown = estimator_html_repr(small(**parameter))
    assert "".join(expected.split()) in "".join(unescape(shown).split())
    assert "<b>own" not in shown


def test_ensembles_and_pipelines() -> None:
    mart, linear = small().fit(TRAIN), sr.LinearRegressionRanker().fit(TRAIN)
    for ranker in (sr.combine(mart, linear, TRAIN), sr.stack([mart, linear], TRAIN)):
        shown = estimator_html_repr(ranker)
        assert "LambdaMART" in shown
        assert "LinearRegressionRanker" in shown
    assert "StandardScaler" in estimator_html_repr(make_pipeline(StandardScaler(), small()))
