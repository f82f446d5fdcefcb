"""Completion in the shell knows rankers and their parameters."""

import contextlib
import io
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from swaprank.cli import app
from swaprank.cli.completion import complete_setting


def asked(line: str) -> dict[str, str]:
    """What the shell sets when the user presses Tab at the end of a line."""
    return {"_SWAPRANK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}


def completed(line: str) -> str:
    printed = io.StringIO()
    with (
        mock.patch.dict(os.environ, asked(line)),
        contextlib.redirect_stdout(printed),
        pytest.raises(SystemExit),
    ):
        app(args=[], prog_name="swaprank")
    return printed.getvalue()


def test_the_shell_gets_names_of_rankers_without_waiting_for_large_libraries() -> None:
    code = """
import atexit, sys
sys.argv[0] = "swaprank"
atexit.register(lambda: print("large:", *{"numba", "scipy", "sklearn"} & {*sys.modules}))
from swaprank.__main__ import main
main()
"""
    environment = os.environ | asked("swaprank train data.txt --ranker lambdam")
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["lambdamart", "lambdamart2010", "large:"]


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
