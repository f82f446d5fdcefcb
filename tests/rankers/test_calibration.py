"""Calibration: the truth of generated probabilities, scikit-learn's fits, the order, model files and commands."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.rankers.calibration import fit_calibration, pool
from tests.command_line import here

N_DOCUMENTS = 20


def judged(n_queries: int, seed: int) -> tuple[sr.Dataset, Floats]:
    """Documents, and the probability that each is relevant; some have the label 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * N_DOCUMENTS, 3))
    p = 1 / (1 + np.exp(1 - 1.5 * X[:, 0] - X[:, 1]))
    labels = (rng.random(len(p)) < p) * (1 + (rng.random(len(p)) < 0.3))
    return sr.Dataset(X, labels, qid=np.repeat(np.arange(n_queries), N_DOCUMENTS)), p


TRAIN, VALI = judged(100, 0)[0], judged(400, 1)[0]
TEST, TRUTH = judged(400, 2)
RANKER = sr.LambdaMART(n_trees=40, n_leaves=7).fit(TRAIN)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_probabilities_come_true_and_the_order_stays(method: Literal["isotonic", "platt"]) -> None:
    # The log odds are linear in the features, so that Platt's curve is right for a linear ranker.
    trained: sr.Ranker = RANKER if method == "isotonic" else sr.LinearRegressionRanker().fit(TRAIN)
    ranker = trained.calibrate(VALI, method=method)
    scores, values = ranker.predict(TEST), ranker.calibrated(TEST)
    np.testing.assert_array_equal(scores, trained.predict(TEST))
    order = np.argsort(scores, kind="stable")
    assert (np.diff(values[order])[np.diff(scores[order]) > 0] > 0).all()
    found = sr.instruments.reliability(ranker, TEST)
    assert found.error < 0.025
    inside = [each.low <= each.predicted <= each.high for each in found.bins]
    assert sum(inside) >= 8
    for low in np.arange(0, 1, 0.2):
        group = (values >= low) & (values < low + 0.2)
        if group.sum() > 300:
            assert abs(values[group].mean() - TRUTH[group].mean()) < 0.05


def test_steps_whose_means_differ_by_rounding_are_one() -> None:
    # The means of the ten in the middle are computed as 0.5 and 0.5000000000000001.
    labels = np.array([0.0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1])
    scores = np.arange(len(labels), dtype=np.float64)
    found = fit_calibration(scores, labels, None, 1, method="isotonic", target="probability", rel=1)
    assert np.diff(found.values).min() > 0.01


def test_expected_labels_come_true() -> None:
    ranker = RANKER.calibrate(VALI, target="label")
    values = ranker.calibrated(TEST)
    assert values.min() >= 0
    assert values.max() <= 2
    assert abs(values.mean() - TEST.labels.mean()) < 0.03
    assert sr.instruments.reliability(ranker, TEST).error < 0.04


def test_far_scores_keep_their_order_within_the_limits() -> None:
    calibration = RANKER.calibrate(VALI).check_calibrated()
    values = calibration.of(np.array([-1e9, -1e3, -50.0, 50.0, 1e3, 1e9]))
    assert (np.diff(values) > 0).all()
    assert values[0] > 0
    assert values[-1] < 1


def test_steps_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, w = np.sort(rng.integers(0, 60, 400) / 10.0), rng.random(400) + 0.1
    y = (rng.random(400) < x / 6).astype(float)
    centre, value, weight = np.empty((3, 400))
    n = pool(x, y, w, centre, value, weight)
    expected = IsotonicRegression().fit(x, y, sample_weight=w).predict(x)
    np.testing.assert_allclose(value[:n], np.unique(expected.round(12)), atol=1e-11)
    assert weight[:n].sum() == pytest.approx(w.sum())


def test_platt_is_the_logistic_regression_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=500), rng.random(500) + 0.1
    y = (rng.random(500) < 1 / (1 + np.exp(0.5 - 2 * x))).astype(float)
    found = fit_calibration(x, y, w, 50, method="platt", target="probability", rel=1)
    relevant, others = w[y == 1].sum(), w[y == 0].sum()
    target = np.where(y == 1, (relevant + 1) / (relevant + 2), 1 / (others + 2))
    both = np.concatenate((w * target, w * (1 - target)))
    peer = LogisticRegression(C=1e12, tol=1e-12, max_iter=1000)
    peer.fit(np.tile(x, 2)[:, None], np.repeat([1, 0], 500), sample_weight=both)
    assert found.scores[0] == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert found.values[0] == pytest.approx(peer.intercept_[0], rel=1e-5)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_the_order_of_the_rows_changes_nothing(method: str) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 40, 300) / 7.0, rng.random(300)
    y = (rng.random(300) < x / 6).astype(float)
    options: Any = {"method": method, "target": "probability", "rel": 1}
    order = rng.permutation(300)
    assert fit_calibration(x, y, w, 9, **options) == fit_calibration(x[order], y[order], w[order], 9, **options)


