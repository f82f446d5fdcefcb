"""A new ranker is one class and one line in the registry: everything else finds it there."""

import json
from inspect import signature
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest

import swaprank as sr
from swaprank import registry
from swaprank.arrays import Floats
from swaprank.cli import app
from swaprank.metrics.metric import bind_metric
from swaprank.models.linear import LinearModel
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.rounds import Measured, run_rounds
from swaprank.rankers.shared_parameters import RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained

TRAIN, VALI, TEST = sr.datasets.random_net((40, 20, 20), n_features=4, n_documents=10, random_state=0)


@final
class Greedy(RandomChoices, TrainableRanker):
    """Adds a step to the weight of one feature per round: the one that raises the metric most."""

    kind: ClassVar[str] = "greedy"
    can: ClassVar[Capabilities] = Capabilities(models=(LinearModel,), rounds_parameter="n_rounds")
    n_rounds: int = parameter(default=10, low=0, also="n_estimators", text="Maximum number of rounds.")
    learning_rate: float = parameter(
        default=0.2, above=0, tune=(0.05, 0.5), text="Size of each step, in standard deviations of the feature."
    )
    first_ = found(str)
    """The feature whose weight changed first."""

    def _fit(self, request: FitRequest) -> Trained:
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

        interrupted = run_rounds(self.n_rounds, one_round, measured, callbacks, None, keep)
        best_round = measured.best_round if measured.best_round is not None else self.n_rounds
        first = data.feature_names[int(np.abs(kept[0]).argmax())]
        model = LinearModel(kept[-1], data.features.mean(axis=0))
        return Trained(model, measured.history, self.n_rounds, best_round, interrupted, {"first": first})


@pytest.fixture(autouse=True)
def greedy(monkeypatch: pytest.MonkeyPatch) -> Greedy:
    monkeypatch.setitem(registry.RANKERS, "greedy", f"{__name__}.Greedy")
    return Greedy(n_rounds=6).fit(TRAIN, valid=VALI)


def test_its_parameters_are_checked_documented_and_known_by_other_names() -> None:
    assert Greedy(n_estimators=3).n_rounds == 3  # type: ignore[call-arg]
    assert "learning_rate: Size of each step" in str(Greedy.__doc__)
    assert next(iter(signature(Greedy).parameters)) == "metric"
    with pytest.raises(sr.errors.ParameterError, match="learning_rate must be a number above 0; found 0"):
        Greedy(learning_rate=0).fit(TRAIN)


def test_it_is_saved_and_loaded(greedy: Greedy, tmp_path: Path) -> None:
    greedy.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    assert isinstance(again, Greedy)
    np.testing.assert_array_equal(again.predict(TEST), greedy.predict(TEST))
    assert (again.history_, again.best_round_) == (greedy.history_, greedy.best_round_)
    assert again.first_ == greedy.first_ in TRAIN.feature_names


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
    assert np.asarray(sr.trec.read_scores("scores.txt")).shape == TEST.labels.shape
