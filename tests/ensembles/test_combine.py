"""The sweep against brute force over all orders, and the ranker that uses it."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.ensembles.step_function import StepFunction, measured_optimum, sweep
from swaprank.metrics.metric import BoundMetric
from swaprank.model_files.container import ModelContent, read_model, write_model
from swaprank.rankers.saving import content_of
from swaprank.registry import ranker_of
from tests.command_line import here

METRICS = [
    "ndcg", "ndcg@2", "ndcg@2(ties=input)", "ndcg(empty=skip)", "p@2", "rbp", "map", "map@2", "mrr", "err",
    "pairwise", "pairwise(ties=input)", "bpref", "rprec",
]  # fmt: skip


def naive_alphas(a: list[int], b: list[int], indptr: list[int]) -> list[Fraction]:
    """One alpha between every two crossings, and one outside at each end; crossings are exact fractions."""
    crossings = set()
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        for i, j in combinations(range(start, stop), 2):
            slope = (b[i] - a[i]) - (b[j] - a[j])
            if slope:
                crossings.add(Fraction(b[i] - b[j], slope))
    edges = sorted(crossings)
    between = [(x + y) / 2 for x, y in zip(edges[:-1], edges[1:], strict=True)]
    return [edges[0] - 1, *between, edges[-1] + 1] if edges else [Fraction(1, 2)]


def mixed(alpha: Fraction, a: list[int], b: list[int]) -> Floats:
    """Scores that are tied exactly if they are equal without rounding."""
    exact = [alpha * x + (1 - alpha) * y for x, y in zip(a, b, strict=True)]
    level = {score: rank for rank, score in enumerate(sorted(set(exact)))}
    return np.array([float(level[score]) for score in exact])


@st.composite
def two_rankings(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    """Labels, both scores, and indptr; there are few different numbers, so that many lines cross in one point."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    n = sum(lengths)
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    a, b = (draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)) for _ in range(2))
    return labels, a, b, [0, *np.cumsum(lengths).tolist()]


