"""Training that goes on from a checkpoint ends with the same bytes as if nothing had happened."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.rankers.test_worker_shares import RANKERS, TRAIN, VALI, saved, trained


class CrashError(Exception):
    pass


def crash_at(number: int) -> Any:
    def callback(progress: sr.rankers.Progress) -> None:
        if progress.round == number:
            raise CrashError

    return callback


def crashed(name: str, path: Path, at: int, every: int = 2, **changes: Any) -> None:
    ranker = RANKERS[name]().set_params(**changes)
    with pytest.raises(CrashError):
        ranker.fit(TRAIN, valid=VALI, checkpoint=path, checkpoint_every=every, callbacks=[crash_at(at)])


def fit(name: str, path: Path, **changes: Any) -> Any:
    return RANKERS[name]().set_params(**changes).fit(TRAIN, valid=VALI, checkpoint=path, checkpoint_every=2)


@pytest.mark.parametrize("name", ["ndcg@10", "sampled", "monotone", "least squares", "balanced", "forest"])
def test_going_on_gives_the_same_model(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    whole = saved(RANKERS[name]().fit(TRAIN, valid=VALI), tmp_path)
    crashed(name, path, 3)
    first = path.read_bytes()
    rounds: list[int] = []
    ranker = RANKERS[name]().fit(
        TRAIN,
        valid=VALI,
        checkpoint=path,
        checkpoint_every=2,
        callbacks=[lambda progress: rounds.append(progress.round)],
    )
    assert rounds[0] == 3
    assert saved(ranker, tmp_path) == whole
    assert path.read_bytes() != first
    assert saved(fit(name, path), tmp_path) == whole  # nothing is left to do


def test_workers_go_on_where_one_process_stopped_and_the_other_way_round(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    whole = saved(RANKERS["ndcg@10"]().fit(TRAIN, valid=VALI), tmp_path)
    crashed("ndcg@10", path, 3)
    for ranker in trained("ndcg@10", 3, checkpoint=path, checkpoint_every=5):
        assert saved(ranker, tmp_path) == whole
    path.unlink()
    trained("ndcg@10", 2, checkpoint=path, checkpoint_every=5)
    assert saved(fit("ndcg@10", path), tmp_path) == whole


def test_more_trees_may_follow(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    whole = saved(RANKERS["MART"]().fit(TRAIN, valid=VALI), tmp_path)
    fit("MART", path, n_trees=4)
    assert saved(fit("MART", path), tmp_path) == whole
    assert fit("MART", path, n_trees=3).n_rounds_ == 3


def test_more_trees_that_grow_in_another_way_are_refused(tmp_path: Path) -> None:
    data, path = sr.datasets.random_search((40,), n_documents=12, random_state=0)[0], tmp_path / "run"
    sr.LambdaMART(n_trees=45, n_leaves=5).fit(data, checkpoint=path)
    with pytest.raises(sr.errors.DataError, match="grow_policy was leafwise, is now symmetric; max_depth was 4"):
        sr.LambdaMART(n_trees=55, n_leaves=5).fit(data, checkpoint=path)
    chosen = sr.LambdaMART(n_trees=55, n_leaves=5, grow_policy="leafwise")
    alone = saved(chosen.fit(data), tmp_path)
    assert saved(chosen.fit(data, checkpoint=path), tmp_path) == alone


def test_another_watched_set_is_refused(tmp_path: Path) -> None:
    sets, path = {"one": VALI.subset(slice(20)), "two": VALI.subset(slice(20, 40))}, tmp_path / "run"
    RANKERS["MART"]().set_params(n_trees=3).fit(TRAIN, valid=sets, checkpoint=path)
    with pytest.raises(sr.errors.DataError, match=r"watched was ndcg@\d+on.?two, is now ndcg@\d+on.?one\. "):
        RANKERS["MART"]().fit(TRAIN, valid={"two": sets["two"], "one": sets["one"]}, checkpoint=path)


def test_training_continues_from_a_base_ranker_and_a_checkpoint(tmp_path: Path) -> None:
    base = sr.MART(n_trees=3, n_leaves=5).fit(TRAIN)
    path = tmp_path / "run.checkpoint"
    whole = saved(RANKERS["ndcg@10"]().fit(TRAIN, valid=VALI, base_ranker=base), tmp_path)
    with pytest.raises(CrashError):
        RANKERS["ndcg@10"]().fit(
            TRAIN, valid=VALI, base_ranker=base, checkpoint=path, checkpoint_every=2, callbacks=[crash_at(4)]
        )
    assert saved(RANKERS["ndcg@10"]().fit(TRAIN, valid=VALI, base_ranker=base, checkpoint=path), tmp_path) == whole
    with pytest.raises(
        sr.errors.DataError, match=r"run\.checkpoint was saved with another configuration: base_ranker was"
    ):
        fit("ndcg@10", path)


def test_another_training_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    crashed("MART", path, 3)
    with pytest.raises(sr.errors.DataError, match=r"n_leaves was 9, is now 8\. Restore these values to resume, or"):
        fit("MART", path, n_leaves=8)
    with pytest.raises(sr.errors.DataError, match="queries of train was 90, is now 80"):
        RANKERS["MART"]().fit(TRAIN.subset(np.arange(80)), valid=VALI, checkpoint=path)
    with pytest.raises(sr.errors.DataError, match="queries of valid was 40, is now 30"):
        RANKERS["MART"]().fit(TRAIN, valid=VALI.subset(np.arange(30)), checkpoint=path)


def refused(path: Path, what: str, train: sr.Dataset = TRAIN, valid: sr.Dataset = VALI) -> None:
    with pytest.raises(sr.errors.DataError, match=rf"run was saved with another configuration: {what} was [^;]*$"):
        RANKERS["MART"]().fit(train, valid=valid, checkpoint=path)


def test_a_checkpoint_knows_its_data(tmp_path: Path) -> None:
    """All changes leave the cuts of all features, and the labels of all documents together, as they are."""
    path = tmp_path / "run"
    crashed("MART", path, 3)
    numbers = [at for at, name in enumerate(TRAIN.feature_names) if name not in TRAIN.categories]
    for data, of_set in ((TRAIN, "train"), (VALI, "valid")):
        changed = np.array(data.features)
        changed[np.ix_([0, 1], numbers)] = changed[np.ix_([1, 0], numbers)]
        refused(path, f"features of {of_set}", **{of_set: data.replace(features=changed)})
        labels = np.array(data.labels)
        one, other = int(np.argmax(labels == 0)), int(np.argmax(labels == 1))
        labels[[one, other]] = labels[[other, one]]
        # The bins of many categories are made of labels.
        refused(
            path,
            rf"(?:features of train was \w*, is now \w*; )?labels of {of_set}",
            **{of_set: data.replace(labels=labels)},
        )
        weights = np.array(data.sample_weight)
        refused(path, f"sample_weight of {of_set}", **{of_set: data.replace(sample_weight=weights[::-1])})
    refused(path, "scores at the start of valid", valid=VALI.replace(base_score=VALI.labels))
    # Two columns of the same values, in another order of the rows, have the same cuts.
    doubled = [np.column_stack((data.features[:, numbers], data.features[::-1, numbers])) for data in (TRAIN, VALI)]
    n = len(numbers)
    train, valid = (
        sr.Dataset(X, data.labels, qid=np.repeat(np.arange(data.n_queries), 30))
        for X, data in zip(doubled, (TRAIN, VALI), strict=True)
    )
    path.unlink()
    RANKERS["MART"]().set_params(n_trees=3).fit(train, valid=valid, checkpoint=path)
    permuted = np.concatenate((train.features[:, n:], train.features[:, :n]), axis=1)
    refused(path, "features of train", train.replace(features=permuted), valid)
    columns = {"price": np.arange(len(train))}
    refused(path, "column 'price' of train", train.replace(columns=columns), valid)
    refused(path, "pairs of train", train.replace(pairs=[(0, 1)]), valid)


def test_a_checkpoint_of_values_goes_on_with_bins(tmp_path: Path) -> None:
    path, binned = tmp_path / "run", TRAIN.binned()
    whole = saved(RANKERS["MART"]().fit(TRAIN, valid=VALI), tmp_path)
    crashed("MART", path, 3)
    rounds: list[int] = []
    ranker = RANKERS["MART"]().fit(
        binned, valid=VALI.binned(like=binned), checkpoint=path, callbacks=[lambda each: rounds.append(each.round)]
    )
    assert rounds == [3, 4, 5, 6]
    assert saved(ranker, tmp_path) == whole


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "model.swaprank"
    sr.MART(n_trees=1).fit(TRAIN).save(path)
    with pytest.raises(sr.errors.DataError, match=r"model\.swaprank is a model \(mart\), not a checkpoint: choose an"):
        fit("MART", path)
    path.write_text("1 qid:1 1:0.5\n")
    with pytest.raises(sr.errors.DataError, match=r"is there already, and is no checkpoint: choose another file\."):
        fit("MART", path)
    crashed("MART", path.with_name("run"), 3)
    content = path.with_name("run").read_bytes()
    path.with_name("run").write_bytes(content[:-100])
    with pytest.raises(sr.errors.ModelFileError, match=r"it is truncated: .* Delete it to start over\."):
        fit("MART", path.with_name("run"))
    path.with_name("run").write_bytes(b"")
    with pytest.raises(sr.errors.ModelFileError, match=r"run: the checkpoint is empty, .* Delete it to start over\."):
        fit("MART", path.with_name("run"))
    path.with_name("run").write_bytes(content)
    with pytest.raises(sr.errors.ModelFileError, match="it is a checkpoint of a training"):
        sr.load(path.with_name("run"))


def test_only_trees_have_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ParameterError, match="RankNet has no checkpoints: LambdaMART, MART"):
        sr.RankNet().fit(sr.datasets.random_net((5,), n_features=2)[0], checkpoint=tmp_path / "run")
    with pytest.raises(sr.errors.ParameterError, match="checkpoint_every must be"):
        sr.MART().fit(TRAIN, checkpoint=tmp_path / "run", checkpoint_every=0)
