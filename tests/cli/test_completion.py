"""Completion in the shell knows rankers and their parameters."""

import os
import subprocess
import sys


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