def assert_exact(bound: BoundMetric, a: list[int], b: list[int]) -> None:
    steps = sweep(bound, np.array(a, float), np.array(b, float))
    alphas = naive_alphas(a, b, bound.indptr.tolist())
    expected = np.array([bound.mean(mixed(alpha, a, b)) for alpha in alphas])
    if np.isnan(expected).all():
        return
    assert_allclose([steps(float(alpha)) for alpha in alphas], expected, atol=1e-12)
    best = measured_optimum(steps.best(-np.inf, np.inf), lambda alpha: bound.mean(mixed(Fraction(alpha), a, b)))
    assert best.value == pytest.approx(expected.max(), abs=1e-12)
    assert steps.best(-np.inf, np.inf).value == pytest.approx(best.value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(lists=two_rankings())
def test_the_sweep_is_exact(metric: str, lists: tuple[list[int], list[int], list[int], list[int]]) -> None:
    labels, a, b, indptr = lists
    assert_exact(sr.metric(metric).bind(labels, indptr), a, b)


@pytest.mark.slow
@settings(max_examples=20)
@given(lists=two_rankings())
def test_the_sweep_is_exact_for_a_metric_of_the_users(lists: tuple[list[int], list[int], list[int], list[int]]) -> None:
    labels, a, b, indptr = lists
    assert_exact(sr.metrics.CustomMetric(evaluate=last_label, ties="input").bind(labels, indptr), a, b)


def last_label(labels: Floats) -> float:
    return labels[-1] + 0.1 * labels[0]  # type: ignore[no-any-return]


def test_ties_by_document_id_hold_at_every_alpha() -> None:
    bound = sr.metric("ndcg", convention="trec").bind([1, 0, 2], [0, 3], docid=["a", "c", "b"])
    steps = sweep(bound, np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    # c is above a, because both rankers tie them; b is first until the lines cross at 1/2.
    assert steps.edges.tolist() == [0.5]
    assert_allclose(steps.values, [bound.mean([1, 2, 3]), bound.mean([2, 3, 1])])


@pytest.mark.parametrize("metric", ["ndcg@10", "map"])
def test_real_scores_and_any_number_of_threads(metric: str) -> None:
    rng = np.random.default_rng(0)
    labels, indptr = rng.integers(0, 4, 1200), np.arange(0, 1201, 40)
    a, b = labels + rng.normal(size=(2, 1200))
    bound = sr.metric(metric).bind(labels, indptr)
    steps, serial = (sweep(bound, a, b, n_threads) for n_threads in (2, 1))
    assert_array_equal(steps.edges, serial.edges)
    assert_array_equal(steps.values, serial.values)
    best = steps.best(0.0, 1.0)
    grid = [bound.mean(alpha * a + (1 - alpha) * b) for alpha in np.linspace(0, 1, 500)]
    assert best.value >= max(grid) - 1e-12
    for alpha in np.random.default_rng(1).uniform(-1, 2, 50):
        assert steps(alpha) == pytest.approx(bound.mean(alpha * a + (1 - alpha) * b), abs=1e-12)


def test_a_metric_that_fails_somewhere_is_refused() -> None:
    def picky(labels: Floats) -> float:
        return np.nan if labels[0] == 1 else 0.0

    bound = sr.metrics.CustomMetric(evaluate=picky).bind([0, 1], [0, 2])
    with pytest.raises(sr.errors.MetricError, match="evaluate failed"):
        sweep(bound, np.array([0.0, 1.0]), np.array([1.0, 0.0]))


def test_an_alpha_that_ties_documents_is_avoided() -> None:
    """Three lines cross at 1/2. The metric is the same on both sides, but at 1/2 itself all documents are tied."""
    X = np.array([[0.0, -2.0], [-2.0, 0.0], [-1.0, -1.0]])
    data = sr.Dataset(X, [0, 0, 1], qid=[1, 1, 1])
    first, second = (sr.LinearRegressionRanker(regularization=1.0).fit(data) for _ in range(2))
    for ranker, weights in ((first, [1.0, 0.0]), (second, [0.0, 1.0])):
        object.__setattr__(ranker.model_, "weights", np.array(weights))
    both = sr.combine(first, second, data, "p@2")
    assert both.alpha_ != 0.5
    assert both.value_ == both.score(data) == 0.5
    assert both.interval_ == (0.0, 1.0)


def test_of_equally_good_intervals_the_widest_is_taken() -> None:
    steps = StepFunction(np.array([0.1, 0.2, 0.5, 0.9]), np.array([0.0, 1.0, 0.0, 1.0, 0.5]))
    best = steps.best(0.0, 1.0)
    assert (best.low, best.high, best.alpha) == pytest.approx((0.5, 0.9, 0.7))
    assert steps.best(0.0, 0.3)[:2] == pytest.approx((0.15, 1.0))
    x, y = steps.between(0.0, 0.3)
    assert x.tolist() == [0.0, 0.1, 0.1, 0.2, 0.2, 0.3]
    assert y.tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def parts() -> tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker]:
    train, vali, test = sr.datasets.random_polynomial((60, 40, 40), n_features=6, n_documents=15, random_state=0)
    return vali, test, sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)


def test_a_combination_is_at_least_as_good_as_either(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker],
) -> None:
    vali, _, mart, linear = parts
    both = sr.combine(mart, linear, vali, "ndcg@5")
    assert both.value_ == both.score(vali) >= max(both.alone_)
    ndcg = sr.metric("ndcg@5").bind(vali.labels, vali.indptr)
    assert both.alone_ == pytest.approx([ndcg.mean(ranker.predict(vali)) for ranker in (mart, linear)])
    wide = sr.combine(mart, linear, vali, "ndcg@5", whole_line=True)
    assert wide.value_ == wide.line_.value == both.line_.value >= both.value_
    assert both.steps_ is not None
    assert both.steps_(both.alpha_) == pytest.approx(both.value_)
    assert f"alpha {both.alpha_:.6g}" in both.summary()


def test_rows_in_any_order_and_other_scales_make_no_difference(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker],
) -> None:
    vali, _, mart, linear = parts
    shuffle = np.random.default_rng(0).permutation(len(vali))
    qid = np.repeat(vali.qids, np.diff(vali.indptr))
    moved = sr.Dataset(vali.features[shuffle], vali.labels[shuffle], qid=qid[shuffle])
    first, second = sr.combine(mart, linear, vali), sr.combine(mart, linear, moved)
    assert first.alpha_ == pytest.approx(second.alpha_, rel=1e-9)
    assert_allclose(first.predict(vali)[shuffle], second.predict(moved), rtol=1e-9)


