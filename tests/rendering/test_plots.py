"""What is drawn is true: bars, dots and lines are at the values of the results."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.tuning_result import Trial
from swaprank.rendering.figures import new_axes

pytest.importorskip("matplotlib")


@cache
def parts() -> tuple[sr.Dataset, sr.Dataset]:
    train, vali = sr.datasets.random_net((20, 15), n_features=6, n_documents=8, random_state=0)
    return train, vali


@cache
def mart() -> sr.LambdaMART:
    train, vali = parts()
    sets = {"train": train, "vali": vali}
    return sr.LambdaMART(n_trees=6, min_docs_in_leaf=5, leaf_smoothing=0.0, score_noise=0.0).fit(
        train, valid=sets, metrics=["ndcg@10", "map"]
    )


@cache
def linear() -> sr.LinearRegressionRanker:
    return sr.LinearRegressionRanker(regularization=0.1).fit(parts()[0])


@pytest.fixture
def pyplot() -> Iterator[Any]:
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield pyplot
    pyplot.close("all")


def dots(axes: Any) -> list[tuple[float, float]]:
    """Where single markers are."""
    return [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 1]


def segments(axes: Any) -> list[tuple[list[float], float]]:
    """Horizontal lines: their ends, and their height."""
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    return [(x, y[0]) for x, y in lines if len(x) == 2 and y[0] == y[1]]


def row_names(axes: Any) -> dict[float, str]:
    return dict(zip(axes.get_yticks(), (label.get_text() for label in axes.get_yticklabels()), strict=True))


def drawn(axes: Any) -> None:
    """Draw everything, which finds errors in texts and sizes."""
    axes.figure.draw_without_rendering()


def test_means_intervals_and_histograms_of_an_evaluation() -> None:
    _, vali = parts()
    evaluation = sr.evaluate(vali, mart().predict(vali), ["ndcg@3", "map", "dcg@2"])
    axes = evaluation.plot(new_axes())
    drawn(axes)
    names = row_names(axes)
    assert list(names.values()) == ["ndcg@3", "map", "dcg@2"]
    assert max(names) == next(place for place, name in names.items() if name == "ndcg@3")
    for mean, place in dots(axes):
        assert mean == evaluation[names[place]].mean
    for ends, place in segments(axes):
        assert ends == list(evaluation[names[place]].interval)
    assert len(dots(axes)) == len(segments(axes)) == 3
    for bars in axes.containers:
        place = bars[0].get_y()
        values = evaluation[names[place]].per_query
        heights = np.array([bar.get_height() for bar in bars])
        edges = [bar.get_x() for bar in bars] + [bars[-1].get_x() + bars[-1].get_width()]
        counts = np.histogram(values, edges)[0]
        np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
        assert counts.sum() == len(values)


def test_an_evaluation_without_queries_or_with_one() -> None:
    data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 0], qid=[1, 1, 2])
    axes = sr.evaluate(data, [1, 2, 3], ["map(empty=skip)", "map(rel=3, empty=skip)"]).plot(new_axes())
    drawn(axes)
    assert (1.0, 1.0) in dots(axes)
    assert segments(axes) == []
    assert [text.get_text() for text in axes.texts] == ["1.0000", "-"]


@pytest.mark.slow
def test_differences_of_a_comparison() -> None:
    _, vali = parts()
    systems = {"old": vali.column(0), "new": mart().predict(vali), "equal": vali.column(0)}
    comparison = sr.compare(vali, systems, ["ndcg@3", "map"])
    axes = comparison.plot(new_axes())
    drawn(axes)
    names = row_names(axes)
    rows = {f"{row.system}, {row.metric}": row for row in comparison}
    assert list(names.values()) == list(rows)
    assert {names[place]: value for value, place in dots(axes)} == {name: row.difference for name, row in rows.items()}
    assert {names[place]: tuple(ends) for ends, place in segments(axes)} == {
        name: (row.low, row.high) for name, row in rows.items()
    }
    assert [text.get_text() for text in axes.texts] == [f"{r.wins} / {r.ties} / {r.losses}" for r in rows.values()]
    colors = {names[line.get_ydata()[0]]: line.get_color() for line in axes.lines if len(line.get_xdata()) == 1}
    assert colors["equal, map"] != colors["new, map"]
    assert "gray: may be luck" in axes.get_xlabel()
    one = sr.compare(vali, {"old": systems["old"], "new": systems["new"]}, "map").plot(new_axes())
    assert list(row_names(one).values()) == ["new"]
    assert one.get_xlabel().startswith("map: difference to old")


def test_folds_of_a_cross_validation() -> None:
    train, _ = parts()
    result = sr.cross_validate(train, {"linear": linear(), "mart": sr.MART(n_trees=2)}, ["map", "mrr"], n_folds=3)
    for metric in (None, "mrr"):
        axes = result.plot(new_axes(), metric=metric)
        drawn(axes)
        lines = [list(line.get_ydata()) for line in axes.lines]
        expected = [
            values
            for name in ("linear", "mart")
            for values in (result.per_fold(name, metric or "map"), [result.mean(name, metric or "map")] * 2)
        ]
        assert lines == expected
        assert [label.get_text() for label in axes.get_xticklabels()] == ["Fold1", "Fold2", "Fold3"]
        assert axes.get_ylabel() == (metric or "map")


def tuning() -> sr.experiments.Tuning:
    values = [0.3, None, 0.5, 0.4]
    parameters = [{"rate": 0.001 * 10**at, "hidden": (10,) if at % 2 else (5, 5)} for at in range(4)]
    trials = [
        Trial(at + 1, value, 5 if value is None else None, 1.0, "10 trees", parameters[at])
        for at, value in enumerate(values)
    ]
    return sr.experiments.Tuning(linear(), "map", trials[2], trials)


def test_trials_of_a_tuning() -> None:
    axes = tuning().plot(new_axes())
    drawn(axes)
    done, best, given_up, star = axes.lines
    assert list(zip(done.get_xdata(), done.get_ydata(), strict=True)) == [(1, 0.3), (3, 0.5), (4, 0.4)]
    assert list(zip(best.get_xdata(), best.get_ydata(), strict=True)) == [(1, 0.3), (3, 0.5), (4, 0.5)]
    assert list(given_up.get_xdata()) == [2]
    assert (*star.get_xdata(), *star.get_ydata()) == (3, 0.5)


def test_trials_against_a_parameter() -> None:
    axes = tuning().plot(new_axes(), parameter="rate")
    drawn(axes)
    assert list(axes.lines[0].get_xdata()) == pytest.approx([0.001, 0.1, 1.0])
    assert axes.get_xscale() == "log"
    by_name = tuning().plot(new_axes(), parameter="hidden")
    drawn(by_name)
    assert [label.get_text() for label in by_name.get_xticklabels()] == ["(10,)", "(5, 5)"]
    assert list(by_name.lines[0].get_xdata()) == [1, 1, 0]
    with pytest.raises(sr.errors.ParameterError, match=r"the parameter 'rat' was not searched; did you mean 'rate'\?"):
        tuning().plot(parameter="rat")


def test_curves_of_a_certificate_and_arrows_of_an_explanation() -> None:
    train, vali = parts()
    certificate = sr.certify(linear(), train, epsilon=0.3)
    axes = certificate.plot(new_axes(), n_directions=1)
    drawn(axes)
    for line in axes.lines:
        number = int(line.get_label().removeprefix("direction ").partition(",")[0])
        assert list(line.get_ydata()) == [certificate.value, *certificate.curves[number]]
    explanation = sr.explain_query(mart(), vali)
    axes = explanation.plot(new_axes(), n_documents=4)
    drawn(axes)
    texts = [text.get_text() for text in axes.texts if text.get_text()]
    assert texts == ["rank", "label"] + [t for r in range(4) for t in (str(r + 1), f"{explanation.labels[r]:g}")]


def test_a_combination_is_drawn_from_its_steps() -> None:
    _, vali = parts()
    both = sr.combine(mart(), linear(), vali)
    axes = both.plot(new_axes())
    drawn(axes)
    assert (both.alpha_, both.value_) in dots(axes)
    assert axes.lines[0].get_ydata().max() <= both.value_ + 1e-12


@pytest.mark.parametrize("kind", [None, "gain", "splits"])
def test_bars_of_importances(kind: Any) -> None:
    values = mart().importances(kind or "gain")
    axes = mart().plot_importances(new_axes(), kind=kind, n_features=4)
    drawn(axes)
    names = row_names(axes)
    widths = {names[round(bar.get_y() + bar.get_height() / 2)]: bar.get_width() for bar in axes.patches}
    assert widths == dict(list(values.items())[:4])
    assert list(names.values()) == list(values)[:4]
    assert axes.get_title(loc="left") == "the first 4 of 6 features"


def test_importances_that_need_data() -> None:
    _, vali = parts()
    axes = linear().plot_importances(new_axes(), data=vali)
    names = row_names(axes)
    widths = {names[round(bar.get_y() + bar.get_height() / 2)]: bar.get_width() for bar in axes.patches}
    weights = dict(zip(vali.feature_names, linear().model_.feature_weights() * vali.features.std(axis=0), strict=True))
    assert widths == pytest.approx(weights, rel=1e-5)
    assert [abs(widths[name]) for name in names.values()] == sorted(map(abs, widths.values()), reverse=True)
    by_shuffling = mart().plot_importances(new_axes(), kind="permutation", data=vali)
    assert [bar.get_width() for bar in by_shuffling.patches] == list(mart().permutation_importances(vali).values())
    with pytest.raises(sr.errors.ParameterError, match="are measured on data: give it"):
        linear().plot_importances()
    with pytest.raises(
        sr.errors.ParameterError, match="LinearRegressionRanker has no importances of the kind 'gain'; known are"
    ):
        linear().plot_importances(kind="gain", data=vali)


def test_lines_of_the_learning_curve() -> None:
    history = mart().history_
    for metric, name in ((None, "ndcg@10"), ("AP", "map"), (sr.metric("map"), "map")):
        axes = mart().plot_learning_curve(new_axes(), metric=metric)
        drawn(axes)
        on_train, on_vali, kept = axes.lines
        assert list(on_train.get_ydata()) == history["train"][name]
        assert list(on_vali.get_ydata()) == history["vali"][name]
        assert list(on_vali.get_xdata()) == [1, 2, 3, 4, 5, 6]
        assert list(kept.get_xdata()) == [mart().best_round_] * 2
        assert axes.get_ylabel() == name
    train, vali = parts()
    other_name = sr.LambdaMART("nDCG@3", n_trees=2).fit(train, valid=vali, metrics=["map", "ndcg@3"])
    assert other_name.plot_learning_curve(new_axes()).get_ylabel() == "ndcg@3"
    with pytest.raises(sr.errors.MetricError, match=r"'ndcg@1' was not measured; did you mean 'ndcg@10'\?"):
        mart().plot_learning_curve(metric="ndcg@1")
    with pytest.raises(sr.errors.DataError, match="no round was measured: give a data set to watch"):
        linear().plot_learning_curve()


def test_long_and_strange_names_fit() -> None:
    names = ["x" * 200, "50$ to $100", "<b>_^{\\frac", "ndcg", "µ"]
    X = np.random.default_rng(0).normal(size=(60, 5))
    data = sr.Dataset(X, (X[:, 0] > 0).astype(int), qid=np.repeat(np.arange(6), 10), feature_names=names)
    axes = sr.MART(n_trees=2, min_docs_in_leaf=2).fit(data).plot_importances(new_axes())
    drawn(axes)
    box = axes.get_tightbbox()
    assert box.x0 >= 0
    assert box.x1 <= axes.figure.bbox.width


def test_without_axes_a_new_figure_is_shown_by_pyplot(pyplot: Any) -> None:
    _, vali = parts()
    evaluation = sr.evaluate(vali, vali.column(0), "map")
    axes = evaluation.plot()
    assert pyplot.fignum_exists(axes.figure.number)
    given = pyplot.subplots()[1]
    assert evaluation.plot(given) is given
    with pytest.raises(
        sr.errors.ParameterError, match=r"ax must be Matplotlib axes, such as pyplot.gca\(\); found ndarray"
    ):
        evaluation.plot(pyplot.subplots(1, 2)[1])


def test_files_need_no_pyplot(tmp_path: Path, pyplot: Any) -> None:
    certificate = sr.certify(linear(), parts()[0], epsilon=0.5)
    certificate.draw(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("swaprank.rendering.figures.find_spec", lambda name: None)
    _, vali = parts()
    for plot in (sr.evaluate(vali, vali.column(0), "map").plot, mart().plot_importances, mart().plot_learning_curve):
        with pytest.raises(
            sr.errors.MissingExtraError, match=r'drawing needs Matplotlib: pip install "swaprank\[plots\]"'
        ):
            plot()
