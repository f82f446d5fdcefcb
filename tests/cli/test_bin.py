"""`swaprank bin`, and the commands that take files of bins."""

from pathlib import Path

import pytest

import swaprank as sr
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bins")
    train, vali = sr.datasets.random_net((60, 30), n_features=6, n_documents=12, random_state=0)
    (folder / "parts").mkdir()
    for part in range(3):
        sr.write_letor(train.subset(slice(20 * part, 20 * part + 20)), folder / "parts" / f"{part}.txt")
    sr.write_letor(train, folder / "train.txt")
    sr.write_letor(vali, folder / "vali.txt")
    for arguments in (("parts", "-o", "train.bins"), ("vali.txt", "-o", "vali.bins", "--like", "train.bins")):
        ended = here("bin", *arguments, folder=folder)
        assert ended.code == 0, ended.err
    return folder


def run(folder: Path, *arguments: str) -> str:
    ended = here(*arguments, folder=folder)
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.slow
def test_parts_and_one_file_have_the_same_bins(folder: Path) -> None:
    run(folder, "bin", "train.txt", "-o", "whole.bins")
    run(folder, "bin", "parts/0.txt", "parts/1.txt", "parts/2.txt", "-o", "listed.bins", "--threads", "1")
    content = (folder / "train.bins").read_bytes()
    assert (folder / "whole.bins").read_bytes() == (folder / "listed.bins").read_bytes() == content


def test_train_predict_and_evaluate_give_the_same_as_text(folder: Path) -> None:
    options = ("--set", "n_trees=5", "--valid")
    run(folder, "train", "train.txt", *options, "vali.txt", "-o", "text.swaprank")
    for valid in ("vali.bins", "vali.txt"):
        run(folder, "train", "train.bins", *options, valid, "-o", "bins.swaprank")
        assert (folder / "bins.swaprank").read_bytes() == (folder / "text.swaprank").read_bytes()
    assert "identical, byte for byte" in run(folder, "train", "--config", "bins.toml")
    assert run(folder, "predict", "bins.swaprank", "vali.bins") == run(folder, "predict", "bins.swaprank", "vali.txt")
    assert run(folder, "evaluate", "vali.bins", "bins.swaprank") == run(folder, "evaluate", "vali.txt", "bins.swaprank")


def test_cv_and_tune_take_bins(folder: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    assert "Fold3" in run(folder, "cv", "train.bins", "--folds", "3", "--set", "n_trees=3")
    tuned = (
        "tune",
        "train.bins",
        "--valid",
        "vali.bins",
        "--trials",
        "2",
        "--set",
        "n_trees=3",
        "-o",
        "tuned.swaprank",
    )
    run(folder, *tuned)
    assert sr.load(folder / "tuned.swaprank").n_rounds_ <= 3


def test_info_describes_and_checks_bins(folder: Path) -> None:
    assert "features                             6 as bins" in run(folder, "info", "train.bins", "--check")
    content = bytearray((folder / "vali.bins").read_bytes())
    content[128] ^= 1
    (folder / "damaged.bins").write_bytes(content)
    ended = here("info", "damaged.bins", "--check", folder=folder)
    assert ended.code == 2
    assert "damaged.bins: it is damaged: the checksum of its blocks does not match." in ended.err
    assert here("info", "train.txt", "--check", folder=folder).code == 2


def test_a_folder_gets_a_file_of_bins_per_file_with_the_same_cuts(folder: Path) -> None:
    assert "binned: 2 files of bins with the same cuts" in run(folder, "bin", "train.txt", "vali.txt", "-o", "binned")
    one, two = (sr.read(folder / "binned" / f"{name}.bins") for name in ("train", "vali"))
    one.stored.check_same_cuts(two.stored, "it")
    ended = here("bin", "train.txt", "-o", "binned", folder=folder)
    assert "is no empty folder" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bin", "train.txt", "-o", "train.txt"), "ends in .bins"),
        (("bin", "nothing.txt", "-o", "a.bins"), "there is no file nothing.txt"),
        (("bin", "train.txt", "train.txt", "-o", "a.bins"), "train.txt is given twice"),
        (("bin", "train.txt", "vali.txt", "-o", "a.bins", "--label", "x"), "LETOR text, which has no columns"),
        (("bin", "train.txt", "-o", "a.bins", "--like", "train.txt"), "this is not a file of bins"),
        (("report", "text.swaprank", "vali.bins", "-o", "a.html"), "has bins, not values"),
        (("train", "train.bins", "--ranker", "ranknet", "-o", "a.swaprank"), "has bins, not values"),
        (("train", "train.bins", "--set", "max_bins=9", "-o", "a.swaprank"), "binned with max_bins=255"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    if "text.swaprank" in arguments:
        run(folder, "train", "train.txt", "--set", "n_trees=2", "-o", "text.swaprank")
    ended = here(*arguments, folder=folder)
    assert ended.code == 2
    assert message in " ".join(ended.err.replace("│", " ").split())
    assert not list(folder.glob(".*.part"))
