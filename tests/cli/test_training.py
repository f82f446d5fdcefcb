"""`swaprank train` and `swaprank predict`, as a shell runs them."""

from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.cli.test_cli import swaprank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    parts = sr.datasets.random_net((60, 30, 30), n_features=6, n_documents=10, levels=4, random_state=0)
    for name, part in zip(("train", "vali", "test"), parts, strict=True):
        sr.write_letor(part, folder / f"{name}.txt")
    return folder


SETTINGS = ("--set", "n_trees=12", "--set", "n_leaves=7", "--set", "min_docs_in_leaf=5")


def test_train_and_predict_are_fit_and_predict(folder: Path) -> None:
    trained = swaprank(
        "train", "train.txt", "--valid", "vali.txt", "--ranker", "lambdamart", "--metric", "map", *SETTINGS, "-o",
        "model.swaprank", folder=folder,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout.startswith("model.swaprank: 12 trees learned from 600 documents\nvalid map: 0.")
    assert trained.stderr == ""
    train, vali, test = (sr.read(folder / f"{name}.txt") for name in ("train", "vali", "test"))
    ranker = sr.LambdaMART("map", n_trees=12, n_leaves=7, min_docs_in_leaf=5).fit(train, valid=vali)
    ranker.save(folder / "twin.swaprank")
    assert (folder / "model.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()

    scored = swaprank("predict", "model.swaprank", "test.txt", "-o", "scores.txt", folder=folder)
    assert scored.returncode == 0, scored.stderr
    assert scored.stdout == "scores.txt: 300 scores\n"
    np.testing.assert_array_equal(sr.read_scores(folder / "scores.txt"), ranker.predict(test))
    fewer = swaprank("predict", "model.swaprank", "test.txt", "--trees", 3, "-o", "three.txt", folder=folder)
    assert fewer.returncode == 0, fewer.stderr
    np.testing.assert_array_equal(sr.read_scores(folder / "three.txt"), ranker.predict(test, n_trees=3))


def test_training_goes_on_from_a_model(folder: Path) -> None:
    for name, base in (("first", ()), ("second", ("--base", "first.swaprank"))):
        trained = swaprank("train", "train.txt", *SETTINGS, *base, "-o", f"{name}.swaprank", folder=folder)
        assert trained.returncode == 0, trained.stderr
    assert sr.load(folder / "second.swaprank").forest_.n_trees == 24


def test_a_sparse_file_gets_the_features_of_the_model(folder: Path) -> None:
    assert swaprank("train", "train.txt", *SETTINGS, "-o", "sparse.swaprank", folder=folder).returncode == 0
    (folder / "narrow.txt").write_text("0 qid:1 2:0.5\n1 qid:1 1:0.25\n")
    scored = swaprank("predict", "sparse.swaprank", "narrow.txt", "-o", "narrow.scores", folder=folder)
    assert scored.returncode == 0, scored.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "train.txt", "--set", "n_leafs=7", "-o", "x"), "no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        (("train", "train.txt", "--set", "n_leaves", "-o", "x"), "write a setting as name=value, found 'n_leaves'."),
        (("train", "train.txt", "--set", "n_leaves=many", "-o", "x"), "n_leaves must be a whole number from 2 to"),
        (("train", "train.txt", "--ranker", "lambdamrt", "-o", "x"), "there is no ranker 'lambdamrt'; did you mean"),
        (("train", "train.txt", "--metric", "ndgc", "-o", "x"), "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        (("train", "train.txt", "-o", "nowhere/x"), "there is no folder nowhere to write x in."),
        (("train", "absent.txt", "-o", "x"), "there is no file absent.txt"),
        (("predict", "train.txt", "test.txt", "-o", "x"), "train.txt: this is not a swaprank model."),
    ],
)  # fmt: skip
def test_bad_usage_ends_with_2_and_leaves_nothing_behind(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    failed = swaprank(*arguments, folder=folder)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (folder / "x").exists()
