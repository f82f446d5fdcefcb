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


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "model.swaprank"
    sr.MART(n_trees=1).fit(TRAIN).save(path)
    with pytest.raises(sr.errors.ModelFileError, match=r"model\.swaprank: this is a model \(mart\), not a checkpoint."):
        fit("MART", path)
    crashed("MART", path.with_name("run"), 3)
    content = path.with_name("run").read_bytes()
    path.with_name("run").write_bytes(content[:-100])
    with pytest.raises(sr.errors.ModelFileError, match=r"it is truncated: .* Delete it to start over\."):
        fit("MART", path.with_name("run"))
    path.with_name("run").write_bytes(content)
    with pytest.raises(sr.errors.ModelFileError, match="it is a checkpoint of a training"):
        sr.load(path.with_name("run"))


def test_only_trees_have_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ParameterError, match="RankNet has no checkpoints: LambdaMART, MART"):
        sr.RankNet().fit(sr.datasets.random_net((5,), n_features=2)[0], checkpoint=tmp_path / "run")
    with pytest.raises(sr.errors.ParameterError, match="checkpoint_every must be"):
        sr.MART().fit(TRAIN, checkpoint=tmp_path / "run", checkpoint_every=0)
