"""The LETOR folders as they are distributed: their names, their files, and the published numbers beside ours."""

import re
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.experiments.folds import FoldData, find_folds
from swaprank.reproduction import learner_table
from swaprank.reproduction.letor_sets import SETS, folds_folder, known_set
from tests.command_line import here

LETOR_2 = ("trainingset.txt", "validationset.txt", "testset.txt")
LETOR_3 = ("train.txt", "vali.txt", "test.txt")
LAYOUTS = {
    "OHSUMED/QueryLevelNorm": LETOR_3,
    "OHSUMED/Data/QueryLevelNorm": LETOR_2,
    "TD2003/Data": LETOR_2,
    "TD2003": LETOR_3,
    "TD2004/QueryLevelNorm": LETOR_3,
    "Gov/QueryLevelNorm/2003_hp_dataset": LETOR_3,
    "Gov/QueryLevelNorm/2004_hp_dataset": LETOR_3,
    "Gov/QueryLevelNorm/2003_np_dataset": LETOR_3,
    "Gov/QueryLevelNorm/2004_np_dataset": LETOR_3,
    "Gov/QueryLevelNorm/2003_td_dataset": LETOR_2,
    "Gov/QueryLevelNorm/2004_td_dataset": LETOR_3,
}
"""The folder of the folds, and the names of its files."""


def write_set(place: Path, files: tuple[str, ...], name: str, n_folds: int = 5) -> None:
    """Folds with as many queries and features as a data set has, of two documents each."""
    known = SETS[name]
    test = known.n_queries // 5
    sizes = (known.n_queries - 2 * test, test, test)
    parts = sr.datasets.random_net(sizes, n_features=known.n_features, n_documents=2, levels=2, random_state=0)
    for number in range(1, n_folds + 1):
        fold = place / f"Fold{number}"
        fold.mkdir(parents=True)
        for file, part in zip(files, parts, strict=True):
            sr.write_letor(part, fold / file)


def set_of(layout: str) -> str:
    (name,) = [
        name
        for name, known in SETS.items()
        for part in Path(layout).parts
        if re.fullmatch(known.folder, part, re.IGNORECASE)
    ]
    return name


@pytest.mark.parametrize(("layout", "files"), LAYOUTS.items())
def test_a_folder_of_each_layout_is_read_and_known(layout: str, files: tuple[str, ...], tmp_path: Path) -> None:
    name = set_of(layout)
    write_set(tmp_path / layout, files, name, n_folds=2)
    top = tmp_path / (layout if layout.startswith("Gov") else layout.partition("/")[0])
    found = folds_folder(top)
    assert found == tmp_path / layout
    folds = find_folds(found)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2"]
    data = folds[0].load()
    assert data.train.n_features == SETS[name].n_features
    assert known_set(found, data) == name


def test_other_data_is_not_taken_for_a_letor_set(tmp_path: Path) -> None:
    parts = sr.datasets.random_net((6, 2, 2), n_features=3, random_state=0)
    assert known_set(tmp_path / "TD2003", FoldData(*parts)) is None
    # 75 queries of 64 features are those of three sets: only the folder can tell.
    alike = sr.datasets.random_net((45, 15, 15), n_features=64, n_documents=2, random_state=0)
    assert known_set(tmp_path / "mine", FoldData(*alike)) is None
    assert known_set(tmp_path / "NP2004", FoldData(*alike)) == "NP2004"


def test_published_values_are_those_of_the_paper() -> None:
    """[Chapelle2010, Table 2], some cells of every data set: NDCG@10 and MAP."""
    assert SETS["OHSUMED"].published["SmoothRank"] == (0.457, 0.448)
    assert SETS["HP2003"].published["AdaRank-MAP"] == (0.838, 0.771)
    assert SETS["HP2004"].published["regression"] == (0.719, 0.630)
    assert SETS["NP2003"].published["RankBoost"] == (0.807, 0.707)
    assert SETS["NP2004"].published["ListNet"] == (0.813, 0.672)
    assert SETS["TD2003"].published["RankSVM"] == (0.357, 0.265)
    assert SETS["TD2004"].published["RankBoost"] == (0.350, 0.261)


@pytest.mark.slow
def test_the_table_of_learners_has_the_published_values_of_the_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: learner_table.LEARNERS[name] for name in ("regression", "LambdaMART", "SmoothRank")}
    monkeypatch.setattr(learner_table, "LEARNERS", few)
    monkeypatch.setattr(learner_table, "LETOR_FOLDS", 1)
    monkeypatch.setitem(learner_table.QUICK, "annealing", (4.0,))
    write_set(tmp_path / "TD2003" / "QueryLevelNorm", LETOR_3, "TD2003")
    printed = here("reproduce", "ohsumed-table", "--quick", "--data", tmp_path / "TD2003")
    assert printed.code == 0, printed.err
    row = next(line for line in printed.out.splitlines() if line.startswith("regression"))
    assert row.split()[6:8] == ["0.330", "0.243"]
