"""`swaprank clicks info`, `propensity` and `simulate`: from judged documents to a position bias."""

import json
from pathlib import Path

import pytest

import swaprank as sr
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clicks")
    (data,) = sr.datasets.random_search(20, n_documents=8, random_state=0)
    sr.write_letor(data, folder / "data.txt")
    simulated = here(
        "clicks", "simulate", "data.txt", "1", "-o", "log.parquet", "--sessions", 5000, "--shown", 4,
        "--truth", "truth.json", folder=folder,
    )  # fmt: skip
    assert simulated.code == 0, simulated.err
    assert "log.parquet: ClickLog(5,000 sessions, 20,000 rows" in simulated.out
    return folder


def test_simulated_logs_are_those_of_python(folder: Path) -> None:
    data = sr.read(folder / "data.txt")
    log, truth = sr.datasets.clicks(data, data.column(0), 5000, n_shown=4, random_state=0)
    written = sr.clicks.read_clicks(folder / "log.parquet")
    assert written.click.tolist() == log.click.tolist()
    assert written.position.tolist() == log.position.tolist()
    assert sr.clicks.Propensities.load(folder / "truth.json").to_dict() == truth.propensities.to_dict()


@pytest.mark.slow
def test_info_prints_the_summary_and_draws_it(folder: Path) -> None:
    shown = here("clicks", "info", "log.parquet", "--figure", "rates.svg", folder=folder)
    assert shown.out.startswith("sessions                              5,000")
    assert (folder / "rates.svg").stat().st_size > 1000
    values = json.loads(here("clicks", "info", "log.parquet", "--json", folder=folder).out)
    assert values["n_sessions"] == 5000
    assert len(values["click_rate"]) == 4


@pytest.mark.slow
def test_propensities_are_those_of_python_and_go_to_a_file(folder: Path) -> None:
    ended = here("clicks", "propensity", "log.parquet", "-o", "bias.json", "--figure", "bias.svg", folder=folder)
    assert ended.code == 0, ended.err
    wanted = sr.clicks.position_bias(sr.clicks.read_clicks(folder / "log.parquet", features=[]))
    assert sr.clicks.Propensities.load(folder / "bias.json").to_dict() == wanted.to_dict()
    assert str(wanted) in ended.out


def test_methods_and_limits_can_be_chosen(folder: Path) -> None:
    ended = here(
        "clicks", "propensity", "log.parquet", "--method", "regression", "--max-position", 3, "--resamples", 0,
        "--json", folder=folder,
    )  # fmt: skip
    assert len(json.loads(ended.out)["examination"]) == 3


def test_advice_is_in_the_words_of_the_command_line(folder: Path) -> None:
    here("clicks", "simulate", "data.txt", "1", "-o", "fixed.csv", "--sessions", 100, "--moves", 0, folder=folder)
    ended = here("clicks", "propensity", "fixed.csv", folder=folder)
    assert ended.code == 2
    assert "the log cannot tell" in ended.err
    assert "--method regression" in ended.err


def test_other_names_of_columns(folder: Path) -> None:
    (folder / "other.csv").write_text("page,query,item,place,bought\np,q,a,1,1\np,q,b,2,0\n")
    names = ("--session", "page", "--qid", "query", "--docid", "item", "--position", "place", "--click", "bought")
    assert "sessions                              1" in here("clicks", "info", "other.csv", *names, folder=folder).out
    ended = here("clicks", "info", "other.csv", folder=folder)
    assert ended.code == 2
    assert "no column 'session': choose one by --session COLUMN; known are" in ended.err


def test_errors_name_the_file_once_and_the_line(folder: Path) -> None:
    (folder / "nothing.csv").write_text("")
    (folder / "words.csv").write_text("session,qid,docid,position,click\n1,q,a,1,0\n1,q,b,two,1\n")
    assert here("clicks", "info", "nothing.csv", folder=folder).err.count("nothing.csv") == 1
    for command in (("info", "words.csv"), ("count", "words.csv", "-o", "counts.csv")):
        assert "words.csv: column 'position', line 3: 'two'" in here("clicks", *command, folder=folder).err