def test_a_ranker_alone_is_kept_where_its_ties_are_the_best() -> None:
    """Ties are in row order. A tie of the second ranker is right for both queries; every mix is wrong for one."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    data = sr.Dataset(X, [1, 0, 1, 0], qid=[1, 1, 2, 2])
    first, second = (sr.LinearRegressionRanker(regularization=1.0).fit(data) for _ in range(2))
    for ranker, weights in ((first, [1.0, 0.0]), (second, [0.0, 1.0])):
        object.__setattr__(ranker.model_, "weights", np.array(weights))
    both = sr.combine(first, second, data, "mrr(ties=input)", whole_line=True)
    assert both.alone_ == (0.75, 1.0)
    assert (both.alpha_, both.value_, both.interval_) == (0.0, 1.0, (0.0, 0.0))


def test_a_ranker_combined_with_itself_and_with_a_constant(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker],
) -> None:
    vali, _, mart, linear = parts
    same = sr.combine(linear, linear, vali, "ndcg", whole_line=True)
    assert same.interval_ == (-np.inf, np.inf)
    assert same.value_ == pytest.approx(same.alone_[0])
    silent = sr.MART(n_trees=0).fit(vali)
    assert len(np.unique(silent.predict(vali))) == 1
    for first, second, alpha in ((mart, silent, 0.5), (silent, mart, 0.5)):
        both = sr.combine(first, second, vali, "ndcg")
        assert both.interval_ == (0.0, 1.0)
        assert both.alpha_ == alpha
        assert both.value_ == pytest.approx(max(both.alone_))


@pytest.mark.filterwarnings("ignore::swaprank.errors.LabelWarning")
def test_short_lists_missing_values_and_queries_without_relevant_documents() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    qid = np.repeat(np.arange(25), [1] * 10 + [4] * 10 + [2] * 5)
    data = sr.Dataset(X, np.where(qid < 15, rng.integers(0, 3, 60), 0), qid=qid)
    forest, linear = (
        sr.MART(n_trees=5, min_docs_in_leaf=3).fit(data),
        sr.LinearRegressionRanker(regularization=0.1).fit(data),
    )
    for metric in ("ndcg@10", "map", "mrr(empty=skip)"):
        both = sr.combine(forest, linear, data, metric)
        assert both.value_ == both.score(data) >= max(both.alone_)
        nested = sr.combine(both, forest, data, metric)
        assert nested.value_ >= both.value_ - 1e-12


@pytest.mark.slow
def test_the_step_function_can_be_drawn(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    vali, _, mart, linear = parts
    both = sr.combine(mart, linear, vali, "ndcg", whole_line=True)
    both.draw(tmp_path / "steps.svg")
    assert (tmp_path / "steps.svg").read_text().startswith("<?xml")
    assert (tmp_path / "steps.svg").stat().st_size < 100_000
    both.save(tmp_path / "both.swaprank")
    with pytest.raises(sr.errors.DataError, match="has no step function to draw: call combine again"):
        sr.load(tmp_path / "both.swaprank").draw(tmp_path / "steps.svg")


def test_a_saved_combination_is_the_same(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker], tmp_path: Path
) -> None:
    vali, test, mart, linear = parts
    both = sr.combine(mart, linear, vali, "map", whole_line=True)
    thrice = sr.combine(both, linear, vali, "map")
    for ranker in (both, thrice):
        ranker.save(tmp_path / "model.swaprank")
        again = sr.load(tmp_path / "model.swaprank")
        assert isinstance(again, sr.ensembles.Combination)
        assert_array_equal(again.predict(test), ranker.predict(test))
        assert (again.alpha_, again.interval_, again.line_, again.whole_line) == (
            ranker.alpha_, ranker.interval_, ranker.line_, ranker.whole_line,
        )  # fmt: skip
        again.save(tmp_path / "twin.swaprank")
        assert (tmp_path / "twin.swaprank").read_bytes() == (tmp_path / "model.swaprank").read_bytes()


def test_damaged_files_are_refused(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker], tmp_path: Path
) -> None:
    vali, _, mart, linear = parts
    path = tmp_path / "model.swaprank"
    sr.combine(mart, linear, vali).save(path)
    kind, meta, arrays = read_model(path)
    models = meta["model"]["models"]

    def with_models(*damaged: Any) -> dict[str, Any]:
        return {**meta, "model": {**meta["model"], "models": list(damaged)}}

    damaged = [
        ({**meta, "found": {**meta["found"], "alpha": float("nan")}}, arrays, "not finite"),
        ({**meta, "found": {}}, arrays, "KeyError: 'members'"),
        (with_models(models[0]), arrays, "at least two members and a top model; found 1"),
        (with_models(), arrays, "found 0 models"),
        (with_models(1, 2), arrays, "TypeError"),
        (meta, {**arrays, "spread": np.zeros(2)}, "above 0"),
        (meta, {**arrays, "center": np.zeros(3)}, "needs 2 values of center"),
        (
            meta,
            {name: array for name, array in arrays.items() if name != "1/weights"},
            "its linear model has no weights",
        ),
        (with_models({**models[0], "kind": "guess"}, *models[1:]), arrays, "the kind 'guess'"),
        (with_models({}, *models[1:]), arrays, "KeyError: 'kind'"),
        (meta, {**arrays, "0/left": arrays["0/left"] + 1000}, "neither a later node"),
        (
            meta,
            {**arrays, "2/weights": np.array([1.0]), "2/missing": np.zeros(1, np.float32)},
            "its top model takes 1",
        ),
    ]
    for bad_meta, bad_arrays, message in damaged:
        write_model(path, kind, bad_meta, bad_arrays)
        with pytest.raises(sr.errors.ModelFileError, match=message):
            sr.load(path)


def test_endlessly_nested_rankers_are_an_error(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker], tmp_path: Path
) -> None:
    vali, _, mart, linear = parts
    kind, meta, arrays = content_of(sr.combine(mart, linear, vali))
    model = meta["model"]
    for _ in range(500):
        model = {"kind": "ensemble", "models": [model]}
    meta = {**meta, "model": model}
    with pytest.raises(sr.errors.ModelFileError, match="nested too deeply"):
        ranker_of(ModelContent(kind, meta, arrays))
    with pytest.raises(sr.errors.ModelFileError, match="nested so deeply"):
        write_model(tmp_path / "model.swaprank", kind, meta, arrays)


def test_rankers_that_cannot_be_combined_are_errors(
    parts: tuple[sr.Dataset, sr.Dataset, sr.MART, sr.LinearRegressionRanker],
) -> None:
    vali, _, mart, linear = parts
    with pytest.raises(sr.errors.ParameterError, match="members must be rankers; found list"):
        sr.combine(mart, [1.0], vali)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="takes two rankers, found 3"):
        sr.ensembles.Combination(members=(mart, linear, mart)).fit(vali)
    with pytest.raises(sr.errors.ParameterError, match="must be 2 or more fitted rankers; found None"):
        sr.ensembles.Combination().fit(vali)
    with pytest.raises(ValueError, match="has not been fitted"):
        sr.combine(mart, sr.MART(), vali)
    with pytest.raises(sr.errors.DataError, match="the data has 1 features, but the ensemble is expecting 6"):
        sr.combine(mart, linear, sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1]))
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.combine(mart, linear, sr.Dataset(vali.features[:3], [0, 0, 0], qid=[1, 1, 1]))
    with pytest.raises(sr.errors.DataError, match="a combination has no training rounds"):
        sr.ensembles.Combination(members=(mart, linear)).fit(vali, valid=vali)


def test_models_of_other_features_are_combined_on_the_command_line(tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((30,), n_features=3, n_documents=8, random_state=0)
    frame = pd.DataFrame(data.features, columns=["a", "b", "c"]).assign(
        label=data.labels, qid=np.repeat(data.qids, np.diff(data.indptr)), title="text"
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    models = sr.MART(n_trees=3), sr.LinearRegressionRanker(regularization=0.1)
    for model, columns in zip(models, (["a", "b"], ["c", "b"]), strict=True):
        model.fit(sr.Dataset.from_frame(frame, features=columns)).save(tmp_path / f"{model.kind}.swaprank")
    ended = here(
        "combine", "mart.swaprank", "linear_regression.swaprank", "data.csv", "-o", "both.swaprank", folder=tmp_path
    )
    assert ended.code == 0, ended.err
    both = sr.load(tmp_path / "both.swaprank")
    assert both.feature_names_in_.tolist() == ["a", "b", "c"]
    assert both.predict(frame).shape == (240,)
