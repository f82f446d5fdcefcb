"""The user's own output may be a link; files that a command names itself never lead out of their folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.reproduction.demonstration import make_data
from swaprank.reproduction.experiment import Settings
from swaprank.reproduction.kept_steps import kept_values
from tests.command_line import here

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")

CV = ("cv", "train.txt", "--ranker", "linear_regression", "--folds", 3, "-o", "cv")
TREES = ("--ranker", "mart", "--set", "n_trees=2", "--set", "min_docs_in_leaf=3")
TRAIN = ("train", "train.txt", *TREES, "-o", "model.swaprank")
TUNE = ("tune", "train.txt", "--valid", "train.txt", *TREES, "--range", "n_leaves=3..5", "--trials", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=6, levels=3, random_state=0)
    sr.write_letor(data, folder / "train.txt")
    (tmp_path / "outside").write_text("precious")
    return folder


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cv/results.txt", CV),
        ("cv/results.json", CV),
        ("cv/Fold2/linear_regression.json", CV),
        ("cv/Fold3/linear_regression.swaprank", CV),
        ("model.toml", TRAIN),
        ("made/data.txt", ("generate", "net", "made", "--queries", 2, "--overwrite")),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_at_a_name_of_ours_is_an_error_before_the_work(
    folder: Path, name: str, arguments: tuple[str, ...], exists: bool
) -> None:
    link, outside = folder / name, folder.parent / "outside"
    if not exists:
        outside.unlink()
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    ended = here(*arguments, folder=folder)
    assert ended.code == 2
    advice = "which would be overwritten: remove the link, or choose another output.\n"
    assert ended.err.endswith(f"error: {name} is a link to {outside}, {advice}")
    assert "Fold1" not in ended.err
    assert not exists or outside.read_text() == "precious"
    assert outside.exists() == exists


def test_a_linked_fold_is_an_error(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "cv").mkdir()
    (folder / "cv" / "Fold1").symlink_to("../elsewhere")
    ended = here(*CV, folder=folder)
    assert (ended.code, "cv/Fold1 is a link to ../elsewhere" in ended.err) == (2, True)
    assert not list((folder / "elsewhere").iterdir())


def test_linked_trials_are_an_error(folder: Path) -> None:
    pytest.importorskip("optuna")
    (folder / "best.trials").symlink_to("../outside")
    ended = here(*TUNE, "-o", "best.swaprank", folder=folder)
    assert (ended.code, "best.trials is a link to ../outside" in ended.err) == (2, True)
    assert (folder.parent / "outside").read_text() == "precious"


def test_folders_of_the_reproduction_and_the_demo(folder: Path) -> None:
    (folder / "step-seed-0.json").symlink_to("../outside")
    with pytest.raises(sr.errors.DataError, match="is a link to"):
        kept_values(Settings(output=folder), "step", lambda: 1)
    demo = folder / "demo"
    make_data(demo)
    (demo / "lambdamart.swaprank").symlink_to("../../outside")
    with pytest.raises(sr.errors.DataError, match="is a link to"):
        make_data(demo)
    assert (folder.parent / "outside").read_text() == "precious"


def test_an_output_of_the_user_may_be_a_link(folder: Path) -> None:
    (folder / "model.swaprank").symlink_to("../outside")
    (folder / "real").mkdir()
    (folder / "cv").symlink_to("real")
    assert here(*TRAIN, folder=folder).code == 0
    assert sr.load(folder.parent / "outside").n_features_in_ == 3
    assert (folder / "model.toml").is_file()
    assert here(*CV, folder=folder).code == 0
    assert (folder / "real" / "results.txt").is_file()
