"""Model files of format 1 still load and predict the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from swaprank.model_files.container import read_model

FOLDER = Path(__file__).parent / "format_1"
EXPECTED = json.loads((FOLDER / "predictions.json").read_text())
ROWS = np.array(EXPECTED["rows"], dtype=np.float64)


@pytest.mark.parametrize("name", EXPECTED["scores"])
def test_an_old_file_predicts_what_it_did(name: str, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.swaprank"
    assert read_model(path).version == 1
    ranker = sr.load(path)
    np.testing.assert_allclose(ranker.predict(ROWS), EXPECTED["scores"][name], rtol=1e-6, atol=1e-7)
    ranker.save(tmp_path / "again.swaprank")
    assert read_model(tmp_path / "again.swaprank").version == 2
    again = sr.load(tmp_path / "again.swaprank")
    np.testing.assert_array_equal(again.predict(ROWS), ranker.predict(ROWS))
    assert again.history_ == ranker.history_
    assert again.get_params() == ranker.get_params()


def test_fitted_values_are_loaded_too() -> None:
    def loaded(name: str) -> sr.Ranker:
        return sr.load(FOLDER / f"{name}.swaprank")

    mart, net, smooth, both = (loaded(name) for name in ("mart", "lambdarank", "smoothrank", "combination"))
    assert {name: set(of_set) for name, of_set in mart.history_.items()} == {"my set": {"ndcg@5", "map"}}
    assert (mart.best_round_, mart.n_rounds_) == (4, 4)
    assert list(mart.feature_names_in_) == ["a", "b", "c", "d"]
    assert 1 <= net.best_round_ <= net.n_rounds_ == 3
    assert isinstance(smooth, sr.SmoothRank)
    assert set(smooth.history_["train"]) == {"ndcg@5", "smooth ndcg@5"}
    assert (smooth.smoothing_factor_, smooth.annealing, set(smooth.candidates_)) == (1.0, (4.0, 1.0), {1.0, 0.1})
    assert isinstance(both, sr.ensembles.Combination)
    assert [member["ranker"] for member in both.members_] == ["mart", "lambdarank"]
    assert both.model_.top.feature_weights().tolist() == [both.alpha_, 1 - both.alpha_]
    nested = loaded("nested").members_
    assert [len(member["members"]) for member in nested] == [2, 3]
