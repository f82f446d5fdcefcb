"""`swaprank agreement`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import here


def test_agreement_of_two_files(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("1 0 x 1\n1 0 y 0\n2 0 x 1\n")
    (tmp_path / "b.qrels").write_text("1 0 x 1\n1 0 y 1\n2 0 x 1\n2 0 z 0\n")
    ended = here("agreement", "a.qrels", "b.qrels", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "kappa" in ended.out
    found = json.loads(here("agreement", "a.qrels", "b.qrels", "--json", folder=tmp_path).out)
    assert (found["n_documents"], found["n_single"]) == (3, 1)
    failed = here("agreement", "a.qrels", folder=tmp_path)
    assert failed.code == 2
    assert "two judges or more, found 1" in failed.err
