"""Write what the code blocks of README.md and docs/ print now into the text blocks after them.

    python tools/refresh_docs.py [PAGE ...]

For a change that moves figures, such as other defaults. Read the difference: the sentences around the figures must
still be true. tests/test_documentation.py and tests/cli/test_command_line_page.py check the same blocks.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
COMMANDS = PROJECT / "docs" / "command_line.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("demo", "reproduce", "report")
MQ2008 = PROJECT.parent / "shared" / "data" / "mq2008"


def python_output(names: dict[str, Any]) -> Callable[[str, str], str | None]:
    def output(language: str, code: str) -> str | None:
        if language != "python":
            return None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "page", "exec"), names)
        return printed.getvalue()

    return output


def command_output(language: str, code: str) -> str | None:
    if language == "toml":
        Path(code.splitlines()[0].removeprefix("# ")).write_text(code)
    if language != "sh":
        return None
    printed = ""
    for line in re.sub(r"\\\n *", "", code).splitlines():
        arguments = shlex.split(line, comments=True)
        if arguments[:1] == ["printf"]:
            subprocess.run(["bash", "-c", line], check=True)
        elif arguments[:1] == ["swaprank"] and arguments[1] not in ELSEWHERE:
            command = [sys.executable, "-m", *arguments]
            printed += subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    return printed


def outputs(with_commands: bool) -> Callable[[str, str], str | None]:
    of_python = python_output({})

    def output(language: str, code: str) -> str | None:
        printed = of_python(language, code)
        return command_output(language, code) if printed is None and with_commands else printed

    return output


def refreshed(text: str, output: Callable[[str, str], str | None]) -> str:
    blocks, parts, end = list(BLOCK.finditer(text)), [], 0
    printed: str | None = None
    for block in blocks:
        if block[1] == "text" and printed is not None:
            parts += [text[end : block.start(2)], printed]
            end = block.end(2)
        printed = output(block[1], block[2])
    return "".join([*parts, text[end:]])


def main() -> None:
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    pages = pages or [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text("utf-8")
        if page != COMMANDS and "```python" not in text:
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.environ["COLUMNS"] = "200"  # as tests/command_line.py has it
            os.environ.setdefault("MQ2008", str(MQ2008))  # what docs/tutorials/real_set.md reads
            new = refreshed(text, outputs(with_commands=page == COMMANDS))
        if new != text:
            page.write_text(new, "utf-8")
            print(f"changed: {page.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
