"""docs/command_line.md: every command on the page runs and prints the output that the page shows."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.command_line import here
from tests.conftest import PROJECT

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("demo", "reproduce", "report")
"""Commands with their own tests, which take too long here."""


def rounded(text: str) -> str:
    """Long fractions with ten digits: SciPy's last digits depend on the C library."""
    return re.sub(r"-?\d+\.\d{11,}", lambda found: f"{float(found[0]):.10f}", text)


def test_commands_run_and_print_what_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    blocks = BLOCK.findall((PROJECT / "docs" / "command_line.md").read_text(encoding="utf-8"))
    commands = set()
    for (language, code), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "toml":
            (tmp_path / code.splitlines()[0].removeprefix("# ")).write_text(code)
        if language != "sh":
            continue
        printed = ""
        for line in re.sub(r"\\\n *", "", code).splitlines():
            arguments = shlex.split(line, comments=True)
            if arguments[:1] == ["printf"]:
                subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
            if not arguments or arguments[:1] != ["swaprank"] or arguments[1] in ELSEWHERE:
                continue
            commands.add(arguments[1])
            ended = here(*arguments[1:], folder=tmp_path)
            assert ended.code == (1 if "ends with 1" in line else 0), (line, ended.err)
            printed += ended.out
        if following == "text":
            assert rounded(printed) == rounded(expected), code
    assert commands >= {
        "info", "train", "tune", "cv", "predict", "evaluate", "compare", "certify", "combine", "explain", "generate",
        "export", "import", "bin",
    }  # fmt: skip
