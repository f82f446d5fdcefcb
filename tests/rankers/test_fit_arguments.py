"""Arguments of `fit`: our own, those of LightGBM and XGBoost, and what to do instead of others of theirs."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.data.grouping import query_of_row
from swaprank.registry import RANKERS, ranker_class

TRAIN, VALI = sr.datasets.random_net((30, 20), n_features=4, n_documents=8, random_state=0)
X, Y, QID = TRAIN.features, TRAIN.labels, np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
VX, VY, VQID = VALI.features, VALI.labels, np.repeat(VALI.qids, np.diff(VALI.indptr))
SIZES, VSIZES = np.diff(TRAIN.indptr), np.diff(VALI.indptr)


def small(**parameters: Any) -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=6, n_leaves=5, **parameters)


def same(ranker: sr.Ranker, expected: sr.Ranker) -> None:
    np.testing.assert_array_equal(ranker.predict(VX), expected.predict(VX))


def test_group_sizes_are_as_good_as_query_ids() -> None:
    expected = small().fit(TRAIN)
    for sizes in (SIZES, SIZES.tolist(), np.concatenate(([0], SIZES))):
        same(small().fit(X, Y, group=sizes), expected)
    assert expected.score(VX, VY, group=VSIZES) == expected.score(VALI)


def test_the_call_of_lightgbm_and_pyterrier() -> None:
    expected = small(early_stopping_rounds=2).fit(TRAIN, valid={"valid_0": TRAIN, "valid_1": VALI})
    sets: dict[str, Any] = {"eval_set": [(X, Y), (VX, VY)]}
    by_group = small(early_stopping_rounds=2).fit(X, Y, group=SIZES, eval_group=[SIZES, VSIZES], **sets)
    by_qid = small(early_stopping_rounds=2).fit(X, Y, qid=QID, eval_qid=[QID, VQID], **sets)
    assert by_group.history_ == by_qid.history_ == expected.history_
    same(by_group, expected)
    one = small().fit(X, Y, group=SIZES, eval_set=(VX, VY), eval_group=[VSIZES])
    assert list(one.history_) == ["valid_0"]


def test_validation_data_as_a_tuple() -> None:
    expected = small().fit(TRAIN, valid=VALI).history_
    assert small().fit(X, Y, qid=QID, valid=(VX, VY, VQID)).history_ == expected
    by_name = small().fit(X, Y, qid=QID, valid={"a": (VX, VY, VQID), "b": VALI}).history_
    assert by_name == {"a": expected["valid"], "b": expected["valid"]}


def test_query_weights_are_weights_of_all_rows_of_a_query() -> None:
    of_queries = np.linspace(0.5, 2, TRAIN.n_queries)
    of_rows = of_queries[query_of_row(TRAIN.indptr)]
    expected = small().fit(X, Y, qid=QID, sample_weight=of_rows)
    same(small().fit(X, Y, qid=QID, query_weight=of_queries), expected)
    same(small().fit(X, Y, qid=QID, query_weight=dict(zip(TRAIN.qids.tolist(), of_queries, strict=True))), expected)
    same(small().fit(X, Y, qid=QID, query_weight=of_queries, sample_weight=np.full(len(Y), 1.0)), expected)
    order = np.random.default_rng(0).permutation(len(Y))
    shuffled = sr.Dataset(X[order], Y[order], qid=QID[order], query_weight=dict.fromkeys(TRAIN.qids.tolist(), 2.0))
    assert shuffled.sample_weight is not None
    assert set(shuffled.sample_weight.tolist()) == {2.0}


def test_base_scores_of_fit_are_those_of_a_data_set() -> None:
    base = X[:, 0].astype(np.float64)
    expected = small().fit(sr.Dataset(X, Y, qid=QID, base_score=base))
    same(small().fit(X, Y, qid=QID, base_score=base), expected)
    assert (expected.predict(VX) != small().fit(TRAIN).predict(VX)).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(X=X, y=Y), "query ids are missing"),
        (dict(X=X, y=Y, qid=QID, group=SIZES), "give qid, one query id per row, or group"),
        (dict(X=X, y=Y, group=SIZES[:-1]), "the sizes in group sum to 232, but X has 240 rows"),
        (dict(X=X, y=Y, group=[1.5, 2]), "group must hold the number of rows of each query"),
        (dict(X=TRAIN, group=SIZES, sample_weight=Y), "give it without group, sample_weight"),
        (dict(X=X, y=Y, qid=QID, sample_weight=np.ones(30)), "one per query, but X has 240 rows: give them as query_w"),
        (dict(X=X, y=Y, qid=QID, query_weight=np.ones(3)), "one value per query: 30, found 3"),
        (dict(X=X, y=Y, qid=QID, query_weight={1: 1.0}), "query_weight has no weight of the query"),
        (dict(X=X, y=Y, qid=QID, query_weight=-np.ones(30)), "query_weight, query 0: -1.0 is negative"),
        (dict(X=X, y=Y, qid=QID, sample_weight=np.zeros(240)), "all weights are zero"),
        (dict(X=TRAIN, valid=VALI, eval_set=[(VX, VY)]), "as valid or as eval_set, not as both"),
        (dict(X=TRAIN, eval_set=[(VX, VY)]), "eval_group must be a list with the group sizes of each pair"),
        (dict(X=TRAIN, eval_set=[(VX, VY)], eval_group=10), "of each pair in eval_set, 1 in all; found 10"),
        (dict(X=TRAIN, eval_group=[VSIZES]), "eval_group and eval_qid belong to eval_set, which is missing"),
        (dict(X=TRAIN, valid=VX), "the set 'valid' must be a Dataset or a tuple"),
    ],
)  # fmt: skip
def test_bad_arguments_are_explained(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        small().fit(**arguments)


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("subsample", "in swaprank: query_fraction or document_fraction."),
        ("gamma", "in swaprank: min_gain, which is twice XGBoost's gamma for rank: objectives."),
        ("reg_alpha", "in swaprank: not available; l2 is."),
        ("eval_set", "in swaprank: fit"),
        ("label_gain", r"in swaprank: metric='ndcg@10\(gain=0/1/3/7\)'"),
        ("feval", r"in swaprank: fit\(metrics="),
        ("cat_smooth", "in swaprank: not available; leaf_smoothing"),
        ("extra_trees", "in swaprank: not available; split_noise"),
        ("max_position", "in swaprank: horizon."),
        ("feature_fraction_seed", "in swaprank: random_state."),
        ("n_leafs", "did you mean 'n_leaves'"),
    ],
)
def test_parameters_of_others_that_mean_something_else_are_explained(keyword: str, hint: str) -> None:
    with pytest.raises(sr.errors.ArgumentError, match=f"LambdaMART has no argument '{keyword}'; {hint}"):
        sr.LambdaMART(**dict[str, Any]({keyword: 1}))
    with pytest.raises(TypeError, match=hint):
        sr.LambdaMART().set_params(**{keyword: 1})


def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(sr.errors.ArgumentError) as caught:
        sr.LambdaMART(subsample=0.5, n_leafs=3, num_leaves=7)  # type: ignore[call-arg]
    assert str(caught.value) == (
        "LambdaMART has no argument 'subsample'; in swaprank: query_fraction or document_fraction. It has no argument "
        "'n_leafs'; did you mean 'n_leaves'?"
    )


@pytest.mark.parametrize(
    ("keyword", "ours"),
    [
        ("num_leaves", "n_leaves"),
        ("n_estimators", "n_trees"),
        ("num_iterations", "n_trees"),
        ("eta", "learning_rate"),
        ("min_child_samples", "min_docs_in_leaf"),
        ("reg_lambda", "l2"),
        ("colsample_bytree", "feature_fraction"),
        ("seed", "random_state"),
        ("n_jobs", "n_threads"),
        ("lambdarank_norm", "normalize"),
        ("early_stopping_round", "early_stopping_rounds"),
    ],
)
def test_names_of_others_for_the_same_thing_are_accepted(keyword: str, ours: str) -> None:
    ranker = sr.LambdaMART(**dict[str, Any]({keyword: 2}))
    assert getattr(ranker, ours) == 2
    assert getattr(sr.LambdaMART().set_params(**{keyword: 2}), ours) == 2
    assert ranker.get_params()[ours] == 2
    assert keyword not in ranker.get_params()
    with pytest.raises(sr.errors.ParameterError, match=f"{keyword} and {ours} are both {ours}: give one of them"):
        sr.LambdaMART(**dict[str, Any]({keyword: 2, ours: 3}))


def test_all_cores_by_the_number_of_scikit_learn() -> None:
    assert sr.LambdaMART(n_jobs=-1).n_threads is None  # type: ignore[call-arg]


def test_only_the_metric_is_given_by_position() -> None:
    for kind in RANKERS:
        assert ranker_class(kind)("map").metric == "map"
        with pytest.raises(TypeError, match="takes only metric by position"):
            ranker_class(kind)("map", 3)  # type: ignore[call-arg]


def test_arguments_of_fit_of_others_are_explained() -> None:
    with pytest.raises(sr.errors.ArgumentError, match="fit has no argument 'init_score'; in swaprank: base_score"):
        small().fit(TRAIN, init_score=Y)
    with pytest.raises(sr.errors.ArgumentError, match="fit has no argument 'metrik'; did you mean 'metrics'"):
        small().fit(TRAIN, metrik="map")


@pytest.mark.parametrize("answer", [True, 1, np.True_, "stop"])
def test_callbacks_stop_on_anything_true(answer: Any) -> None:
    assert small().fit(TRAIN, callbacks=[lambda progress: progress.round == 2 and answer]).n_trees_ == 2
    assert small().fit(TRAIN, callbacks=[lambda progress: None, lambda progress: 0]).n_trees_ == 6


def test_progress_is_silent_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    small().fit(TRAIN, valid=VALI)
    small().fit(TRAIN, valid=VALI, verbose=-1)
    assert capfd.readouterr() == ("", "")
    ranker = small().fit(TRAIN, valid=VALI, verbose=4)
    out, err = capfd.readouterr()
    values = ranker.history_["valid"]["ndcg@10"]
    assert out == ""
    assert err == f"tree 4 of 6  valid ndcg@10 {values[3]:.4f}\ntree 6 of 6  valid ndcg@10 {values[5]:.4f}\n"
    small().fit(TRAIN, verbose=True)
    assert capfd.readouterr().err.splitlines()[-1] == "tree 6 of 6"


def test_progress_in_a_notebook_is_one_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []

    def display(content: dict[str, str], **options: Any) -> Any:
        assert options == {"raw": True, "display_id": True}
        shown.append(content)
        return SimpleNamespace(update=lambda content, raw: shown.append(content))

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    ranker = small().fit(TRAIN, valid={"<b>": VALI}, verbose=True)
    assert len(shown) == ranker.n_rounds_ + 1  # and the end
    assert shown[-1]["text/plain"].startswith("6 of 6  <b> ndcg@10 0.")
    assert shown[-2]["text/html"].startswith('<progress value="6" max="6"></progress> <code>6 of 6  &lt;b&gt; ndcg@10')
    assert shown[-1]["text/html"].startswith("<code>6 of 6  &lt;b&gt; ndcg@10")


def test_arguments_of_fit_that_belong_to_the_ranker_or_the_data() -> None:
    with pytest.raises(sr.errors.ArgumentError, match=r"in swaprank: LambdaMART\(early_stopping_rounds=…\)"):
        small().fit(TRAIN, early_stopping_rounds=3)
    with pytest.raises(sr.errors.ArgumentError, match=r"in swaprank: LambdaMART\(n_leaves=…\)"):
        small().fit(TRAIN, num_leaves=3)
    with pytest.raises(sr.errors.ArgumentError, match="Dataset has no argument 'label'; in swaprank: y"):
        sr.Dataset(X, label=Y, group=SIZES)
    with pytest.raises(
        sr.errors.ArgumentError, match="Dataset has no argument 'weight'; in swaprank: sample_weight or query_"
    ):
        sr.Dataset(X, Y, group=SIZES, weight=Y)
    with pytest.raises(sr.errors.DataError, match="y is missing"):
        sr.Dataset(X, qid=QID)


def test_query_weights_as_a_series_are_by_query_id() -> None:
    qid = np.repeat(["z", "a"], 4)
    by_id = pd.Series({"a": 0.0, "z": 1.0})
    for weights in (by_id, by_id.to_dict(), pd.Series([1.0, 0.0])):
        data = sr.Dataset(np.zeros((8, 1)), [0, 1] * 4, qid=qid, query_weight=weights)
        assert data.sample_weight is not None
        assert data.sample_weight.tolist() == [1.0] * 4 + [0.0] * 4
    with pytest.raises(sr.errors.DataError, match="query_weight has no weight of the query 'z'"):
        sr.Dataset(np.zeros((8, 1)), [0, 1] * 4, qid=qid, query_weight=by_id[["a"]])


def test_sets_of_eval_set_may_be_data_sets() -> None:
    sets: list[Any] = [TRAIN, (VX, VY, VQID), (VX, VY)]
    history = small().fit(TRAIN, eval_set=sets, eval_group=[VSIZES]).history_
    assert history["valid_1"] == history["valid_2"] == small().fit(TRAIN, valid=VALI).history_["valid"]
    with pytest.raises(sr.errors.DataError, match="give eval_group or eval_qid, not both"):
        small().fit(TRAIN, eval_set=[(VX, VY)], eval_group=[VSIZES], eval_qid=[VQID])
    with pytest.raises(sr.errors.DataError, match=r"eval_set must be a list of tuples \(X, y\), found int"):
        small().fit(TRAIN, eval_set=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(callbacks=[3]), "callbacks must be functions of a Progress"),
        (dict(callbacks=3), "callbacks must be functions of a Progress"),
        (dict(verbose="x"), "verbose must be True, False or a number of rounds"),
        (dict(metrics=5), "a metric is a name or a Metric|5"),
    ],
)
def test_wrong_kinds_of_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.SwaprankError, match=message):
        small().fit(TRAIN, **arguments)


def test_one_callback_needs_no_list() -> None:
    stop: Any = lambda progress: progress.round == 2  # noqa: E731
    assert small().fit(TRAIN, callbacks=stop).n_trees_ == 2
    assert small().fit(TRAIN, callbacks=None).n_trees_ == 6  # type: ignore[arg-type]


def test_a_validation_set_without_base_scores_is_told() -> None:
    base = np.zeros(len(Y))
    with pytest.warns(UserWarning, match="the training data has base scores, but a validation set has none"):
        small().fit(X, Y, qid=QID, base_score=base, valid=VALI)
    ranker = small().fit(X, Y, qid=QID, base_score=base)
    data = sr.Dataset(VX, VY, qid=VQID, base_score=VX[:, 0])
    assert ranker.score(VX, VY, qid=VQID, base_score=VX[:, 0]) == ranker.score(data)


@pytest.mark.parametrize("n_trees", [1.5, True, "3", 7, -1])
def test_a_number_of_trees_is_checked(n_trees: Any) -> None:
    with pytest.raises(sr.errors.ParameterError, match="n_trees must be from 0 to 6; found"):
        small().fit(TRAIN).predict(VX, n_trees=n_trees)


def test_progress_of_a_ranker_without_rounds() -> None:
    members = small().fit(TRAIN), sr.MART(n_trees=2).fit(TRAIN)
    assert sr.ensembles.Combination(members=members).fit(VALI, verbose=True).alpha_ >= 0


def test_swapped_arguments_are_told() -> None:
    swapped: Any = sr.cross_validate
    with pytest.raises(sr.errors.SwaprankError, match="cross_validate takes the data, then rankers"):
        swapped(small(), TRAIN)
    with pytest.raises(sr.errors.DataError, match="cross_validate takes a Dataset, a file or a folder; found ndarray"):
        swapped(X, small())
    stacked: Any = sr.stack
    with pytest.raises(sr.errors.ParameterError, match="members must be 2 or more fitted rankers"):
        stacked(small().fit(TRAIN), VALI)


def test_arguments_of_predict_of_others_are_explained() -> None:
    ranker: Any = small().fit(TRAIN)
    for keyword, hint in (("num_iteration", r"predict\(X, n_trees=50\)"), ("pred_contrib", r"contributions\(X\)")):
        with pytest.raises(sr.errors.ArgumentError, match=f"predict has no argument '{keyword}'; in swaprank: {hint}"):
            ranker.predict(VX, **{keyword: 1})


def test_a_cluster_that_cannot_be_used_is_refused() -> None:
    from swaprank.cluster import Dask

    parts = sr.Parts([TRAIN])
    with pytest.raises(sr.errors.ParameterError, match=r"such as swaprank\.cluster\.Dask\(client\); found str\."):
        small().fit(parts, cluster="scheduler:8786")  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="but the data is in this process: divide it"):
        small().fit(TRAIN, cluster=Dask())
    with pytest.raises(sr.errors.ParameterError, match=r"client must be a client of Dask, .* found str"):
        Dask("scheduler:8786")
    closed = SimpleNamespace(status="closed", scheduler_info=dict)
    with pytest.raises(sr.errors.ClusterError, match="the Dask client was closed: connect again"):
        small().fit(parts, cluster=Dask(closed))


@pytest.mark.parametrize("silence", [0, -1.0, float("nan"), float("inf"), 1e12, "60", None])
def test_a_silence_that_nobody_can_wait_for_is_refused(silence: Any) -> None:
    from swaprank.cluster import Dask

    with pytest.raises(sr.errors.ParameterError, match=r"silence must be a number of seconds above 0, .* found "):
        Dask(silence=silence)
