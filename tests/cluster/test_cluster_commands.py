"""`swaprank train --dask` and `--mpi`: the model file of one process, byte for byte."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

import swaprank as sr
from swaprank.collective import Alone
from tests.command_line import here

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

SETTINGS = ("--valid", "vali.txt", "--set", "n_trees=6", "--set", "n_leaves=5", "--threads", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    train, vali = sr.datasets.random_search((20, 8), n_documents=10, random_state=0)
    (folder / "parts").mkdir()
    for number in range(4):
        sr.write_letor(train.subset(slice(number, None, 4)), folder / "parts" / f"part-{number}.txt")
    sr.write_letor(train, folder / "train.txt")
    sr.write_letor(vali, folder / "vali.txt")
    here("train", "train.txt", *SETTINGS, "-o", "one.swaprank", folder=folder)
    return folder


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


def test_dask_trains_on_a_folder_of_parts(folder: Path, scheduler: str) -> None:
    ended = here("train", "parts", "--dask", scheduler, *SETTINGS, "-o", "dask.swaprank", folder=folder)
    assert re.match(r"dask.swaprank: \d trees, trained on 200 documents in 4 parts\n", ended.out)
    assert (folder / "dask.swaprank").read_bytes() == (folder / "one.swaprank").read_bytes()
    valid = "valid ndcg@10: "
    assert valid in ended.out
    alone = here("train", "train.txt", *SETTINGS, "-o", "again.swaprank", folder=folder)
    assert ended.out.partition(valid)[2][:6] == alone.out.partition(valid)[2][:6]


def test_a_checkpoint_goes_on(folder: Path, scheduler: str) -> None:
    files = [f"parts/part-{number}.txt" for number in range(4)]
    few = ("--valid", "vali.txt", "--set", "n_trees=3", "--set", "n_leaves=5", "--threads", "1")
    for command in (few, SETTINGS):
        here(
            "train", *files, "--dask", scheduler, *command, "--checkpoint", "kept", "-o", "kept.swaprank", folder=folder
        )
    assert (folder / "kept").exists()
    assert (folder / "kept.swaprank").read_bytes() == (folder / "one.swaprank").read_bytes()


def test_the_training_record_is_that_of_one_process(folder: Path, scheduler: str) -> None:
    alone = here("train", "train.txt", *SETTINGS, "--json", "-o", "alone.swaprank", folder=folder)
    files = [f"parts/part-{number}.txt" for number in range(4)]
    ended = here("train", *files, "--dask", scheduler, *SETTINGS, "--json", "-o", "record.swaprank", folder=folder)
    shown, expected = json.loads(ended.out), json.loads(alone.out)
    assert shown["valid"].pop("value") == pytest.approx(expected["valid"].pop("value"))
    assert shown | {"model": "", "config": ""} == expected | {"model": "", "config": ""}
    record, of_one = (tomllib.loads((folder / f"{name}.toml").read_text()) for name in ("record", "alone"))
    assert record.pop("train") == files
    assert of_one.pop("train") == "train.txt"
    assert (record.pop("output"), of_one.pop("output")) == ("record.swaprank", "alone.swaprank")
    for name in ("train", "valid"):
        # Nobody has all of the data: there is no digest.
        del of_one["data"][name]["digest"]
    assert record == of_one
    again = here("train", "--config", "record.toml", "--dask", scheduler, folder=folder)
    assert "identical, byte for byte, to the model recorded in record.toml" in again.out
    refused = here("train", "--config", "record.toml", folder=folder)
    assert "several parts of a data set with --dask or --mpi" in refused.err


def test_a_run_with_mpi_is_that_of_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.experiments.training.MPICollective", Alone)
    ended = here("train", "parts", "--mpi", *SETTINGS, "-o", "world.swaprank", folder=folder)
    assert "trees, trained on 200 documents in 1 processes" in ended.out
    assert (folder / "world.swaprank").read_bytes() == (folder / "one.swaprank").read_bytes()
    assert tomllib.loads((folder / "world.toml").read_text())["data"]["valid"]["queries"] == 8


def test_several_files_are_for_clusters(folder: Path) -> None:
    ended = here("train", "train.txt", "vali.txt", "-o", "two.swaprank", folder=folder)
    assert ended.code == 2
    assert "several parts of a data set with --dask or --mpi" in " ".join(ended.err.replace("│", "").split())


def test_no_scheduler_is_a_clear_error(folder: Path) -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        ended = here("train", "parts", "--dask", "127.0.0.1:1", *SETTINGS, "-o", "none.swaprank", folder=folder)
    assert ended.code == 2
    assert "there is no Dask scheduler at 127.0.0.1:1" in ended.err


@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="there is no MPI here (mpiexec)")
def test_mpi_trains_in_three_processes(folder: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    command = [
        *("mpiexec", "-n", "3", sys.executable, "-m", "swaprank"),
        *("train", "parts", "--mpi", *SETTINGS, "-o", "mpi.swaprank"),
    ]
    # What Open MPI wants to be told in containers; MPICH does not care.
    open_mpi = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe")
    environment = {
        **os.environ,
        **dict.fromkeys(open_mpi, "1"),
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "trees, trained on 200 documents in 3 processes" in done.stdout
    assert (folder / "mpi.swaprank").read_bytes() == (folder / "one.swaprank").read_bytes()
