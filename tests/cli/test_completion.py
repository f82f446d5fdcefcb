"""Completion in the shell knows rankers and their parameters."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from swaprank.cli.completion import complete_setting


def completed(line: str) -> str:
    environment = {
        **os.environ,
        "_SWAPRANK_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'swaprank'; from swaprank.__main__ import main; main()"]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


def test_rankers_and_their_parameters_are_completed() -> None:
    listed = completed("swaprank train data.txt --ranker lambdam").split()
    assert listed == ["lambdamart", "lambdamart2010"]
    assert completed("swaprank train data.txt --set n_").split() == ["n_trees=", "n_leaves=", "n_threads="]
    assert "hidden=" in completed("swaprank train data.txt --ranker ranknet --set h")


def test_metrics_formats_and_values_are_completed() -> None:
    assert completed("swaprank evaluate data.txt model -m nd").split() == ["ndcg", "ndcg@10"]
    assert completed("swaprank export model --to x").split() == ["xgboost", "xgboost+json"]
    assert completed("swaprank export model --to open").split() == ["opensearch"]
    assert completed("swaprank evaluate data.txt model --convention l").split() == ["letor", "lightgbm"]
    assert completed("swaprank cv data.txt --ranker lambdam").split() == ["lambdamart", "lambdamart2010"]


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("split=", ["split=newton", "split=least_squares"]),
        ("normalize=F", ["normalize=False"]),
        ("metric=mr", ["metric=mrr", "metric=mrr@10"]),
        ("nothing=", []),
    ],
)
def test_values_of_parameters_are_completed(incomplete: str, expected: list[str]) -> None:
    context: Any = SimpleNamespace(params={})
    assert [value for value, _ in complete_setting(context, incomplete)] == expected
