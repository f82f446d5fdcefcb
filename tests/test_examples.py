"""The programs of examples/ run as a user would run them, on little data."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import PROJECT

pytestmark = pytest.mark.slow

EXAMPLES = PROJECT / "examples"


def run(name: str, *arguments: str, cwd: Path) -> str:
    # A process of its own: nothing that the tests have loaded or set may help, and warnings are errors as everywhere.
    command = [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_folds_are_compared_and_kept(tmp_path: Path) -> None:
    printed = run("letor_folds.py", "--quick", "--output", "results", cwd=tmp_path)
    assert re.search(r"^ndcg@10 +Fold1 .*Fold5 +mean of folds$", printed, re.MULTILINE)
    assert "over all 50 test queries" in printed
    assert (tmp_path / "results" / "Fold5" / "LambdaMART.swaprank").is_file()


def test_a_shop_earns_more_with_its_own_metric(tmp_path: Path) -> None:
    printed = run("shop_search.py", "--quick", cwd=tmp_path)
    assert printed.count("for margin@5") == 1
    assert re.search(r"^margin@5: for margin (is|looks) better than for clicks", printed, re.MULTILINE)


def test_an_ensemble_is_compared_and_saved(tmp_path: Path) -> None:
    printed = run("winning_ensemble.py", "--quick", cwd=tmp_path)
    for name in ("LambdaMART", "LambdaRank", "SmoothRank", "trees + net"):
        assert re.search(rf"^ndcg@10 +{re.escape(name)} +0\.\d+ +all three", printed, re.MULTILINE)
    assert "it gives the same scores: True" in printed


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_transformer_learns(tmp_path: Path) -> None:
    printed = run("torch_transformer.py", "--quick", cwd=tmp_path)
    assert len(re.findall(r"test NDCG@10 0\.\d+ -> 0\.\d+", printed)) == 2


def test_every_example_is_tested_and_explained() -> None:
    tests, explained = Path(__file__).read_text(), (EXAMPLES / "README.md").read_text()
    for example in EXAMPLES.glob("*.py"):
        assert f'run("{example.name}"' in tests
        assert f"[{example.name}]({example.name})" in explained
