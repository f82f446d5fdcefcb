"""The file of a search: full disks, half written and damaged lines; the trials before are kept."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

import swaprank as sr

pytest.importorskip("optuna", reason="Optuna is not installed")

TRAIN, VALI = sr.datasets.random_net((20, 15), n_features=4, n_documents=8, levels=3, random_state=0)
TREES = sr.MART(n_trees=4, min_docs_in_leaf=5)
RANGES = {"n_leaves": (3, 9), "objective": ["squared", "logistic"]}


def search(file: Path, n_trials: int) -> list[dict[str, object]]:
    return [
        each.parameters for each in sr.tune(TRAIN, VALI, TREES, ranges=RANGES, n_trials=n_trials, storage=file).trials
    ]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of three trials."""
    file = tmp_path_factory.mktemp("search") / "best.trials"
    search(file, 3)
    return file.read_bytes()


def test_a_full_disk_keeps_the_finished_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "best.trials"
    real, room = os.fsync, [30]

    def full(descriptor: int) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(sr.errors.DataError) as caught:
            search(file, 40)
    assert str(caught.value) == (
        f"{file} cannot be written: No space left on device. It keeps the finished trials: call tune again to resume."
    )
    kept = file.read_bytes()
    finished = kept.count(b'"op_code":6') - kept.count(b'"state":0')
    assert kept.endswith(b"}\n")
    assert 0 < finished < 40
    assert len(search(file, finished + 1)) == finished + 1
    assert not list(tmp_path.glob("*.lock*"))


@pytest.mark.parametrize("end", [b"", b"\0\0\0\0", b'{"op_code":4,"worker_id"'])
def test_half_a_line_at_the_end_is_removed(three: bytes, end: bytes, tmp_path: Path) -> None:
    file = tmp_path / "best.trials"
    file.write_bytes(three + end)
    assert len(search(file, 4)) == 4
    assert file.read_bytes().startswith(three + b'{"op_code"')


def test_a_file_that_ends_anywhere_is_resumed(three: bytes, tmp_path: Path) -> None:
    file = tmp_path / "best.trials"
    for end in range(len(b'{"op_code"'), len(three), 997):
        file.write_bytes(three[:end])
        assert len(search(file, 3)) == 3


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b"trial_id", b"trail_id", 6),
        (b'"op_code":5', b'"op_code":99', 6),
        (b'"op_code":5', b'"op_code":\0', 6),
        (b'"directions":[2]', b'"directions":7', 1),
        (b'"n_leaves"', b'"n_leafs"', None),
        (b'"param_value_internal":', b'"param_value_internal":1000', None),
        (b'"directions":[2]', b'"directions":[1]', None),
    ],
)
def test_damage_is_reported_with_its_line(
    three: bytes, old: bytes, new: bytes, line: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "best.trials"
    lines = three.split(b"\n")
    at = next(number for number, each in enumerate(lines) if old in each and (line is None or number >= line - 1))
    lines[at] = lines[at].replace(old, new, 1)
    file.write_bytes(b"\n".join(lines))
    with pytest.raises(sr.errors.DataError, match=re.escape(f"{file} is damaged")) as caught:
        search(file, 4)
    if line is None:
        assert str(caught.value).endswith("): delete it to start over.")
        return
    assert f"is damaged at line {at + 1} (" in str(caught.value)
    assert "remove this line and those below it to keep the trials above" in str(caught.value)
    file.write_bytes(b"".join(each + b"\n" for each in lines[:at]))
    assert len(search(file, 3)) == 3


def test_the_trials_of_others_are_left_alone(three: bytes, tmp_path: Path) -> None:
    file = tmp_path / "best.trials"
    other = three.replace(b'"study_name":"swaprank"', b'"study_name":"mine"')
    file.write_bytes(other)
    with pytest.raises(sr.errors.DataError, match="another study of Optuna: choose another file"):
        search(file, 4)
    assert file.read_bytes() == other
