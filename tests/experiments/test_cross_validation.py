"""Cross-validation: disjoint folds, parameters selected on vali only, and interrupted runs that resume."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.folds import find_folds, make_folds
from swaprank.experiments.grid_search import candidates, parse_grid
from swaprank.rankers.training import FitRequest, Trained
from swaprank.rankers.tree_ranker import TreeRanker


@pytest.fixture(scope="module")
def data() -> sr.Dataset:
    (data,) = sr.datasets.random_net((45,), n_features=5, n_documents=8, levels=3, random_state=1)
    return data


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[sr.Dataset]:
    """The training data of every tree ranker, in order."""
    trained: list[sr.Dataset] = []
    real = TreeRanker._fit

    def counted(self: TreeRanker, request: FitRequest) -> Trained:
        trained.append(request.data)
        return real(self, request)

    monkeypatch.setattr(TreeRanker, "_fit", counted)
    return trained


RANKERS = {"trees": sr.LambdaMART(n_trees=4, min_docs_in_leaf=3), "mart": sr.MART(n_trees=4, min_docs_in_leaf=3)}
GRID = {"trees.n_leaves": (3, 6)}


def letor_folder(data: sr.Dataset, folder: Path, names: Sequence[str] = ("train", "vali", "test")) -> Path:
    for fold in make_folds(data, 3, random_state=0):
        (folder / fold.name).mkdir(parents=True)
        for name, part in zip(names, fold.load(), strict=True):
            sr.write_letor(part, folder / fold.name / f"{name}.txt.gz")
    return folder


def test_make_folds_test_every_query_once_and_never_train_on_it(data: sr.Dataset) -> None:
    folds = [fold.load() for fold in make_folds(data, 4, random_state=3)]
    tested = np.concatenate([fold.test.qids for fold in folds])
    assert sorted(tested.tolist()) == sorted(data.qids.tolist())
    for fold in folds:
        parts = [set(part.qids.tolist()) for part in fold]
        assert set.union(*parts) == set(data.qids.tolist())
        assert sum(map(len, parts)) == data.n_queries
    again = [fold.load().test.qids.tolist() for fold in make_folds(data, 4, random_state=3)]
    assert again == [fold.test.qids.tolist() for fold in folds]
    assert again != [fold.load().test.qids.tolist() for fold in make_folds(data, 4, random_state=4)]


@pytest.mark.parametrize("names", [("train", "vali", "test"), ("trainingset", "validationset", "testset")])
def test_a_folder_of_folds_is_the_same_as_the_folds(data: sr.Dataset, tmp_path: Path, names: Sequence[str]) -> None:
    from_folder = sr.cross_validate(letor_folder(data, tmp_path, names), RANKERS, ["ndcg@10", "map"], grid=GRID)
    made = sr.cross_validate(data, RANKERS, ["ndcg@10", "map"], grid=GRID, n_folds=3)
    assert str(from_folder) == str(made)
    assert [fold.name for fold in find_folds(tmp_path)] == ["Fold1", "Fold2", "Fold3"]
    assert len(find_folds(tmp_path / "Fold2")) == 1


def test_results_are_those_of_fit_predict_evaluate_and_compare(data: sr.Dataset) -> None:
    result = sr.cross_validate(data, RANKERS, ["ndcg@5", "map"], grid=GRID, n_folds=3)
    scores: dict[str, list[Any]] = {name: [] for name in RANKERS}
    tests = []
    for at, fold in enumerate(make_folds(data, 3, random_state=0)):
        train, vali, test = fold.load()
        tests.append(test)
        for name, prototype in RANKERS.items():
            best = max(
                (
                    type(prototype)(**{**prototype.get_params(), **candidate}).fit(train, valid=vali, metrics="ndcg@5")
                    for candidate in candidates(name, prototype, GRID)
                ),
                key=lambda ranker: sr.evaluate(vali, ranker.predict(vali), "ndcg@5")["ndcg@5"].mean,
            )
            measured = sr.evaluate(test, best.predict(test), "map")["map"].mean
            assert result.per_fold(name, "map")[at] == measured
            scores[name].append(best.predict(test))
            if name == "trees":
                assert result.folds[name][at].chosen == {"n_leaves": best.n_leaves}
    whole = sr.Dataset(
        np.concatenate([test.features for test in tests]),
        np.concatenate([test.labels for test in tests]),
        qid=np.concatenate([np.repeat(test.qids, np.diff(test.indptr)) for test in tests]),
    )
    pooled = sr.compare(whole, {name: np.concatenate(each) for name, each in scores.items()}, ["ndcg@5", "map"])
    assert result.comparison is not None
    assert str(result.comparison) == str(pooled)


@pytest.mark.slow
def test_a_finished_run_is_not_trained_again_and_a_grid_may_grow(
    data: sr.Dataset, tmp_path: Path, trainings: list[sr.Dataset]
) -> None:
    first = sr.cross_validate(data, RANKERS, grid=GRID, n_folds=3, output=tmp_path)
    assert len(trainings) == 3 * (2 + 1)
    again = sr.cross_validate(data, RANKERS, grid=GRID, n_folds=3, output=tmp_path)
    assert len(trainings) == 9
    assert str(again) == str(first) == (tmp_path / "results.txt").read_text().rstrip("\n")
    # More metrics need no training: only the first metric trains and selects.
    sr.cross_validate(data, RANKERS, ["ndcg@10", "err"], grid=GRID, n_folds=3, output=tmp_path)
    assert len(trainings) == 9
    grown = sr.cross_validate(data, RANKERS, grid={"trees.n_leaves": (3, 6, 9)}, n_folds=3, output=tmp_path)
    assert len(trainings) == 9 + 3
    assert str(grown) == str(sr.cross_validate(data, RANKERS, grid={"trees.n_leaves": (3, 6, 9)}, n_folds=3))


def test_a_grid_may_have_lists_and_its_parameters_of_the_ranker_do_not_matter(data: sr.Dataset, tmp_path: Path) -> None:
    grid = {"hidden": [[3], [2, 2]]}
    first = sr.cross_validate(data, sr.RankNet(n_epochs=1), grid=grid, n_folds=3, output=tmp_path)
    again = sr.cross_validate(data, sr.RankNet(n_epochs=1, hidden=(9,)), grid=grid, n_folds=3, output=tmp_path)
    assert str(again) == str(first)


@pytest.mark.parametrize("stop_at", [1, 2, 4, 7])
def test_an_interrupted_run_resumes(
    data: sr.Dataset, tmp_path: Path, trainings: list[sr.Dataset], stop_at: int
) -> None:
    def interrupt(progress: sr.rankers.Progress) -> None:
        if len(trainings) == stop_at and progress.round == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sr.cross_validate(data, RANKERS, grid=GRID, n_folds=3, output=tmp_path, callbacks=lambda title: [interrupt])
    assert len(trainings) == stop_at
    messages: list[str] = []
    resumed = sr.cross_validate(data, RANKERS, grid=GRID, n_folds=3, output=tmp_path, log=messages.append)
    # Only the interrupted training is repeated.
    assert len(trainings) == 9 + 1
    assert ("Fold1  trees  1 of 2 already trained" in messages) == (stop_at == 2)
    assert str(resumed) == str(sr.cross_validate(data, RANKERS, grid=GRID, n_folds=3))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rankers": {"trees": sr.LambdaMART(n_trees=5, min_docs_in_leaf=3)}}, "n_trees was 4, is now 5"),
        ({"rankers": {"trees": sr.MART(n_trees=4)}}, "ranker was lambdamart, is now mart"),
        ({"metrics": "map"}, "validation_metric was ndcg@10, is now map"),
        ({"random_state": 1}, "train was "),
        ({"grid": {"trees.n_leaves": (4,)}}, "grid was [{n_leaves:3},{n_leaves:6}], is now [{n_leaves:4}]"),
    ],
)  # fmt: skip
def test_a_changed_configuration_is_an_error(
    data: sr.Dataset, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    before: dict[str, Any] = dict(rankers={"trees": RANKERS["trees"]}, metrics="ndcg@10", grid=GRID, n_folds=3)
    sr.cross_validate(data, output=tmp_path, **before)
    with pytest.raises(sr.errors.DataError, match=r"trees\.json was saved with another configuration: ") as error:
        sr.cross_validate(data, output=tmp_path, **{**before, **changed})
    assert message in str(error.value)
    assert "delete this file to start over" in str(error.value)


def test_json_and_frames_have_every_number(data: sr.Dataset) -> None:
    result = sr.cross_validate(data, RANKERS, ["ndcg@5", "map"], grid=GRID, n_folds=3)
    plain = json.loads(result.to_json())
    assert plain["folds"] == ["Fold1", "Fold2", "Fold3"]
    row = next(row for row in plain["results"] if (row["ranker"], row["metric"]) == ("mart", "map"))
    assert row["mean_of_folds"] == result.mean("mart", "map")
    assert plain["differences"][0]["system"] == "mart"
    assert len(plain["chosen"][0]["tried"]) == 2
    assert len(result.to_frame()) == 2 * 2 * 3
    alone = sr.cross_validate(data, "linear_regression", n_folds=3)
    assert alone.comparison is None
    assert json.loads(alone.to_json())["differences"] == []


def test_a_metric_that_counts_no_query_is_null(data: sr.Dataset) -> None:
    result = sr.cross_validate(data, RANKERS, ["ndcg@10", "map(rel=99, empty=skip)"], n_folds=3)
    assert "0/0/0" in str(result)
    row = json.loads(result.to_json())["results"][1]
    assert row["mean_of_folds"] is row["low"] is row["per_fold"]["Fold1"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rankers": "lambdamrt"}, "there is no ranker 'lambdamrt'; did you mean 'lambdamart'?"),
        ({"rankers": "combination"}, "must be a ranker that learns from data; found Combination"),
        ({"rankers": [sr.MART(), sr.MART()]}, "two rankers are of the same kind"),
        ({"rankers": {}}, "needs at least one ranker"),
        ({"rankers": "mart", "grid": {"n_leafs": (3,)}}, "mart has no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        ({"rankers": "mart", "grid": {"mrt.n_leaves": (3,)}}, "there is no ranker 'mrt'; did you mean 'mart'?"),
        ({"rankers": "mart", "grid": {"n_leaves": 3}}, "grid of n_leaves must be a list of one or more values; found"),
        ({"rankers": "mart", "n_folds": 2}, "n_folds must be from 3 (to train, validate and test) to 45"),
        ({"rankers": "mart", "n_folds": 46}, "to 45, the number of queries; found 46"),
        ({"rankers": "mart", "baseline": "martt"}, "there is no ranker 'martt' to compare with; did you mean 'mart'?"),
        ({"rankers": "mart", "data": "nowhere.txt"}, "there is no file nowhere.txt"),
        ({"rankers": {"a/b": sr.MART()}, "output": "out"}, "'a/b' cannot be used as a file name"),
    ],
)  # fmt: skip
def test_bad_arguments_are_reported(
    data: sr.Dataset, arguments: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sr.errors.SwaprankError) as error:
        sr.cross_validate(**{"data": data, **arguments})
    assert message in str(error.value)


def test_too_few_queries_are_reported(data: sr.Dataset) -> None:
    with pytest.raises(
        sr.errors.DataError, match="folds need at least 3 queries, to train, validate and test; found 2"
    ):
        make_folds(data.subset([0, 1]), 3)


def test_bad_fold_folders_are_reported(data: sr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.DataError, match="no folders Fold1, Fold2"):
        find_folds(tmp_path)
    folder = letor_folder(data, tmp_path)
    with pytest.raises(sr.errors.DataError, match="n_folds is for a single file"):
        sr.cross_validate(folder, "mart", n_folds=3)
    (folder / "Fold2" / "vali.txt.gz").rename(folder / "Fold2" / "validation.csv")
    assert len(find_folds(folder)) == 3
    (folder / "Fold2" / "vali.txt").write_text("")
    with pytest.raises(sr.errors.DataError, match=r"Fold2 has both vali.txt and validation.csv"):
        find_folds(folder)
    for name in ("vali.txt", "validation.csv"):
        (folder / "Fold2" / name).unlink()
    with pytest.raises(sr.errors.DataError, match=r"Fold2 has no vali.txt"):
        find_folds(folder)


def test_grids_from_text() -> None:
    kinds = {"a": "lambdamart", "b": "lambdarank"}
    assert parse_grid(["learning_rate=0.1,0.01", "b.activation=tanh,relu"], kinds) == {
        "learning_rate": [0.1, 0.01],
        "b.activation": ["tanh", "relu"],
    }
    assert parse_grid(["horizon=none,5"], kinds) == {"horizon": [None, 5]}
    # Names of other libraries, where the meaning is the same.
    assert candidates("a", sr.LambdaMART(), parse_grid(["num_leaves=7,15"], kinds)) == [
        {"n_leaves": 7},
        {"n_leaves": 15},
    ]
    for text, message in (
        ("n_leaves", "write a grid as name=value,value, found 'n_leaves'"),
        ("a.hidden=(5,)", "a has no parameter 'hidden'"),
        ("c.hidden=(5,)", "'c.hidden': there is no ranker 'c'"),
    ):
        with pytest.raises(sr.errors.ParameterError) as error:
            parse_grid([text], kinds)
        assert message in str(error.value)


def test_segments_are_those_of_the_test_queries_of_all_folds(data: sr.Dataset) -> None:
    devices = np.array(["phone", "tv", "web"])[np.arange(data.n_queries) % 3]
    with_devices = data.replace(columns={"device": np.repeat(devices, np.diff(data.indptr))})
    found = sr.cross_validate(with_devices, RANKERS, "ndcg@10", n_folds=3, by="device", n_resamples=100)
    assert isinstance(found.segments, sr.evaluation.SegmentComparison)
    assert found.comparison is not None
    assert found.segments.whole.to_dict() == found.comparison.to_dict()
    device_of = dict(zip(data.qids.tolist(), devices, strict=True))
    for name, evaluation in found.evaluations.items():
        of_query = np.array([device_of[qid] for qid in evaluation.qids.tolist()])
        for segment in ("phone", "tv", "web"):
            mean = evaluation["ndcg@10"].per_query[of_query == segment].mean()
            assert found.segments.evaluations[name][segment]["ndcg@10"].mean == pytest.approx(mean)
    assert "by device:" in str(found)
    assert len(json.loads(found.to_json())["segments"]["differences"]) == 4


def test_ranges_of_one_ranker_are_made_of_all_folds(data: sr.Dataset) -> None:
    found = sr.cross_validate(data, {"mart": RANKERS["mart"]}, n_folds=3, by="n_relevant")
    assert isinstance(found.segments, sr.evaluation.SegmentEvaluation)
    assert list(found.segments) == list(sr.evaluate(data, "1", "ndcg@10", by="n_relevant"))
    assert sum(len(found.segments[name].qids) for name in found.segments) == data.n_queries
