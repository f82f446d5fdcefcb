"""Cross-validation and tuning on data in parts, and on bins."""

from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.folds import make_folds


@pytest.fixture(scope="module")
def data() -> sr.Dataset:
    return sr.datasets.random_search((60,), n_documents=10, random_state=0)[0]


def in_parts(data: sr.Dataset, folder: Path, *, bins: bool = False) -> sr.Parts:
    folder.mkdir()
    for number in range(3):
        part = data.subset(slice(20 * number, 20 * number + 20))
        if bins:
            part.save_bins(folder / f"{number}.bins")
        else:
            sr.write_letor(part, folder / f"{number}.txt")
    return sr.Parts.read(folder)


def ranker() -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=5, n_leaves=5)


def test_cross_validation_on_parts_is_that_on_the_whole_data(data: sr.Dataset, tmp_path: Path) -> None:
    whole = sr.cross_validate(data, ranker(), n_folds=3)
    again = sr.cross_validate(in_parts(data, tmp_path / "parts"), ranker(), n_folds=3)
    assert str(again.table("ndcg@10")) == str(whole.table("ndcg@10"))
    binned = data.binned()
    on_bins = sr.cross_validate(binned, ranker(), n_folds=3)
    bins = sr.cross_validate(in_parts(binned, tmp_path / "bins", bins=True), ranker(), n_folds=3)
    assert str(bins.table("ndcg@10")) == str(on_bins.table("ndcg@10"))


def test_cuts_of_values_come_from_the_training_queries_and_those_of_bins_from_all(data: sr.Dataset) -> None:
    binned = data.binned()
    for at in range(3):
        values, bins = make_folds(data, 3)[at].load(), make_folds(binned, 3)[at].load()
        of_values, of_bins = (ranker().fit(fold.train, valid=fold.vali).trees_ for fold in (values, bins))
        own = values.train.binned()
        for trees, like in ((of_values, own), (of_bins, binned)):
            for feature, threshold in zip(trees.feature, trees.threshold, strict=True):
                assert np.isin(threshold, like.stored.cuts.values[feature])  # type: ignore[attr-defined]
        assert not np.isin(of_values.threshold, binned.stored.cuts.values).all()  # type: ignore[attr-defined]


def test_tuning_on_parts_is_that_on_the_whole_data(data: sr.Dataset, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    (vali,) = sr.datasets.random_search((20,), n_documents=10, random_state=1)
    ranges, parts = {"n_leaves": (3, 9)}, in_parts(data, tmp_path / "train")
    whole = sr.tune(data, vali, ranker(), ranges=ranges, n_trials=3).best
    again = sr.tune(parts, sr.Parts([vali]), ranker(), ranges=ranges, n_trials=3).best
    assert (whole.value, whole.parameters) == (again.value, again.parameters)