def test_a_weight_is_a_repetition() -> None:
    x, y, w = np.arange(6.0), np.array([0.0, 1, 0, 0, 1, 1]), np.array([1.0, 2, 3, 0, 1, 2])
    for method in ("isotonic", "platt"):
        options: Any = {"method": method, "target": "probability", "rel": 1}
        weighted = fit_calibration(x, y, w, 2, **options)
        repeats = w.astype(int)
        repeated = fit_calibration(np.repeat(x, repeats), np.repeat(y, repeats), None, 2, **options)
        np.testing.assert_allclose(weighted.scores, repeated.scores)
        np.testing.assert_allclose(weighted.values, repeated.values)


def test_what_cannot_be_calibrated_says_why() -> None:
    with pytest.raises(sr.errors.ParameterError, match=r"ranker.calibrate\(valid\)"):
        RANKER.calibrated(TEST)
    with pytest.raises(sr.errors.DataError, match="labels below 7 and from there on"):
        RANKER.calibrate(VALI, rel=7)
    with pytest.raises(sr.errors.ParameterError, match="'isotonic' or 'platt'"):
        RANKER.calibrate(VALI, method="beta")  # type: ignore[arg-type]
    turned = VALI.replace(labels=2 - VALI.labels)
    for method in ("isotonic", "platt"):
        with pytest.raises(sr.errors.DataError, match="not more relevant"):
            fit_calibration(np.arange(4.0), np.array([1.0, 1, 0, 0]), None, 2, method=method, target="label", rel=1)
    with pytest.raises(sr.errors.DataError, match="not more relevant"):
        RANKER.calibrate(turned, method="platt", target="label")


def test_files_keep_it_and_some_exports_say_that_they_do_not(tmp_path: Path) -> None:
    ranker = RANKER.calibrate(VALI)
    ranker.save(tmp_path / "model.swaprank")
    loaded = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(loaded.calibrated(TEST), ranker.calibrated(TEST))
    assert RANKER.learned_.calibration is None
    assert ranker.refit(VALI).learned_.calibration is None
    with pytest.warns(sr.errors.ExportWarning, match="gets the scores, not the calibrated values: onnx and c keep"):
        ranker.export(tmp_path / "model.txt", to="lightgbm")


@pytest.mark.parametrize("target", ["probability", "label"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_onnx_has_calibrated_values(method: Any, target: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ranker = sr.LinearRegressionRanker().fit(TRAIN).calibrate(VALI, method=method, target=target)
    ranker.export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    X = np.concatenate([TEST.features, 30 * TEST.features])  # also scores far beyond those of the calibration
    scores, values = session.run(["scores", "calibrated"], {"features": X})
    np.testing.assert_allclose(scores[:, 0], ranker.predict(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(values[:, 0], ranker.calibrated(X), rtol=2e-6, atol=1e-6)


def test_the_scores_of_a_calibrated_onnx_file_are_read_again(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    RANKER.calibrate(VALI).export(tmp_path / "model.onnx")
    read = sr.import_model(tmp_path / "model.onnx")
    np.testing.assert_array_equal(read.predict(TEST), RANKER.predict(TEST))
    assert read.calibration_ is None
    assert "calibrate the ranker again" in " ".join(read.notes_)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["probability", "label"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_c_has_calibrated_values(method: Any, target: Any, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("there is no C compiler that makes shared libraries in this way")
    ranker = RANKER.calibrate(VALI, method=method, target=target)
    calibration = ranker.calibration_
    assert calibration is not None
    ranker.export(tmp_path / "m.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "m.c", "-o", "m.so", "-lm"], cwd=tmp_path, check=True)
    calibrated = ctypes.CDLL(str(tmp_path / "m.so")).m_calibrated
    calibrated.restype, calibrated.argtypes = ctypes.c_double, [ctypes.c_double]
    scores = np.concatenate([ranker.predict(TEST), calibration.scores, [-1e9, 1e9, -60, 60]])
    found = np.array([calibrated(score) for score in scores.tolist()])
    np.testing.assert_allclose(found, calibration.of(scores), rtol=1e-13, atol=1e-15)


def test_commands(tmp_path: Path) -> None:
    RANKER.save(tmp_path / "model.swaprank")
    for name, data in (("vali", VALI), ("test", TEST)):
        sr.write_letor(data, tmp_path / f"{name}.txt")
    told = here(
        "calibrate",
        "model.swaprank",
        "vali.txt",
        "-o",
        "new.swaprank",
        "--test",
        "test.txt",
        "--figure",
        "r.svg",
        folder=tmp_path,
    )
    assert told.code == 0
    assert "95% interval" in told.out
    assert "observed" in (tmp_path / "r.svg").read_text()
    assert here("predict", "new.swaprank", "test.txt", "--calibrated", "-o", "p.txt", folder=tmp_path).code == 0
    written: Any = sr.trec.read_scores(tmp_path / "p.txt")
    np.testing.assert_allclose(written, RANKER.calibrate(VALI).calibrated(TEST), atol=1e-6)
    assert here("predict", "model.swaprank", "test.txt", "--calibrated", folder=tmp_path).code == 2


def test_one_query_has_no_interval() -> None:
    shown = str(sr.instruments.reliability(RANKER.calibrate(VALI), TEST.subset([0])))
    assert "- to -" in shown
    assert "nan" not in shown
