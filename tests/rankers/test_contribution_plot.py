"""What is drawn are the contributions of the most important features."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr

pytest.importorskip("matplotlib")
TRAIN, TEST = sr.datasets.random_search((60, 30), n_documents=15, random_state=0)
RANKER = sr.LambdaMART(n_trees=20, n_leaves=7).fit(TRAIN)


@pytest.mark.slow
def test_points_are_contributions_and_colors_are_values() -> None:
    X = TEST.features.copy()
    X[::3, 0] = np.nan
    shares = RANKER.contributions(X)[:, :-1]
    axes = RANKER.plot_contributions(X, n_features=4)
    largest = np.argsort(-np.abs(shares).mean(axis=0))[:4]
    assert [label.get_text() for label in axes.get_yticklabels()] == [TRAIN.feature_names[f] for f in largest]
    for row, f in enumerate(largest):
        missing, known = axes.collections[2 * row : 2 * row + 2]
        unknown = np.isnan(X[:, f])
        assert missing.get_offsets()[:, 0].tolist() == shares[unknown, f].tolist()
        assert known.get_offsets()[:, 0].tolist() == shares[~unknown, f].tolist()
        heights = np.append(missing.get_offsets()[:, 1], known.get_offsets()[:, 1])
        assert np.abs(heights - row).max() < 0.5
        order = np.argsort(X[~unknown, f], kind="stable")
        assert (np.diff(known.get_array()[order]) >= 0).all()


def test_points_of_one_place_do_not_hide_each_other() -> None:
    from swaprank.rankers.ranker_figures import swarm

    for n in (1, 2, 20, 500):
        heights = swarm(np.full(n, 0.3), 0.0, 1.0)
        assert len(set(heights.tolist())) == n
        assert np.abs(heights).max() <= 1


def test_many_rows_given_axes_and_linear_models() -> None:
    from matplotlib.figure import Figure

    (many,) = sr.datasets.random_search((100,), n_documents=40, random_state=1)
    axes = Figure().subplots()
    linear = sr.LinearRegressionRanker().fit(TRAIN)
    assert linear.plot_contributions(many, n_features=2, ax=axes) is axes
    drawn = sum(len(points.get_offsets()) for points in axes.collections)
    assert 2 * 1500 < drawn <= 2 * 3000
    with pytest.raises(sr.errors.DataError, match="no rows"):
        linear.plot_contributions(many.features[:0])
