"""A new ranker is one class and one line in the registry: everything else finds it there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import pytest

import swaprank as sr
from swaprank import registry
from swaprank.arrays import Floats
from swaprank.cli import app
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.models.linear import LinearModel
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.rankers.rounds import Measured, run_rounds

TRAIN, VALI, TEST = sr.datasets.random_net((40, 20, 20), n_features=4, n_documents=10, random_state=0)


@final
class Greedy(Ranker):
    """Adds a step to the weight of one feature per round: the one that raises the metric most.

    Args:
        metric: The metric to optimize.
        n_rounds: Maximum number of rounds.
        learning_rate: Size of each step, in standard deviations of the feature.
        n_threads: Number of threads. If None, all cores.
    """

    kind: ClassVar[str] = "greedy"
    rounds_parameter: ClassVar[str | None] = "n_rounds"
    tuning_ranges: ClassVar[Mapping[str, Any]] = {"learning_rate": (0.05, 0.5)}

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        n_rounds: int = 10,
        learning_rate: float = 0.2,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, _, callbacks, *_ = request
        bound, weights, kept = bind_metric(self.training_metric(), data), np.zeros(data.n_features), []
        steps = np.diag(self.learning_rate / data.features.std(axis=0))
        measured = Measured(valid, metrics, lambda other: np.zeros(len(other)), self.n_threads)

        def value(weights: Floats) -> float:
            return bound.mean(data.by_query(data.features @ weights))

        def one_round(number: int) -> None:
            weights[:] = max((weights, *(weights + step for step in (*steps, *-steps))), key=value)
            for name, other in valid.items():
                measured.scores[name] = other.features @ weights

        def keep() -> None:
            kept.append(weights.copy())

        self.interrupted_ = run_rounds(self.n_rounds, one_round, measured, callbacks, None, keep)
        self.model_ = LinearModel(kept[-1], data.features.mean(axis=0))
        self.n_rounds_ = self.n_rounds
        self.best_round_ = measured.best_round if measured.best_round is not None else self.n_rounds
        self.history_ = measured.history


@pytest.fixture(autouse=True)
def greedy(monkeypatch: pytest.MonkeyPatch) -> Greedy:
    monkeypatch.setitem(registry.RANKERS, "greedy", f"{__name__}.Greedy")
    return Greedy(n_rounds=6).fit(TRAIN, valid=VALI)


def test_it_is_saved_and_loaded(greedy: Greedy, tmp_path: Path) -> None:
    greedy.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    assert isinstance(again, Greedy)
    np.testing.assert_array_equal(again.predict(TEST), greedy.predict(TEST))
    assert (again.history_, again.best_round_) == (greedy.history_, greedy.best_round_)


def test_it_is_reported_certified_explained_and_combined(greedy: Greedy) -> None:
    page = sr.report(greedy, TEST).html
    assert "Weight × standard deviation" in page
    assert "Learning curves" in page
    assert sr.certify(greedy, TRAIN, epsilon=0.3).n_directions == 13
    assert sr.explain_query(greedy, TEST).metric == "ndcg@10"
    both = sr.combine(greedy, sr.LinearRegressionRanker(regularization=1.0).fit(TRAIN), VALI)
    assert both.score(VALI) >= greedy.score(VALI)
    assert greedy.contributions(TEST).sum(axis=1) == pytest.approx(greedy.predict(TEST), abs=1e-4)


def test_it_is_cross_validated_and_tuned() -> None:
    result = sr.cross_validate(TRAIN, ["greedy", "linear_regression"], n_folds=3, grid={"learning_rate": (0.1, 0.3)})
    assert result.folds["greedy"][0].chosen["learning_rate"] in (0.1, 0.3)
    pytest.importorskip("optuna")
    tuning = sr.tune(TRAIN, VALI, "greedy", n_trials=2)
    assert 0.05 <= tuning.best.parameters["learning_rate"] <= 0.5


def test_the_command_line_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sr.write_letor(TRAIN, "train.txt")
    sr.write_letor(TEST, "test.txt")

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            app(list(arguments))
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert "greedy" in run("info", "--rankers")
    assert "Size of each step" in run("info", "--ranker", "greedy")
    run("train", "train.txt", "--ranker", "greedy", "--set", "n_rounds=3", "-o", "model.swaprank")
    assert json.loads(run("info", "model.swaprank", "--json"))["ranker"] == "greedy"
    run("predict", "model.swaprank", "test.txt", "-o", "scores.txt")
    assert np.asarray(sr.read_scores("scores.txt")).shape == TEST.labels.shape
