"""What was learned is one value: a new field of it is one line, and model files have it."""

import pickle
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import swaprank as sr
from swaprank.rankers import saving
from swaprank.rankers.learned import Learned, _saved

TRAIN, VALI = sr.datasets.random_net((20, 10), n_features=3, n_documents=10, random_state=0)


@dataclass(frozen=True)
class LearnedMore(Learned):  # type: ignore[misc]
    weather: str = _saved(str, "")


def test_a_new_field_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(saving, "Learned", LearnedMore)
    ranker = sr.MART(n_trees=2).fit(TRAIN)
    ranker.learned_ = LearnedMore(**vars(ranker.learned_), weather="fair")
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank").learned_
    assert isinstance(again, LearnedMore)
    assert again.weather == "fair"


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    ranker = sr.LambdaMART(n_trees=3, sigma=2.0, random_state=np.random.default_rng(0)).fit(TRAIN, valid=VALI)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank").learned_
    for each in fields(Learned):
        if each.name != "model":
            assert getattr(again, each.name) == getattr(ranker.learned_, each.name), each.name
    assert again.sigma == 2.0
    assert again.seed == ranker.random_state_


def test_before_training_there_is_nothing() -> None:
    ranker = sr.LambdaMART()
    for name in ("learned_", "model_", "history_", "n_features_in_", "chosen_"):
        assert not hasattr(ranker, name)
        with pytest.raises(NotFittedError, match="this LambdaMART has not been fitted: call fit first"):
            getattr(ranker, name)
    with pytest.raises(NotFittedError):
        check_is_fitted(ranker)
    check_is_fitted(ranker.set_params(n_trees=1).fit(TRAIN))


def test_it_changes_as_a_whole() -> None:
    ranker = sr.MART(n_trees=2).fit(TRAIN)
    with pytest.raises(AttributeError, match=r"set learned_ = dataclasses.replace\(learned_, history=…\) instead"):
        ranker.history_ = {}
    ranker.learned_ = replace(ranker.learned_, history={})
    assert ranker.history_ == {}


def test_copies_keep_it() -> None:
    ranker = sr.LambdaRank(n_epochs=2).fit(TRAIN)
    for again in (deepcopy(ranker), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(again.predict(VALI), ranker.predict(VALI))
