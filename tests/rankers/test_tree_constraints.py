"""Constraints as parameters: what is refused, and that they are kept in files and taken from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import swaprank as sr
from swaprank.registry import make_ranker
from tests.trees.categorical_data import categorical

DATA = sr.datasets.random_search((20,), n_documents=10, random_state=0)[0]
FIRST, SECOND = DATA.feature_names[:2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"autority": 1}, "there is no feature 'autority'; did you mean 'authority'"),
        ({"authority": 2}, r"of 'authority' must be 1 \(scores never fall as it rises\), -1 .* found 2"),
        ({"authority": True}, "found True"),
        ({"authority": 0.5}, r"found 0\.5"),
        ([1, 0], f"has 2 numbers for {DATA.n_features} features"),
        ("authority", "must map names of features to 1 or -1"),
        (1, "found 1"),
    ],
)
@pytest.mark.parametrize("kind", [sr.LambdaMART, sr.MART])
def test_wrong_monotone_constraints(kind: Any, given: Any, message: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match=f"monotone_constraints.*{message}"):
        kind(n_trees=1, monotone_constraints=given).fit(DATA)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["autority"]], "there is no feature 'autority'; did you mean 'authority'"),
        ([[0, 99]], f"there is no feature 99, only 0 to {DATA.n_features - 1}"),
        (["authority"], "must be a list of groups"),
        ([[]], "must be a list of groups"),
        ([], "must be a list of groups"),
        ("authority", "must be a list of groups"),
        (3, "must be a list of groups"),
    ],
)
def test_wrong_interaction_constraints(given: Any, message: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match=f"interaction_constraints.*{message}"):
        sr.LambdaMART(n_trees=1, interaction_constraints=given).fit(DATA)


def test_categories_have_no_order() -> None:
    X, qid = np.arange(40, dtype=np.float32)[:, None] % 4, np.arange(40) // 10
    data = categorical(X, np.arange(40) % 3, qid, {0: 4})
    with pytest.raises(sr.errors.ParameterError, match="'1' is a categorical feature, and categories have no order"):
        sr.MART(n_trees=1, monotone_constraints={"1": 1}).fit(data)
    sr.MART(n_trees=1, monotone_constraints={"1": 0}).fit(data)


def test_a_base_ranker_must_keep_the_constraints() -> None:
    free = sr.MART(n_trees=10).fit(DATA)
    rising = dict.fromkeys(DATA.feature_names, 1)
    with pytest.raises(sr.errors.ParameterError, match="the base ranker breaks monotone_constraints of '"):
        sr.MART(n_trees=1, monotone_constraints=rising, base_ranker=free).fit(DATA)
    bound = sr.MART(n_trees=10, monotone_constraints=rising).fit(DATA)
    assert sr.MART(n_trees=2, monotone_constraints=rising, base_ranker=bound).fit(DATA).n_trees_ == 12


def test_constraints_are_kept_by_copies_files_and_refits(tmp_path: Path) -> None:
    given: dict[str, Any] = {"monotone_constraints": {FIRST: 1}, "interaction_constraints": ([FIRST, SECOND], [2, 3])}
    ranker = sr.LambdaMART(n_trees=3, **given).fit(DATA)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    for other in (clone(ranker), again):
        assert {name: other.get_params()[name] for name in given} == given
    np.testing.assert_array_equal(again.refit(DATA).predict(DATA), ranker.refit(DATA).predict(DATA))


@pytest.mark.slow
def test_settings_of_the_command_line() -> None:
    ranker = make_ranker(
        "lambdamart", ["monotone_constraints={'authority': 1}", "interaction_constraints=[['authority', 'match'], [0]]"]
    )
    assert ranker.get_params()["monotone_constraints"] == {"authority": 1}
    assert ranker.get_params()["interaction_constraints"] == (["authority", "match"], [0])
    ranker.fit(DATA)
    listed = make_ranker("mart", [f"monotone_constraints={[1] * DATA.n_features}"])
    assert listed.fit(DATA).get_params()["monotone_constraints"] == (1,) * DATA.n_features
